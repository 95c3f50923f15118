import sys
import types

import pytest

from tests.presets_for_tests import make_preset
from zoo.presets import find

pytestmark = pytest.mark.backend_free


@pytest.fixture
def preset(tmp_path):
    make_preset(tmp_path / "tiny")
    return tmp_path / "tiny"


@pytest.mark.parametrize(
    "handle, module, function",
    [
        ("hf://ada/tiny", "huggingface_hub", "snapshot_download"),
        ("kaggle://ada/tiny/keras/en_de", "kagglehub", "model_download"),
    ],
)
def test_handles(monkeypatch, preset, handle, module, function):
    asked = []

    def fetch(name, **_):
        asked.append(name)
        return str(preset)

    monkeypatch.setitem(sys.modules, module, types.SimpleNamespace(**{function: fetch}))
    assert find(handle) == preset
    assert asked == [handle.split("://")[1]]


@pytest.mark.parametrize(
    "handle", ["hf://ada", "hf://ada/../x", "hf://", "kaggle://a/b", "kaggle://a/b/c//"]
)
def test_malformed_handle(handle):
    with pytest.raises(ValueError, match="received '(hf|kaggle)://"):
        find(handle)
