import json
import os
import types

import h5py
import keras_hub
import numpy as np
import pytest

import zoo
from tests.presets_for_tests import FACTS, make_preset
from zoo import presets
from zoo.presets import PresetError, build, find, list_presets, registry, verify
from zoo.presets.pages import write_card

pytestmark = [
    pytest.mark.once,
    pytest.mark.filterwarnings("ignore:.*cannot be verified"),
]

WEIGHTS = "model.weights.h5"


@pytest.fixture
def preset(tmp_path):
    """A verified folder without a model."""
    make_preset(tmp_path / "tiny")
    return tmp_path / "tiny"


@pytest.fixture
def places(tmp_path, monkeypatch):
    """Empty places to look in: the working, the bundled and the cache folder."""
    found = types.SimpleNamespace()
    for name in ("here", "bundled", "cache"):
        folder = tmp_path / name
        folder.mkdir()
        setattr(found, name, folder)
    monkeypatch.chdir(found.here)
    monkeypatch.setattr(registry, "_bundled_folder", lambda: found.bundled)
    monkeypatch.setenv("ZOO_CACHE_DIR", str(found.cache))
    return found


# === Verification ===


def alter(path):
    content = bytearray(path.read_bytes())
    content[1000] ^= 1
    path.write_bytes(content)


def add(path):
    path.parent.mkdir(exist_ok=True)
    path.write_text("added later")


@pytest.mark.parametrize(
    "change, name, message",
    [
        (lambda path: os.truncate(path, 2047), WEIGHTS, "truncated.*2048.*2047"),
        (alter, WEIGHTS, "altered.*sha256"),
        (os.remove, "task.json", "is missing"),
        (os.remove, "assets/tokenizer/vocabulary.spm", "is missing"),
        (add, "task.weights.h5", "not listed"),
        (add, "tokenizer.json", "not listed"),
        (add, "assets/x/y", "not listed"),
    ],
)
def test_what_the_card_does_not_cover_is_refused_by_name(preset, change, name, message):
    change(preset / name)
    with pytest.raises(PresetError, match=f"{name}.*{message}"):
        verify(preset)


@pytest.mark.parametrize("name", ["1/saved_model.pb", "README.md", "notes.txt"])
def test_file_that_loading_does_not_read_is_left_aside(preset, name):
    add(preset / name)
    assert verify(preset).name == "tiny"


@pytest.mark.parametrize(
    "name", ["../secret", "/etc/passwd", "assets/../../secret", "..\\secret", "C:x", ""]
)
def test_listed_file_outside_the_folder_is_refused(preset, name):
    (preset.parent / "secret").write_text("secret")
    card = json.loads((preset / "card.json").read_text())
    card["files"][name] = {"bytes": 6, "sha256": "0" * 64}
    (preset / "card.json").write_text(json.dumps(card))
    with pytest.raises(PresetError, match="inside the preset's folder"):
        verify(preset)


def test_links_of_a_download_cache_are_followed(preset):
    blob = preset.parent / "blob"
    (preset / WEIGHTS).rename(blob)
    (preset / WEIGHTS).symlink_to(blob)
    verify(preset)


def test_load_reads_nothing_before_it_verifies(preset, monkeypatch):
    monkeypatch.setattr(build, "build", lambda *_: pytest.fail("built"))
    (preset / WEIGHTS).write_bytes(b"")
    with pytest.raises(PresetError, match=WEIGHTS):
        zoo.load(preset)


def test_locate_finds_and_verifies(places):
    make_preset(places.bundled / "tiny")
    assert presets.locate("tiny") == places.bundled / "tiny"
    (places.bundled / "tiny" / WEIGHTS).write_bytes(b"")
    with pytest.raises(PresetError, match=WEIGHTS):
        presets.locate("tiny")
    with pytest.raises(ValueError, match="unknown preset"):
        presets.locate("other")


# === Finding ===


def test_order_is_path_then_bundled_then_cache(places):
    cached = places.cache / "presets" / "tiny"
    make_preset(cached)
    assert find("tiny") == cached
    make_preset(places.bundled / "tiny")
    assert find("tiny") == places.bundled / "tiny"
    make_preset(places.here / "tiny")
    assert find("tiny").resolve() == places.here / "tiny"


def test_folder_that_is_no_preset_hides_no_name_and_is_refused(places):
    make_preset(places.bundled / "tiny")
    (places.here / "tiny").mkdir()
    assert find("tiny") == places.bundled / "tiny"
    (places.here / "runs").mkdir()
    with pytest.raises(ValueError, match="'runs' is not a preset.*card.json"):
        find("runs")


def test_a_run_is_its_preset(places):
    run = places.here / "runs" / "mine"
    run.mkdir(parents=True)
    (run / "config.json").write_text('{"recipe": {}}')
    with pytest.raises(ValueError, match="has no preset yet: .*--resume runs/mine"):
        find("runs/mine")
    make_preset(run / "preset" / "tiny")
    assert find("runs/mine").resolve() == run / "preset" / "tiny"
    make_preset(run / "preset" / "other")
    with pytest.raises(ValueError, match="several presets: .*other, .*tiny"):
        find("runs/mine")


def test_unknown_name_gets_the_nearest_names(places):
    for name in ("luong_local", "luong_global", "bahdanau"):
        make_preset(places.bundled / name)
    with pytest.raises(ValueError, match="received 'Luong_locl'") as caught:
        zoo.load("Luong_locl")
    message = str(caught.value)
    assert "did you mean luong_local" in message
    assert "[bahdanau, luong_global, luong_local]; a clone" in message
    with pytest.raises(ValueError) as caught:
        zoo.load("zzz")
    assert "did you mean" not in str(caught.value)


@pytest.mark.parametrize("name", ["", "../bundled", "presets/tiny", "tiny/../tiny"])
def test_name_is_not_a_way_out_of_the_folders(places, name):
    make_preset(places.bundled / "tiny")
    with pytest.raises(ValueError):
        find(name)


def test_list_presets_joins_bundled_and_cached(places):
    make_preset(places.bundled / "b", name="b", seed=1)
    make_preset(places.cache / "presets" / "a", name="a")
    make_preset(places.cache / "presets" / "b", name="b", seed=2)
    assert [(card.name, card.seed) for card in zoo.list_presets()] == [
        ("a", 7),
        ("b", 1),
    ]


def test_a_bad_folder_in_the_cache_does_not_hide_the_others(places):
    make_preset(places.bundled / "b", name="b")
    broken = places.cache / "presets" / "broken"
    broken.mkdir(parents=True)
    (broken / "card.json").write_text("{}")
    with pytest.warns(UserWarning, match="left out of the list: .*broken"):
        assert [card.name for card in zoo.list_presets()] == ["b"]


def test_bundled_presets_are_whole():
    for card in list_presets():
        assert verify(find(card.name)) == card
        assert card.bytes <= 20_000_000


# === Loading ===


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
    with pytest.raises(ValueError, match="with the arguments foo=1: ") as caught:
        zoo.load(saved, foo=1)
    assert not isinstance(caught.value, PresetError)


def test_a_load_verifies_once(saved, monkeypatch):
    verified = []
    monkeypatch.setattr(registry, "verify", verified.append)
    zoo.load(saved)
    assert verified == [saved]


def test_from_preset_of_a_class_finds_and_verifies(model, saved, places):
    saved.rename(places.bundled / "tiny")
    for cls in (type(model), type(model.backbone)):
        assert type(cls.from_preset("tiny")) is cls
    (places.bundled / "tiny" / WEIGHTS).write_bytes(b"")
    for cls in (type(model), type(model.backbone)):
        with pytest.raises(PresetError, match=f"{WEIGHTS}.*truncated"):
            cls.from_preset("tiny")


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


def test_a_folder_named_like_a_preset_of_kerashub_is_loaded(model, saved, places):
    (saved / "card.json").unlink()
    name = "bert_base_en"
    assert name in keras_hub.models.Backbone.presets
    saved.rename(places.here / name)
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
