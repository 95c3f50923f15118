import json
import shutil
import threading

import h5py
import keras
import numpy as np
import pytest

import zoo
from tests.presets_for_tests import save_translator
from zoo.presets.card import PresetError
from zoo.presets.weights import fitting, measure

pytestmark = [
    pytest.mark.once,
    pytest.mark.filterwarnings("ignore:.*cannot be verified"),
]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return save_translator(tmp_path_factory.mktemp("presets") / "tiny")


@pytest.fixture
def preset(saved, tmp_path):
    return shutil.copytree(saved, tmp_path / "tiny")


def change(preset, **sizes):
    """Changes a backbone's arguments in the task's file, which is what is loaded."""
    told = json.loads((preset / "task.json").read_text())
    backbone = told["config"]["backbone"]["config"]
    assert set(sizes) <= set(backbone)
    backbone.update(sizes)
    (preset / "task.json").write_text(json.dumps(told))


def test_arrays_and_numbers_are_counted(preset):
    variables = zoo.load(preset).variables
    variables = [v for v in variables if "seed_generator" not in v.path]
    arrays, numbers = measure(preset)
    assert arrays == len(variables)
    assert numbers == sum(int(np.prod(v.shape)) for v in variables)


@pytest.mark.parametrize(
    "sizes, message",
    [
        ({"num_layers": 10**6}, "num_layers=1,000,000, more than the weights files"),
        ({"vocabulary_size": 10**9}, "asks for more"),
        ({"hidden_dim": 10**6}, "asks for more"),
        ({"embedding_dim": 10**8}, "asks for more"),
    ],
)
def test_a_model_larger_than_its_weights_is_not_made(preset, sizes, message):
    """10^9 word vectors would take some 30 GB."""
    change(preset, **sizes)
    with pytest.raises(PresetError, match=message):
        zoo.load(preset)


def test_a_file_that_declares_more_than_it_has_is_refused(preset):
    with h5py.File(preset / "model.weights.h5", "a") as file:
        file.create_dataset("bomb", shape=(10**6, 10**6), dtype="float32")
    with pytest.raises(PresetError, match="declares 4,000,000,0.* bytes of weights"):
        zoo.load(preset)


def test_a_file_that_is_no_weights_file_is_refused(preset):
    (preset / "model.weights.h5").write_bytes(b"weights")
    with pytest.raises(PresetError, match="model.weights.h5 is not a weights file"):
        zoo.load(preset)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8"])
def test_zeros_are_made_by_numpy(preset, monkeypatch, dtype):
    """JAX would compile each shape of Keras's."""
    monkeypatch.delattr(keras.initializers.Zeros, "__call__")
    layer = keras.layers.Dense(3)
    with fitting(preset):
        weight = layer.add_weight(shape=(2, 3), dtype=dtype, trainable=False)
    values = keras.ops.convert_to_numpy(keras.ops.cast(weight.value, "float32"))
    assert weight.dtype == dtype and values.shape == (2, 3) and not values.any()


@pytest.mark.skipif(
    keras.backend.backend() != "jax",
    reason="Keras compiles an initializer under JAX alone",
)
def test_jax_compiles_the_zeros_of_a_large_weight(preset, monkeypatch):
    """Under a `keras.distribution.ModelParallel` Keras has it do so."""
    import jax

    seen = []
    monkeypatch.setattr(
        keras.Layer, "add_weight", lambda *args, **_: seen.append(args[2])
    )
    with fitting(preset):
        keras.layers.Dense(3).add_weight((2, 3), "ones")
    zeros = jax.jit(seen[0].__call__, static_argnames=["shape", "dtype"])
    assert zeros(shape=(2, 3), dtype="float32").sum() == 0


def test_random_weights_are_left_out_while_loading_only(preset):
    def made():
        layer = keras.layers.Dense(3)
        layer.build((None, 2))
        return np.abs(keras.ops.convert_to_numpy(layer.kernel)).sum()

    elsewhere = []
    with fitting(preset):
        assert made() == 0
        thread = threading.Thread(target=lambda: elsewhere.append(made()))
        thread.start()
        thread.join()
    assert elsewhere[0] > 0 and made() > 0
    with pytest.raises(ZeroDivisionError), fitting(preset):
        _ = 1 / 0
    assert made() > 0
    without = zoo.load(preset, load_weights=False)
    sums = [float(keras.ops.sum(keras.ops.abs(v.value))) for v in without.variables]
    assert max(sums) > 0
