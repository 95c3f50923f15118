"""Sampling, plateau, averages, accumulation: in one run, and resumed."""

import dataclasses
import shutil

import keras
import numpy as np
import pytest
from keras.optimizers.schedules import ExponentialDecay

from tests.training import tiny_run
from tests.training.small_run import read_arrays, read_log
from zoo.data import reversal_pairs
from zoo.models import LuongTranslator
from zoo.training import (
    Arguments,
    Optimizer,
    Plateau,
    Run,
    ScheduledSampling,
    Translation,
    translation_recipe,
)
from zoo.training.fit import checkpoint
from zoo.training.recipes import translation_run

pytestmark = pytest.mark.once

TWICE = {"gradient_accumulation_steps": 2}
SCALE = dataclasses.replace(
    tiny_run.SCALE,
    model={**tiny_run.SCALE.model, "hidden_dim": 8, "tie_embeddings": "all"},
    optimizer=Optimizer("adam", 0.02, clip=1.0, options=TWICE),
    batch={"batch_size": 8},
    pairs=40,  # 5 batches an epoch, 2 an update
    average={"keep": 2},
    samples=1,
)
RECIPE = translation_recipe("test_recipe", lambda: LuongTranslator, {"tiny": SCALE})


def train(folder):
    augmentation = [ScheduledSampling(ExponentialDecay(1.0, 1, 0.9))]
    # Never better: lower after each epoch.
    plateau = Plateau(patience=1, factor=0.5, min_delta=200)
    run = Run(RECIPE, SCALE, Arguments(folder))
    return Translation(run, LuongTranslator, augmentation).train([plateau])


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The folder and the `Translation` of a run, and those of one that goes on from the
    files that this one had after its second epoch."""
    folders = [tmp_path_factory.mktemp("runs") / name for name in ("first", "second")]
    folders[0].mkdir()

    def pairs(count, seed):
        return reversal_pairs(min(count, 40), seed, longest=2)

    on_epoch_end = checkpoint.Checkpoint.on_epoch_end

    def copy(self, epoch, logs=None):
        on_epoch_end(self, epoch, logs)
        if epoch == 1 and not folders[1].exists():
            shutil.copytree(*folders)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(translation_run, "reversal_pairs", pairs)
        patch.setattr(checkpoint.Checkpoint, "on_epoch_end", copy)
        found = []
        for seed, folder in enumerate(folders):
            keras.utils.set_random_seed(seed)  # another process has another state
            found.append((folder, train(folder)))
    return found


def test_a_resumed_run_is_the_straight_one(runs):
    (straight, _), (resumed, _) = runs
    assert read_log(resumed) == read_log(straight)
    one, other = map(read_arrays, (straight, resumed))
    assert one.keys() == other.keys()
    for name in one:
        np.testing.assert_array_equal(one[name], other[name], name)


def test_the_log_has_norms_rates_and_scores(runs):
    (folder, run), _ = runs
    log = read_log(folder)
    rates = [float(row["learning_rate"]) for row in log]
    assert rates == pytest.approx([0.02, 0.02, 0.01])  # lowered after the second
    for row in log:
        mean, highest = float(row["gradient_norm"]), float(row["gradient_norm_max"])
        assert 0 < mean < highest
        assert row["val_chrf"] == row["val_chrf_generated"]
    assert int(run.run.loop.model.optimizer.iterations) == 15 // 2


def test_the_preset_is_the_average_of_the_last_epochs(runs):
    (folder, run), _ = runs
    paths = run.epoch_weights.paths()
    assert len(paths) == 2
    run.finish()
    tables = []
    for path in paths:
        run.backbone.load_weights(path)
        tables.append(
            keras.ops.convert_to_numpy(run.backbone.token_embedding.embeddings)
        )
    written = str(folder / "preset" / "test_recipe" / "model.weights.h5")
    run.backbone.load_weights(written)
    found = keras.ops.convert_to_numpy(run.backbone.token_embedding.embeddings)
    np.testing.assert_allclose(found, np.mean(tables, axis=0), atol=1e-3)
