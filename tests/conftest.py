import gc

import keras
import pytest


@pytest.fixture(scope="module", autouse=True)
def free_memory():
    """Lets go of a file's models and of what was compiled for them."""
    yield
    keras.backend.clear_session(free_memory=False)
    if keras.backend.backend() == "jax":
        import jax

        jax.clear_caches()
    gc.collect()
