"""Presets that were altered: each is refused by a PresetError that names the file, or
loads as what it is; nothing in it is run."""

import contextlib
import json
import random
import shutil

import keras
import pytest

import zoo
from tests.marks import UNVERIFIED
from tests.presets_for_tests import FACTS, save_translator
from zoo.presets.card import PresetError, loaded_files
from zoo.presets.pages import write_card

pytestmark = [pytest.mark.once, UNVERIFIED]
TOKENIZER = "assets/tokenizer/vocabulary.spm"
VALUES = (None, -1, 0, [], {}, "x", 1e99, True, {"class_name": "os.system"})
CODE = {"module": "os", "class_name": "system", "config": {"command": "touch run"}}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return save_translator(tmp_path_factory.mktemp("attacks") / "whole")


@pytest.fixture
def copy(whole, tmp_path):
    """A function that makes a new copy of the preset."""

    def make():
        shutil.rmtree(tmp_path / "tiny", ignore_errors=True)
        return shutil.copytree(whole, tmp_path / "tiny")

    return make


def altered(content, draw):
    """Content that was cut, overwritten, lengthened or replaced."""
    kind, content = draw.randrange(4), bytearray(content)
    if kind == 0:
        return bytes(content[: draw.randrange(len(content))])
    if kind == 1:
        for _ in range(5):
            content[draw.randrange(len(content))] = draw.randrange(256)
        return bytes(content)
    if kind == 2:
        return bytes(content) + draw.randbytes(50)
    return draw.randbytes(draw.randrange(2000))


def load(folder):
    """The texts of a preset that loads without complaint."""
    return zoo.load(folder).translate(["a dog", "die katze"])


@pytest.mark.parametrize("name", [TOKENIZER, "model.weights.h5"])
def test_a_file_that_no_card_covers(copy, name):
    draw = random.Random(0)
    for _ in range(10):
        folder = copy()
        path = folder / name
        content = altered(path.read_bytes(), draw)
        path.write_bytes(content)
        try:
            load(folder)
        except PresetError as error:
            assert str(folder) in str(error)
        # What still is a model, if another one, is used.


@pytest.mark.parametrize("name", ["config.json", "task.json"])
def test_a_configuration_that_no_card_covers(copy, name):
    draw = random.Random(0)
    for attempt in range(12):
        folder = copy()
        path = folder / name
        found = json.loads(path.read_text())
        if attempt == 0:
            path.write_text("[" * 100_000 + "]" * 100_000)
        elif attempt < 5:
            path.write_bytes(altered(path.read_bytes(), draw))
        else:  # one of its values, however deep
            place = found
            while True:
                key = draw.choice(list(place))
                if not isinstance(place[key], dict) or not place[key]:
                    break
                place = place[key]
            place[key] = draw.choice(VALUES)
            path.write_text(json.dumps(found))
        try:
            task = zoo.load(folder)
        except PresetError as error:
            assert str(folder) in str(error)
        else:  # of fewer pieces for a source, as an example
            with contextlib.suppress(ValueError):
                task.translate("a dog")


def test_every_file_that_a_card_covers(copy):
    draw = random.Random(0)
    names = loaded_files(copy())
    assert len(names) > 4
    for name in names:
        for _ in range(4):
            folder = copy()
            write_card(folder, FACTS)
            before = (folder / name).read_bytes()
            after = altered(before, draw)
            (folder / name).write_bytes(after)
            if after != before:
                with pytest.raises(PresetError, match=name):
                    zoo.load(folder)


def test_links_are_followed_to_what_they_hide(copy, tmp_path):
    folder = copy()
    write_card(folder, FACTS)
    shutil.move(folder / "assets", tmp_path / "elsewhere")
    (folder / "assets").symlink_to(tmp_path / "elsewhere")
    assert load(folder)  # the files are those of the card
    (tmp_path / "elsewhere" / "tokenizer" / "more.txt").write_text("")
    with pytest.raises(PresetError, match="assets/tokenizer/more.txt"):
        zoo.load(folder)


def test_code_beside_a_preset_is_never_run(copy, monkeypatch):
    folder = copy()
    monkeypatch.chdir(folder)
    program = "import os\nos.mkdir('run')\n"
    for name in ("__init__.py", "config.py", "assets/tokenizer/tokenizer.py"):
        (folder / name).write_text(program)
    pickled = b"cos\nmkdir\n(S'run'\ntR."
    for name in ("config.pkl", "task.pkl", "model.pickle"):
        (folder / name).write_bytes(pickled)
    assert load(folder)
    for name in ("config.json", "task.json"):
        found = json.loads((folder / name).read_text())
        for key in list(found["config"])[:4]:
            changed = {**found, "config": {**found["config"], key: CODE}}
            (folder / name).write_text(json.dumps(changed))
            with contextlib.suppress(PresetError):  # some of them nothing reads
                load(folder)
        (folder / name).write_text(json.dumps(found))
    lambdas = keras.saving.serialize_keras_object(keras.layers.Lambda(lambda x: x))
    (folder / "config.json").write_text(json.dumps(lambdas))
    with pytest.raises(PresetError):
        load(folder)
    assert not (folder / "run").exists()
