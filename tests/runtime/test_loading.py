import pytest

from zoo import runtime
from zoo.runtime import litert, onnx
from zoo.serving.manifest import write_manifest

pytestmark = pytest.mark.backend_free


@pytest.mark.parametrize("form", ["onnx", "litert"])
def test_the_runtime_of_the_format_is_taken(tmp_path, monkeypatch, form):
    for name, module in (("onnx", onnx), ("litert", litert)):
        monkeypatch.setattr(module, "load", lambda *given, name=name: (name, *given))
    (tmp_path / "3").mkdir()
    write_manifest(tmp_path / "3", {"task": "", "settings": {}, "graphs": {}}, form)
    assert runtime.load(tmp_path) == (form, tmp_path / "3", 1)  # the newest
    assert runtime.load(tmp_path / "3", threads=2) == (form, tmp_path / "3", 2)


def test_a_folder_of_neither_format(tmp_path):
    with pytest.raises(ValueError, match="--format onnx` or `litert`, with a manifest"):
        runtime.load(tmp_path)
