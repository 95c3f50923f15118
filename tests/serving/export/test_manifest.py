import json

import pytest

from zoo.serving.export.manifest import newest, read_version, write_manifest

pytestmark = pytest.mark.backend_free
DESCRIBED = {"task": "translate", "settings": {}, "graphs": {}}


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "model" / "2"
    folder.mkdir(parents=True)
    (folder / "step.onnx").write_bytes(b"a graph")
    write_manifest(folder, DESCRIBED)
    return folder


def test_what_was_written_is_read(folder):
    manifest, files = read_version(folder)
    assert files == {"step.onnx": b"a graph"}
    assert {key: manifest[key] for key in DESCRIBED} == DESCRIBED
    # By `sha256sum`.
    assert manifest["files"]["step.onnx"] == {
        "bytes": 7,
        "sha256": "170df6144b15bdf1dced878e45ebdb2dac95d0b1a3bc68459434bbbd88681157",
    }


def test_the_newest_version(folder):
    (folder.parent / "10").mkdir()
    (folder.parent / "11.part").mkdir()
    assert newest(folder.parent) == folder.parent / "10"
    assert newest(folder) == folder
    assert newest(folder / "nothing") == folder / "nothing"


@pytest.mark.parametrize("name", ["../step.onnx", "/etc/hostname", "a/b", ".."])
def test_a_file_elsewhere_is_not_read(folder, name):
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["files"] = {name: manifest["files"]["step.onnx"]}
    path.write_text(json.dumps(manifest))
    with pytest.raises(ValueError, match="should name files beside it|not complete"):
        read_version(folder)
