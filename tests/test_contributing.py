"""CONTRIBUTING.md's new paper passes the contract, and its recipe trains."""

import re
from pathlib import Path

import keras
import pytest

pytestmark = pytest.mark.once

PAGE = Path(__file__).resolve().parent.parent / "CONTRIBUTING.md"


@pytest.fixture(scope="module")
def names():
    found = {}
    for code in re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL):
        exec(compile(code, PAGE.name, "exec"), found)
    yield found
    for name in ("Unfed", "UnfedPreprocessor", "UnfedTranslator"):
        keras.saving.get_custom_objects().pop(f"zoo>{name}")


def test_its_test_passes(names):
    names["test_contract"]()


def test_its_recipe_trains(names, tmp_path):
    options = ["--set", "pairs=200", "--epochs", "1", "--output", str(tmp_path)]
    assert names["main"](options) == 0
    assert (tmp_path / "preset" / "unfed" / "model.weights.h5").is_file()
