"""A process without Keras."""

import pytest

from tests.test_import import python

WITHOUT_KERAS = """
import importlib.machinery, json, sys
names = "keras keras_hub tensorflow tensorflow_text jax torch onnx tf2onnx".split()
names += "{more}".split()
finder = importlib.machinery.PathFinder
real = finder.find_spec
def find_spec(name, path=None, target=None):
    return None if name.split(".")[0] in names else real(name, path, target)
finder.find_spec = staticmethod(find_spec)
{code}
assert not set(names) & set(sys.modules)
"""


@pytest.fixture
def alone():
    """Function that runs code with arguments in a process in which neither Keras nor a
    backend, nor `more`, can be imported, and returns what it printed."""

    def run(code, *arguments, more=""):
        code = WITHOUT_KERAS.format(code=code, more=more)
        return python(code, *map(str, arguments), KERAS_BACKEND="none")

    return run
