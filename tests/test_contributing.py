"""CONTRIBUTING.md's new paper passes the contract, and its recipe trains; so does the
recipe of docs/training.md."""

import re
import sys
import types
from pathlib import Path

import keras
import pytest

from zoo.data import reversal_pairs
from zoo.tasks import translator
from zoo.training.recipes import translation_run

pytestmark = pytest.mark.once

ROOT = Path(__file__).resolve().parent.parent
TINY = ["--set", "pairs=300", "--epochs", "1", "--output"]


def run_code(page, found):
    text = (ROOT / page).read_text("utf-8")
    for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(code, page, "exec"), found)
    return found


@pytest.fixture(scope="module", autouse=True)
def few_pairs():
    """Few to decode: what has learned so little writes to the last step."""

    def few(count, seed):
        return reversal_pairs(count if count > 200 else 8, seed)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(translation_run, "reversal_pairs", few)
        yield


@pytest.fixture(scope="module")
def names():
    with pytest.MonkeyPatch.context() as patch:
        found = types.ModuleType("zoo.models.unfed")  # what its blocks import of it
        patch.setitem(sys.modules, found.__name__, found)
        patch.setattr(translator, "__getattr__", vars(found).get, raising=False)
        yield run_code("CONTRIBUTING.md", vars(found))
    for name in ("Unfed", "UnfedPreprocessor", "UnfedTranslator"):
        keras.saving.get_custom_objects().pop(f"zoo>{name}")


def test_its_test_passes(names):
    names["test_contract"]()


def test_its_recipe_trains(names, tmp_path):
    assert names["RECIPE"].main([*TINY, str(tmp_path)]) == 0
    assert (tmp_path / "preset" / "unfed" / "model.weights.h5").is_file()


def test_a_recipe_of_ones_own_trains(tmp_path):
    assert run_code("docs/training.md", {})["RECIPE"].main([*TINY, str(tmp_path)]) == 0
    assert (tmp_path / "preset" / "noisy" / "model.weights.h5").is_file()
