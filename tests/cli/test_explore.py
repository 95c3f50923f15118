import json
import os
import subprocess
import sys
import webbrowser
from pathlib import Path

import pytest

from zoo.cli import explore, main
from zoo.explorer import folder
from zoo.serving.export.manifest import write_manifest

pytestmark = pytest.mark.backend_free

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def cache(monkeypatch, tmp_path):
    """An empty cache folder; models are exported to it without being computed."""
    monkeypatch.setenv("ZOO_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(
        "zoo.serving.export.export_folder.require_packages", lambda form: None
    )
    monkeypatch.setattr(explore, "needs_process", lambda: False)

    def export(preset, folder):
        write_manifest(folder, {"dtype": "float16", "graphs": {}})

    monkeypatch.setattr(explore, "_export", export)
    return tmp_path / "cache" / "explorer"


@pytest.fixture
def served(monkeypatch, cache):
    """Records what is served and where, by a server that stops at once."""
    calls = []

    class Server:
        def __init__(self, *arguments):
            self.folder, *self.address = arguments

        def __enter__(self):
            return self

        def __exit__(self, *error):
            pass

        def serve_forever(self):
            listed = json.loads((self.folder / "models.json").read_text())
            assert (self.folder / "index.html").is_file()
            calls.append((listed, *self.address))

    monkeypatch.setattr(folder, "static_server", Server)
    return calls


def names(listed):
    return [model["info"]["name"] for model in listed["models"]]


def test_three_presets_are_served_by_default(served, capsys):
    assert main(["explore"]) == 0
    [(listed, host, port)] = served
    assert names(listed) == list(explore.EXPLORED)
    assert (host, port) == ("127.0.0.1", 8650)
    captured = capsys.readouterr()
    assert "http://127.0.0.1:8650" in captured.err and captured.out == ""


def test_a_model_is_exported_once(served, cache, capsys):
    assert main(["explore", "dates"]) == 0
    assert "exporting dates" in capsys.readouterr().err
    site = ["--site", "https://example.org"]
    options = ["--host", "localhost", "--port", "9", *site]
    assert main(["explore", "dates", "luong_local", *options]) == 0
    errors = capsys.readouterr().err
    assert "exporting luong_local to" in errors
    assert "http://localhost:9" in errors and "warning" not in errors
    listed, *address = served[1]
    assert names(listed) == ["dates", "luong_local"] and address == ["localhost", 9]
    assert listed["models"][1]["info"]["page"].startswith("https://example.org/")
    assert len(list(cache.glob("*/*/manifest.json"))) == 2
    assert not list(cache.glob("*/.export-*"))


def test_the_page_is_opened_if_asked_for(served, monkeypatch):
    opened = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    assert main(["explore", "dates"]) == 0 and not opened
    assert main(["explore", "dates", "--open", "--port", "9"]) == 0
    assert opened == ["http://127.0.0.1:9"]


def test_another_host_is_warned_of(served, capsys):
    assert main(["explore", "dates", "--host", "0.0.0.0"]) == 0
    errors = " ".join(capsys.readouterr().err.split())
    assert "whoever can reach 0.0.0.0 can fetch" in errors


def test_a_port_in_use_is_named_before_anything_is_exported(cache, capsys):
    with folder.static_server(ROOT, port=0) as server:
        port = str(server.server_port)
        assert main(["explore", "dates", "--port", port]) == 2
    errors = " ".join(capsys.readouterr().err.split())
    assert f":{port} cannot be served: " in errors
    assert not cache.exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["birnn"], "birnn cannot translate; the presets for it are"),
        (["show_attend_tell", "--export", "x"], "show_attend_tell cannot translate"),
        (["dates", "dates"], "model names must be unique"),
        (["none"], "unknown preset"),
    ],
)
def test_bad_input_is_named(served, capsys, words, message):
    assert main(["explore", *words]) == 2
    assert message in " ".join(capsys.readouterr().err.split())
    assert not served


def test_an_export_runs_under_tensorflow(cache, tmp_path, monkeypatch, capsys):
    """In this process if that is its backend, else in another with the same cache."""
    assert main(["explore", "--export", str(tmp_path / "b")]) == 0
    captured = capsys.readouterr()
    assert captured.out == f"{tmp_path / 'b'}\n"
    assert "luong_local: 0.0 MB (float16)" in captured.err
    listed = json.loads((tmp_path / "b" / "models.json").read_text("utf-8"))
    assert names(listed) == list(explore.EXPLORED)
    calls = []
    monkeypatch.setattr(explore, "needs_process", lambda: True)
    monkeypatch.setattr(
        explore,
        "run_under_tensorflow",
        lambda words, stdout: calls.append(words) or 5,
    )
    assert main(["explore", "dates", "--export", str(tmp_path / "a")]) == 2
    assert "dates cannot be exported" in capsys.readouterr().err
    [words] = calls
    assert words[:2] == ["explore", "--export"]
    assert [Path(word).name for word in words[3:]] == ["dates"]


@pytest.mark.long
def test_a_run_is_exported(tmp_path):
    """Whatever the backend, by the command itself."""
    for package in ("tf2onnx", "onnxruntime"):
        pytest.importorskip(package, reason="an export needs the extra `onnx`")
    code = "import sys\nfrom tests.presets_for_tests import save_translator\n"
    code += "from pathlib import Path\nsave_translator(Path(sys.argv[1]))"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    preset, page = tmp_path / "mine", tmp_path / "page"
    command = [sys.executable, "-c", code, str(preset)]
    subprocess.run(command, env=environment, check=True)
    command = [sys.executable, "-m", "zoo", "explore", str(preset), "--export", page]
    subprocess.run(command, env=environment, check=True)
    [entry] = json.loads((page / "models.json").read_text("utf-8"))["models"]
    assert entry["info"]["name"] == "mine"
    assert entry["info"]["attention"] == "local"
