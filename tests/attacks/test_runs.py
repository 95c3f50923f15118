"""A run whose files were damaged goes on, or says which of them and what to do."""

import random
import shutil

import pytest

from tests.attacks.test_presets import altered
from tests.training import tiny_run
from zoo.training import CheckpointError
from zoo.training.recipes import translation_run

pytestmark = pytest.mark.once
FILES = ("checkpoint.npz", "best.weights.h5", "log.csv")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("attacks") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(translation_run, "reversal_pairs", tiny_run.few_pairs)
        tiny_run.make(folder).train()
        yield folder


@pytest.mark.parametrize("name", [*FILES, "tokenizer.spm"])
def test_a_damaged_file(run, tmp_path, name):
    draw = random.Random(0)
    for _ in range(3):
        shutil.rmtree(tmp_path / "run", ignore_errors=True)
        folder = shutil.copytree(run, tmp_path / "run")
        path = folder / name
        path.write_bytes(altered(path.read_bytes(), draw))
        try:
            damaged = tiny_run.make(folder)
            damaged.train()
            damaged.finish()
        except CheckpointError as error:
            assert name in str(error)
