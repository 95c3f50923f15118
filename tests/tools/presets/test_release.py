import hashlib
import json
import os
import zipfile

import pytest

import zoo
from tests.presets_for_tests import make_preset
from tools import ROOT
from tools.presets import release

pytestmark = pytest.mark.backend_free


@pytest.fixture
def project(tmp_path):
    """A project whose wheels have `small` alone, and whose manifest is up to date."""
    for name in ("large", "small", "tiny"):
        make_preset(tmp_path / "savedmodels" / name, name=name)
    (tmp_path / "pyproject.toml").write_text(
        "[tool.setuptools.package-data]\n"
        '"zoo._presets" = ["*/card.json", "*/README.md", "small/*.json", "small/*.h5"]'
    )
    (tmp_path / "zoo/presets").mkdir(parents=True)
    assert release.main([], tmp_path) == 0
    return tmp_path


def manifest(project):
    return json.loads((project / "zoo/presets/release.json").read_text())


def test_this_project_is_up_to_date():
    """If not: python -m tools.presets.release"""
    text = (ROOT / release.MANIFEST).read_text("utf-8")
    assert text == release.manifest(ROOT)


def test_a_wheel_has_the_small_presets_and_the_cards_of_all():
    assert release.in_wheel(ROOT) == ["birnn", "dates", "luong_local"]
    names = {path.name for path in release.released(ROOT)}
    assert names == set(json.loads((ROOT / release.MANIFEST).read_text())["presets"])
    assert "transformer" in names and not names & set(release.in_wheel(ROOT))


def test_the_manifest_has_what_a_wheel_lacks(project, tmp_path, capsys):
    folder = tmp_path / "dist" / "presets"
    assert release.main(["--output", str(folder)], project) == 0
    assert json.loads(capsys.readouterr().out) == manifest(project)
    assert manifest(project)["version"] == zoo.__version__
    assert manifest(project)["address"] is None
    assert sorted(path.name for path in folder.iterdir()) == ["large.zip", "tiny.zip"]
    for name, entry in manifest(project)["presets"].items():
        data = (folder / f"{name}.zip").read_bytes()
        assert entry == {
            "bytes": len(data),
            "sha256": hashlib.sha256(data).hexdigest(),
        }


def test_an_archive_has_the_files_of_the_card_and_is_always_the_same(project):
    folder = project / "savedmodels/tiny"
    data = release.archive(folder)
    (folder / "1").mkdir()
    (folder / "1/saved_model.pb").write_bytes(b"an export")
    os.utime(folder / "card.json", (0, 0))
    (folder / "card.json").chmod(0o600)
    assert release.archive(folder) == data
    path = project / "tiny.zip"
    path.write_bytes(data)
    with zipfile.ZipFile(path) as content:
        for name in content.namelist():
            assert content.read(name) == (folder / name).read_bytes()
        assert sorted(content.namelist()) == [
            "README.md",
            "assets/tokenizer/vocabulary.spm",
            "card.json",
            "config.json",
            "model.weights.h5",
            "task.json",
        ]


def test_a_changed_preset_is_stale(project, capsys):
    assert release.main(["--check"], project) == 0
    path = project / "savedmodels/tiny/model.weights.h5"
    path.write_bytes(path.read_bytes()[::-1])
    assert release.main(["--check"], project) == 1
    assert "stale: zoo/presets/release.json" in capsys.readouterr().err
    assert release.main([], project) == 0 and release.main(["--check"], project) == 0


def test_an_address_is_that_of_one_version_and_its_archives(project, monkeypatch):
    address = "https://example.org/v1"
    assert release.main(["--address", address], project) == 0
    assert release.main([], project) == 0
    assert manifest(project)["address"] == address
    with monkeypatch.context() as patch:
        patch.setattr(zoo, "__version__", "7.7")
        assert release.main(["--check"], project) == 1
    make_preset(project / "savedmodels/new", name="new")
    assert release.main([], project) == 0
    assert manifest(project)["address"] is None


def test_an_address_is_one_of_the_web(project, capsys):
    with pytest.raises(SystemExit):
        release.main(["--address", "example.org"], project)
    assert "received example.org" in capsys.readouterr().err
