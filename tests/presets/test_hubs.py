import sys
import types
from pathlib import Path

import huggingface_hub
import pytest

from tests.presets_for_tests import make_preset
from zoo.presets import find, upload

pytestmark = pytest.mark.backend_free


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


def test_malformed_handles(tmp_path):
    with pytest.raises(ValueError):
        find("hf://ada/../x")
    make_preset(tmp_path / "tiny")
    for handle in ("hf://ada", "ada/tiny", "kaggle://a/b/keras/c"):
        with pytest.raises(ValueError, match="must be hf://user/name, received"):
            upload(tmp_path / "tiny", handle)


def test_a_preset_and_its_page_are_one_commit(tmp_path, monkeypatch):
    card = make_preset(tmp_path / "tiny")
    (tmp_path / "tiny" / "notes.txt").write_text("mine")
    calls = []

    class Api:
        def create_repo(self, name, private, exist_ok):
            calls.append((name, private))

        def upload_folder(self, repo_id, folder_path, **options):
            files = [p for p in Path(folder_path).rglob("*") if p.is_file()]
            content = {
                p.relative_to(folder_path).as_posix(): p.read_bytes() for p in files
            }
            calls.append((repo_id, content, options))
            return types.SimpleNamespace(commit_url="address")

    monkeypatch.setattr(huggingface_hub, "HfApi", Api)
    assert upload(tmp_path / "tiny", "hf://ada/tiny", private=True) == "address"
    created, (name, files, options) = calls
    assert created == ("ada/tiny", True) and name == "ada/tiny"
    assert 'zoo.load("hf://ada/tiny")' in files.pop("README.md").decode()
    names = ["card.json", *card.files]
    assert files == {name: (tmp_path / "tiny" / name).read_bytes() for name in names}
    # What an earlier version had beside them is deleted.
    assert options["delete_patterns"] == ["*.json", "*.h5", "assets/*"]
