import json
import os
import sys
import types

import pytest

import zoo
from tests.marks import UNVERIFIED
from tests.presets_for_tests import make_preset
from zoo.presets import PresetError, build, find, list_presets, registry, verify

pytestmark = [pytest.mark.once, UNVERIFIED]

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
    monkeypatch.setattr(registry, "bundled_folder", lambda *_: found.bundled)
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
        (add, "task.weights.h5", "not listed"),
        (add, "assets/x/y", "not listed"),
    ],
)
def test_what_the_card_does_not_cover_is_refused_by_name(preset, change, name, message):
    change(preset / name)
    with pytest.raises(PresetError, match=f"{name}.*{message}"):
        verify(preset)


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


# === Finding ===


def test_order_is_path_then_bundled_then_cache(places):
    cached = places.cache / "presets" / "tiny"
    make_preset(cached)
    assert find("tiny") == cached
    make_preset(places.bundled / "tiny")
    assert find("tiny") == places.bundled / "tiny"
    make_preset(places.here / "tiny")
    assert find("tiny").resolve() == places.here / "tiny"


MALFORMED = "a = lost\nb = lost.inner\nc = shop-x\nd = json.x\ne = .x\nf = os\ng ="


def install(site, package):
    """Installs a package without code whose entry point is for presets."""
    (site / package).mkdir(parents=True)
    points = f"[zoo.presets]\n{MALFORMED}\n{package} = {package}.inner\n"
    for name, text in ("METADATA", f"Name: {package}\n"), ("entry_points.txt", points):
        path = site / f"{package}-1.0.dist-info" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return site / package


@pytest.mark.filterwarnings("ignore:left out")
def test_an_installed_package_s_presets_are_found_without_its_code(
    places, tmp_path, monkeypatch
):
    monkeypatch.syspath_prepend(tmp_path / "site")
    package = install(tmp_path / "site", "shop_presets")
    (package / "__init__.py").write_text("raise SystemExit('imported')")
    make_preset(places.cache / "presets" / "tiny")
    make_preset(package / "inner" / "tiny")
    with pytest.warns(UserWarning, match="entry point") as warned:
        assert find("tiny") == package / "inner" / "tiny"
    for point, warning in zip(MALFORMED.split("\n"), warned, strict=True):
        assert f"left out: the entry point {point} " in str(warning.message)
    assert [card.name for card in list_presets()] == ["tiny"]
    make_preset(places.bundled / "tiny")
    assert find("tiny") == places.bundled / "tiny"


def test_what_is_not_installed_is_told_with_its_package(places):
    package = "attention-zoo-presets-translation"
    with pytest.raises(ValueError, match=f"bahdanau .* pip install {package} brings"):
        find("bahdanau")
    with pytest.raises(ValueError, match="did you mean bahdanau "):
        find("bahdanu")
    make_preset(places.bundled / "bahdanau")
    assert "bahdanau" not in registry.not_installed()
    assert registry.not_installed()["transformer"] == package


def test_folder_that_is_no_preset_hides_no_name_and_is_refused(places):
    make_preset(places.bundled / "tiny")
    (places.here / "tiny").mkdir()
    assert find("tiny") == places.bundled / "tiny"
    (places.here / "runs").mkdir()
    with pytest.raises(ValueError, match="received 'runs'"):
        find("runs")


def test_a_run_is_its_preset(places):
    run = places.here / "runs" / "mine"
    run.mkdir(parents=True)
    (run / "config.json").write_text('{"recipe": {}}')
    with pytest.raises(ValueError, match="with none .*--resume runs/mine"):
        find("runs/mine")
    make_preset(run / "preset" / "tiny")
    assert find("runs/mine").resolve() == run / "preset" / "tiny"
    make_preset(run / "preset" / "other")
    with pytest.raises(ValueError, match="must have one .*other, .*tiny"):
        find("runs/mine")


@pytest.mark.parametrize(
    "handle, module, function",
    [
        ("hf://ada/tiny", "huggingface_hub", "snapshot_download"),
        ("kaggle://ada/tiny/keras/en_de", "kagglehub", "model_download"),
    ],
)
def test_handles(monkeypatch, tmp_path, handle, module, function):
    asked = []

    def fetch(name, **_):
        asked.append(name)
        return str(tmp_path)

    monkeypatch.setitem(sys.modules, module, types.SimpleNamespace(**{function: fetch}))
    assert find(handle) == tmp_path
    assert asked == [handle.split("://")[1]]


def test_unknown_name_gets_the_nearest_names(places):
    for name in ("luong_local", "luong_global", "bahdanau"):
        make_preset(places.bundled / name)
    with pytest.raises(ValueError, match="received 'Luong_locl'") as caught:
        zoo.load("Luong_locl")
    message = str(caught.value)
    assert "did you mean luong_local" in message
    assert "[bahdanau, luong_global, luong_local]; received" in message
    with pytest.raises(ValueError) as caught:
        zoo.load("zzz")
    assert "did you mean" not in str(caught.value)


@pytest.mark.parametrize(
    "name", ["", "../bundled", "presets/tiny", "tiny/../tiny", "hf://ada/../x"]
)
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
