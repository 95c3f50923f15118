import gc

import keras
import pytest


@pytest.fixture(scope="module", autouse=True)
def free_memory():
    """Lets go of a file's models and of what was compiled for them."""
    yield
    gc.collect()
    if keras.backend.backend() == "jax":
        import jax

        jax.clear_caches()
