"""The examples of the docstrings give what they promise."""

import doctest
import importlib
import pkgutil

import keras
import pytest

import zoo

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(zoo.__path__, "zoo.")
    if not module.name.endswith("__main__")
)


@pytest.mark.skipif(
    keras.backend.backend() != "jax",
    reason="shapes are printed as NumPy and JAX print them",
)
@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(name)
    assert doctest.testmod(module).failed == 0
