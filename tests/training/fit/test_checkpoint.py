import json
import os
import pickle
import random
import zipfile

import keras
import numpy as np
import pytest
from keras import ops

from zoo.files import part_of
from zoo.training import CheckpointError, load_state, save_state
from zoo.training.fit.checkpoint import get_generator, read_state, set_generator

IDENTITY = {"recipe": "luong_local", "seed": 1}
STATE = {**IDENTITY, "epoch": 3, "best": 12.5, "stopped": False, "seconds": 1.25}
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


# === Round trip ===


def test_everything_comes_back(path, model, other):
    """The seed of dropout and the optimizer, too."""
    names = " ".join(variable.path for variable in all_variables(model))
    assert "seed_generator_state" in names and "iteration" in names
    assert "momentum" in names and "velocity" in names
    scramble(other, seed=2)
    assert not equal(values(other), values(model))
    assert load_state(path, other, IDENTITY) == STATE
    assert equal(values(other), values(model))
    assert [v.dtype for v in all_variables(other)] == [
        v.dtype for v in all_variables(model)
    ]
    assert os.listdir(path.parent) == ["checkpoint.npz"]


def test_an_older_format_is_named(path, other):
    refused(path, other, "of another version of zoo", {**IDENTITY, "format": 2})


def test_weights_that_are_not_finite_are_not_saved(path):
    content, broken = path.read_bytes(), make_model()
    weight = broken.trainable_variables[0]
    weight.assign(ops.full(weight.shape, float("inf")))
    with pytest.raises(FloatingPointError, match=weight.path):
        save_state(path, broken, STATE)
    assert path.read_bytes() == content


def test_a_first_epoch_has_no_best_score_yet(tmp_path, model, other):
    save_state(tmp_path / "checkpoint.npz", model, {"best": float("-inf")})
    assert load_state(tmp_path / "checkpoint.npz", other) == {"best": float("-inf")}


# === Interrupted writing ===


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
    assert load_state(path, other)["epoch"] == 3
    # What was left aside is in nobody's way.
    save_state(path, model, {"epoch": 5})
    assert load_state(path, other) == {"epoch": 5}


def test_a_full_disk_is_told_with_the_file_and_leaves_nothing(path, model):
    """Linux's /dev/full takes no byte: the error is the system's own."""
    content, aside = path.read_bytes(), part_of(path)
    os.symlink("/dev/full", aside)
    with pytest.raises(OSError, match="No space left on device.*checkpoint.npz"):
        save_state(path, model, STATE)
    assert path.read_bytes() == content and not os.path.lexists(aside)


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


def test_the_header_of_a_large_array_is_damaged(tmp_path):
    """Where NumPy reads the header before the archive's checksum can tell."""
    path, rng = tmp_path / "checkpoint.npz", random.Random(1)
    state = np.array(json.dumps(STATE))
    np.savez(path, v0=np.zeros(100_000, "float32"), state=state)
    content = path.read_bytes()
    noticed = 0
    for _ in range(200):
        damaged = bytearray(content)
        place = rng.choice([rng.randrange(200), len(content) - rng.randrange(1, 200)])
        damaged[place] = rng.randrange(256)
        path.write_bytes(damaged)
        try:
            read_state(path)
        except CheckpointError:
            noticed += 1
    assert noticed > 50


FOREIGN = {
    "empty": lambda file: file.write(b""),
    "text": lambda file: file.write(b"epoch,loss\n0,1.5\n"),
    "bytes": lambda file: file.write(bytes(range(256)) * 10),
    "pickle": lambda file: file.write(pickle.dumps({"epoch": 1})),
    "npy": lambda file: np.save(file, np.zeros(3)),
    "zip": lambda file: zipfile.ZipFile(file, "w").writestr("a.txt", "a"),
    "npz": lambda file: np.savez(file, weights=np.zeros(3)),
    "compressed": lambda file: np.savez_compressed(file, weights=np.zeros(3)),
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


@pytest.mark.parametrize("share", [0.01, 0.5, 0.99])
def test_a_truncated_file(path, other, share):
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
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
        ({"recipe": "other"}, "its recipe differs. Expected 'other'"),
        ({"vocabulary": "a"}, "its vocabulary differs. .* Received: None"),
        ({"model": {"units": 3}}, "its model differs. Expected {'units': 3}"),
        (
            {"nested": {"a": {"b": 2}}},
            "its nested.a.b differs. Expected 2. Received: 1",
        ),
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
