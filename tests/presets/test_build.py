import json
import os
import shutil
import threading

import h5py
import keras
import keras_hub
import numpy as np
import pytest

import zoo
from tests.marks import UNVERIFIED
from tests.presets_for_tests import FACTS, save_translator
from zoo.presets import PresetError, registry
from zoo.presets.build import fitting, measure
from zoo.presets.pages import write_card

pytestmark = [pytest.mark.once, UNVERIFIED]

WEIGHTS = "model.weights.h5"


@pytest.fixture(scope="module")
def model():
    from zoo.models import Luong, LuongTranslator

    backbone = Luong(vocabulary_size=11, num_layers=1, hidden_dim=5, embedding_dim=3)
    return LuongTranslator(backbone)


@pytest.fixture
def saved(model, tmp_path):
    model.save_to_preset(str(tmp_path / "saved"))
    write_card(tmp_path / "saved", FACTS)
    return tmp_path / "saved"


def logits(model):
    ids = np.array([[4, 5, 6, 0], [7, 0, 0, 0]], "int32")
    outputs = model({"source_ids": ids, "target_ids": ids})
    from keras import ops

    return ops.convert_to_numpy(outputs)


def test_loaded_model_computes_what_the_saved_one_does(model, saved):
    loaded = zoo.load(saved)
    assert type(loaded) is type(model)
    np.testing.assert_allclose(logits(loaded), logits(model), atol=1e-6)


def test_arguments_of_from_preset_are_passed_on(saved):
    loaded = zoo.load(saved, dtype="float16")
    assert loaded.backbone.compute_dtype == "float16"
    with pytest.raises(PresetError, match="a LuongTranslator with foo=1: "):
        zoo.load(saved, foo=1)


def test_a_load_verifies_once(saved, monkeypatch):
    verified = []
    monkeypatch.setattr(registry, "verify", verified.append)
    zoo.load(saved)
    assert verified == [saved]


def test_from_preset_of_a_class_verifies(model, saved):
    for cls in (type(model), type(model.backbone)):
        assert type(cls.from_preset(saved)) is cls
    (saved / WEIGHTS).write_bytes(b"")
    for cls in (type(model), type(model.backbone)):
        with pytest.raises(PresetError, match=f"{WEIGHTS}.*truncated"):
            cls.from_preset(saved)


def test_folder_without_a_card_is_loaded_with_a_warning(model, saved):
    (saved / "card.json").unlink()
    for load in (zoo.load, type(model).from_preset):
        with pytest.warns(UserWarning, match="cannot be verified") as record:
            loaded = load(str(saved))
        assert [warning.filename for warning in record] == [__file__]
    np.testing.assert_allclose(logits(loaded), logits(model), atol=1e-6)


def rewrite(path, **values):
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))
    (path.parent / "card.json").unlink(missing_ok=True)


@pytest.mark.parametrize("file", ["task.json", "config.json"])
@pytest.mark.parametrize(
    "name", ["keras_hub>GPT2CausalLM", "zoo>NoSuchModel", "Functional", None, 3]
)
def test_foreign_class_is_refused(saved, file, name):
    rewrite(saved / file, registered_name=name)
    with pytest.raises(PresetError, match=f"{file}.*zoo.models"):
        zoo.load(saved)


def test_task_and_backbone_must_belong_together(saved):
    rewrite(saved / "task.json", registered_name="zoo>Luong")
    with pytest.raises(PresetError, match="task.json.*task"):
        zoo.load(saved)
    rewrite(saved / "task.json", registered_name="zoo>LuongTranslator")
    rewrite(saved / "config.json", registered_name="zoo>LuongTranslator")
    with pytest.raises(PresetError, match="config.json.*backbone"):
        zoo.load(saved)


def test_code_inside_a_configuration_is_refused(saved):
    task = json.loads((saved / "task.json").read_text())
    task["config"]["preprocessor"] = {
        "module": "keras.layers",
        "class_name": "Lambda",
        "registered_name": None,
        "config": {
            "name": "code",
            "function": {
                "class_name": "__lambda__",
                "config": {"code": "4wAAAAAA", "defaults": None, "closure": None},
            },
        },
    }
    rewrite(saved / "task.json", **task)
    with pytest.raises(PresetError, match="do not make a LuongTranslator.*unsafe"):
        zoo.load(saved)


def widen(folder):
    for name in ("task.json", "config.json"):
        text = (folder / name).read_text()
        (folder / name).write_text(text.replace('"hidden_dim": 5', '"hidden_dim": 6'))


def drop_cells(folder):
    """Keras itself only warns, and leaves these layers with random weights."""
    with h5py.File(folder / WEIGHTS, "a") as file:
        del file["encoder/cells"]


@pytest.mark.parametrize(
    "change, message",
    [
        (widen, ""),
        (drop_cells, ".*encoder"),
        (lambda folder: os.truncate(folder / WEIGHTS, 100), ""),
    ],
)
def test_weights_that_do_not_fit_are_refused(model, saved, change, message):
    change(saved)
    (saved / "card.json").unlink()
    for load in (zoo.load, type(model).from_preset):
        with pytest.raises(PresetError, match=f"do not make a LuongTrans.*{message}"):
            load(saved)
    if change is not drop_cells:
        with pytest.raises(PresetError, match="do not make a Luong:"):
            type(model.backbone).from_preset(saved)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_weights_that_are_no_numbers_are_refused(model, saved, number):
    with h5py.File(saved / WEIGHTS, "a") as file:
        names = []
        file["encoder"].visit(names.append)
        [name, *_] = (n for n in names if isinstance(file["encoder"][n], h5py.Dataset))
        file["encoder"][name][0, 0] = number
    (saved / "card.json").unlink()
    for load in (zoo.load, type(model).from_preset):
        with pytest.raises(PresetError, match="encoder/.* must be finite.* are NaN"):
            load(saved)


def test_a_folder_named_like_a_preset_of_kerashub_is_loaded(
    model, saved, tmp_path, monkeypatch
):
    (saved / "card.json").unlink()
    name = "bert_base_en"
    assert name in keras_hub.models.Backbone.presets
    saved.rename(tmp_path / name)
    monkeypatch.chdir(tmp_path)
    for load in (zoo.load, type(model).from_preset):
        np.testing.assert_allclose(logits(load(name)), logits(model), atol=1e-6)


def test_backbone_alone_is_no_task(saved):
    (saved / "task.json").unlink()
    (saved / "card.json").unlink()
    with (
        pytest.warns(UserWarning),
        pytest.raises(PresetError, match="task.json is missing"),
    ):
        zoo.load(saved)


# === Weights ===


@pytest.fixture(scope="module")
def translator_folder(tmp_path_factory):
    return save_translator(tmp_path_factory.mktemp("presets") / "tiny")


@pytest.fixture
def preset(translator_folder, tmp_path):
    return shutil.copytree(translator_folder, tmp_path / "tiny")


def change(preset, **sizes):
    """Changes a backbone's arguments in the task's file, which is what is loaded."""
    told = json.loads((preset / "task.json").read_text())
    backbone = told["config"]["backbone"]["config"]
    assert set(sizes) <= set(backbone)
    backbone.update(sizes)
    (preset / "task.json").write_text(json.dumps(told))


def test_numbers_are_counted(preset):
    variables = zoo.load(preset).variables
    variables = [v for v in variables if "seed_generator" not in v.path]
    sizes = [int(np.prod(v.shape)) for v in variables]
    assert measure(preset) == (len(sizes), sum(sizes))


@pytest.mark.parametrize(
    "sizes", [{"vocabulary_size": 10**9}, {"hidden_dim": 10**6}, {"num_layers": 10**6}]
)
def test_a_model_larger_than_its_weights_is_not_made(preset, sizes):
    """10^9 word vectors would take some 30 GB."""
    change(preset, **sizes)
    with pytest.raises(PresetError, match="asks for more"):
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
