"""The examples of the docstrings give what they promise."""

import doctest
import importlib
import pkgutil
import re

import pytest

import zoo

pytestmark = pytest.mark.once

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(zoo.__path__, "zoo.")
    if not module.name.endswith("__main__")
)
# Module -> the package of an extra without which it cannot be imported.
NEEDS = {
    "zoo.serving.server.ray_app": "fastapi",
    **{
        f"zoo.serving.export.{name}": "tensorflow"
        for name in ("search_signatures", "word_signatures")
    },
}


class Checker(doctest.OutputChecker):
    """Reads TensorFlow's and torch's shapes as the tuples that they are."""

    def check_output(self, want, got, optionflags):
        pattern = r"(?:TensorShape|torch\.Size)\(\[([^\]]*)\]\)"
        got = re.sub(pattern, r"(\1)", got)
        return super().check_output(want, got, optionflags)


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    if name in NEEDS:
        pytest.importorskip(NEEDS[name], reason=f"it needs {NEEDS[name]}")
    module = importlib.import_module(name)
    runner = doctest.DocTestRunner(Checker(), verbose=False)
    for example in doctest.DocTestFinder().find(module):
        runner.run(example)
    assert runner.summarize(verbose=False).failed == 0
