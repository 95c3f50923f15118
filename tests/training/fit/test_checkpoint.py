import math
import os
import pickle
import random
import zipfile

import keras
import numpy as np
import pytest
from keras import ops

from zoo.training import CheckpointError, Monitor
from zoo.training.fit.checkpoint import (
    FORMAT,
    Checkpoint,
    get_generator,
    load_state,
    save_state,
    set_generator,
)

IDENTITY = {"recipe": "luong_local", "seed": 1}
STATE = {**IDENTITY, "epoch": 3, "best": float("-inf"), "seconds": 1.25}
STATE["nested"] = {"a": {"b": 1}, "c": [1, 2]}


def make_model(units=3, optimizer="adam", layers=1):
    hidden = [keras.layers.Dense(units) for _ in range(layers)]
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dropout(0.5), *hidden])
    model.compile(optimizer, "mse", weighted_metrics=["mae"])
    model.optimizer.build(model.trainable_variables)
    return model


def all_variables(model):
    return [*model.variables, *model.optimizer.variables]


def values(model):
    return [ops.convert_to_numpy(variable.value) for variable in all_variables(model)]


def scramble(model, seed=0):
    """Other values for every variable, those of the optimizer and of dropout too."""
    rng = np.random.default_rng(seed)
    for variable in all_variables(model):
        variable.assign(rng.integers(1, 1000, variable.shape).astype(variable.dtype))
    return model


def equal(first, second):
    return all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.fixture(scope="module")
def model():
    return scramble(make_model(), seed=1)


@pytest.fixture(scope="module")
def other():
    """Another model of the same architecture, to load into."""
    return make_model()


@pytest.fixture
def path(tmp_path, model):
    save_state(tmp_path / "checkpoint.npz", model, STATE)
    return tmp_path / "checkpoint.npz"


def refused(path, other, match=None, expected=()):
    """Loading raises, in one sentence that names the file, and assigns nothing."""
    scramble(other, seed=2)
    before = values(other)
    with pytest.raises(CheckpointError, match=match) as caught:
        load_state(path, other, expected)
    assert "checkpoint.npz" in str(caught.value) and "Received" in str(caught.value)
    assert equal(values(other), before)


# === Writing ===


def test_everything_comes_back(path, model, other):
    """The seed of dropout and the optimizer, too."""
    names = " ".join(variable.path for variable in all_variables(model))
    assert "seed_generator_state" in names and "iteration" in names
    assert "momentum" in names and "velocity" in names
    scramble(other, seed=2)
    assert not equal(values(other), values(model))
    assert load_state(path, other, IDENTITY) == STATE
    assert equal(values(other), values(model))
    kinds = [[v.dtype for v in all_variables(each)] for each in (model, other)]
    assert kinds[0] == kinds[1]
    assert os.listdir(path.parent) == ["checkpoint.npz"]


def test_weights_that_are_not_finite_are_not_saved(path):
    content, broken = path.read_bytes(), make_model()
    weight = broken.trainable_variables[0]
    weight.assign(ops.full(weight.shape, float("inf")))
    with pytest.raises(FloatingPointError, match=weight.path):
        save_state(path, broken, STATE)
    assert path.read_bytes() == content


@pytest.mark.parametrize("culprit", ["numpy.savez", "os.fsync", "os.replace"])
def test_a_failure_while_writing_leaves_the_previous_file(
    path, model, other, monkeypatch, culprit
):
    content = path.read_bytes()

    def fail(target, *args, **kwargs):
        if hasattr(target, "write"):  # a full disk: some of it was written
            target.write(b"half")
        raise OSError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(culprit, fail)
        with pytest.raises(OSError, match="no space"):
            save_state(path, other, {"epoch": 4})
    assert path.read_bytes() == content
    save_state(path, model, {"epoch": 5})
    assert load_state(path, other) == {"epoch": 5}


# === What is refused ===


def test_a_damaged_file(path, model, other):
    """One wrong byte anywhere is noticed, or was in no one's way."""
    content = path.read_bytes()
    saved, rng = values(model), random.Random(0)
    noticed = 0
    for position in rng.sample(range(len(content)), 150):
        damaged = bytearray(content)
        damaged[position] ^= 1 << rng.randrange(8)
        path.write_bytes(damaged)
        try:
            state = load_state(path, other, IDENTITY)
        except CheckpointError:
            noticed += 1
        else:
            assert state == STATE and equal(values(other), saved), position
    assert noticed > 50
    for share in (0.01, 0.5, 0.99):
        path.write_bytes(content[: int(len(content) * share)])
        refused(path, other, "truncated or no checkpoint")


FOREIGN = {
    "empty": lambda file: file.write(b""),
    "bytes": lambda file: file.write(bytes(range(256)) * 10),
    "npy": lambda file: np.save(file, np.zeros(3)),
    "zip": lambda file: zipfile.ZipFile(file, "w").writestr("a.txt", "a"),
    "npz": lambda file: np.savez(file, weights=np.zeros(3)),
    "number": lambda file: np.savez(file, state=np.array(3)),
    "list": lambda file: np.savez(file, state=np.array("[1]")),
    "not json": lambda file: np.savez(file, state=np.array("{epoch: 1}")),
    "gap": lambda file: np.savez(file, state=np.array("{}"), v1=np.zeros(3)),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_foreign_file(path, other, kind):
    with open(path, "wb") as file:
        FOREIGN[kind](file)
    refused(path, other, "truncated or no checkpoint")


class Opens:
    """Unpickling it makes a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


@pytest.mark.parametrize("place", ["state", "v0"])
def test_nothing_is_unpickled(path, other, tmp_path, place):
    witness = tmp_path / "witness"
    arrays = {"state": np.array("{}"), "v0": np.zeros(2)}
    arrays[place] = np.array([Opens(witness)], dtype=object)
    np.savez(path, **arrays)
    refused(path, other)
    path.write_bytes(pickle.dumps(Opens(witness)))
    refused(path, other)
    assert not witness.exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"units": 5}, r"Expected \(4, 3\). Received: \(4, 5\)"),
        ({"layers": 2}, "model has .* variables, the file"),
        ({"optimizer": "sgd"}, "model has .* variables, the file"),
    ],
)
def test_another_architecture(path, other, options, message):
    save_state(path, make_model(**options), STATE)
    refused(path, other, message, IDENTITY)


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        ({**IDENTITY, "seed": 2}, "its seed differs. Expected 2. Received: 1"),
        ({**IDENTITY, "format": 2}, "its format differs. Expected 2. Received: None"),
        ({"nested": {"a": {"b": 2}}}, "its nested.a.b differs. Expected 2.*: 1"),
        ({"nested": {"a": {"b": 1}}}, "its nested.c differs. Expected None"),
    ],
)
def test_another_run(path, other, expected, message):
    refused(path, other, message, expected)


@pytest.mark.skipif(
    keras.backend.backend() != "torch",
    reason="elsewhere the generators are the model's variables",
)
def test_torchs_generator_goes_on_where_it_was():
    import torch

    torch.manual_seed(3)
    kept = get_generator()
    first = torch.rand(4)
    set_generator(kept)
    assert (torch.rand(4) == first).all()
    set_generator(None)  # of a checkpoint of another backend
    assert (torch.rand(4) != first).any()


# === The callback ===


@pytest.fixture
def checkpoint(model, tmp_path):
    def make(**options):
        paths = tmp_path / "checkpoint.npz", tmp_path / "best.weights.h5"
        callback = Checkpoint(*paths, model, identity={"seed": 1}, **options)
        callback.set_model(model)
        model.stop_training = False
        return callback

    return make


def run_epochs(checkpoint, model, scores, first=0):
    """Ends epochs with these scores, the weights being those scores."""
    for epoch, score in enumerate(scores, start=first):
        for weight in model.trainable_variables:
            weight.assign(ops.full(weight.shape, 0.0 if math.isnan(score) else score))
        checkpoint.on_epoch_end(epoch, {"val_bleu": score, "seconds": 2.0})
        if model.stop_training:
            return epoch
    return None


def best_weight(model, tmp_path):
    model.load_weights(tmp_path / "best.weights.h5")
    return float(ops.convert_to_numpy(model.trainable_variables[0])[0, 0])


def test_the_best_weights_are_kept_and_the_last_state(checkpoint, model, tmp_path):
    run_epochs(checkpoint(plan=[4, "jax"]), model, [1.0, 3.0, 3.0, math.nan])
    state = load_state(tmp_path / "checkpoint.npz", model, {"seed": 1})
    assert (state.pop("generator") is None) == (keras.backend.backend() != "torch")
    assert (ops.convert_to_numpy(model.trainable_variables[0]) == 0.0).all()
    assert [row["val_bleu"] for row in state.pop("log")][:3] == [1.0, 3.0, 3.0]
    assert state == {
        "seed": 1,
        "epoch": 4,
        "step": 0,
        "best": 3.0,
        "best_epoch": 1,
        "seconds": 8.0,
        "plans": [[4, "jax"]],
        "stateful": {},
        "format": FORMAT,
    }
    assert best_weight(model, tmp_path) == 3.0


@pytest.mark.parametrize(
    ("patience", "scores", "last"),
    [
        (None, [3.0, 1.0, 1.0, 1.0], None),
        (1, [3.0, 1.0, 4.0], 1),
        (2, [3.0, 1.0, 4.0, 4.0, 2.0, 9.0], 4),
    ],
)
def test_patience(checkpoint, model, patience, scores, last):
    watched = checkpoint(monitor=Monitor(patience=patience))
    assert run_epochs(watched, model, scores) == last
    assert bool(watched.stop_reason) is (last is not None)


def test_a_resumed_run_goes_on_counting_under_its_plan(checkpoint, model, tmp_path):
    """It had written a row more than the checkpoint knows of, and half a file."""
    options = {"monitor": Monitor(patience=2)}
    run_epochs(checkpoint(**options, plan=[4, "jax"]), model, [5.0, 1.0])
    log = tmp_path / "log.csv"
    log.write_bytes(log.read_bytes() + b"2,2.0,7")
    (tmp_path / "checkpoint.part.npz").write_bytes(b"half")
    resumed = checkpoint(**options, plan=[9, "torch"])
    resumed.resume()
    resumed.clean_up()
    assert run_epochs(resumed, model, [4.0, 9.0], first=2) == 2
    assert best_weight(model, tmp_path) == 5.0
    rows = [f"{n},2.0,{score}" for n, score in enumerate((5.0, 1.0, 4.0))]
    assert log.read_text().splitlines() == ["epoch,seconds,val_bleu", *rows]
    state = load_state(tmp_path / "checkpoint.npz", model)
    assert (state["best"], state["best_epoch"], state["seconds"]) == (5.0, 0, 6.0)
    assert state["plans"] == [[4, "jax"], [9, "torch"]]
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["best.weights.h5", "checkpoint.npz", "log.csv"]


def test_best_weights_that_are_gone_or_damaged_are_refused(checkpoint, model, tmp_path):
    run_epochs(checkpoint(), model, [5.0])
    resumed, path = checkpoint(), tmp_path / "best.weights.h5"
    whole = path.read_bytes()
    start, _, end = whole.rpartition(b"SNOD")  # of the innermost group
    for damaged in (start + b"SNO!" + end, whole[:500]):
        path.write_bytes(damaged)
        with pytest.raises(CheckpointError, match="best.weights.h5, .* empty folder"):
            resumed.resume()
    path.write_bytes(whole)
    resumed.backbone = make_model(units=5)
    resumed.set_model(resumed.backbone)
    with pytest.raises(CheckpointError, match="checkpoint.npz is of another arch"):
        resumed.resume()
    path.unlink()
    with pytest.raises(CheckpointError, match="best.weights.h5, .* empty folder"):
        resumed.load_best()
