import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from zoo.cli import explore, main
from zoo.explorer import folder as folders
from zoo.presets import list_presets, pending

pytestmark = pytest.mark.backend_free

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def served(monkeypatch):
    """Records the arguments of the server, which is not started."""
    pytest.importorskip("uvicorn", reason="needs the extra `explore`")
    from zoo.explorer import server

    calls = []
    monkeypatch.setattr(server, "serve", lambda *arguments: calls.append(arguments))
    monkeypatch.setattr(explore, "start_keras", lambda: None)
    monkeypatch.setattr(explore, "choose_backend", lambda backend: None)
    return calls


def test_every_bundled_preset_is_served_by_default(served, capsys):
    assert main(["explore"]) == 0
    [(presets, host, port, site)] = served
    assert (host, port, site) == ("127.0.0.1", 8650, None)
    names = [name for name, _ in presets]
    assert names == [c.name for c in list_presets() if not pending(c.name)]
    assert {"luong_local", "dates", "birnn", "lstmn_lm", "show_attend_tell"} <= set(
        names
    )
    errors = capsys.readouterr().err
    assert "http://127.0.0.1:8650" in errors and "left out" not in errors


def test_presets_that_are_not_downloaded_are_left_out(served, capsys, monkeypatch):
    later = ["bahdanau", "transformer"]
    monkeypatch.setattr("zoo.presets.pending", lambda name: name in later)
    assert main(["explore"]) == 0
    [(presets, *_)] = served
    names = [card.name for card in list_presets()]
    assert [name for name, _ in presets] == [n for n in names if n not in later]
    errors = " ".join(capsys.readouterr().err.split())
    assert "not downloaded yet: bahdanau, transformer; zoo explore NAME" in errors


def test_chosen_presets_are_served(served, capsys):
    options = ["--host", "::1", "--port", "9", "--site", "https://example.org"]
    assert main(["explore", "dates", "bahdanau", *options]) == 0
    [(presets, *others)] = served
    assert [name for name, _ in presets] == ["dates", "bahdanau"]
    assert others == ["::1", 9, "https://example.org"]
    errors = capsys.readouterr().err
    assert "http://[::1]:9" in errors and "warning" not in errors


def test_the_page_is_opened_if_asked_for(served, monkeypatch):
    opened = []

    class Timer:
        def __init__(self, seconds, function, arguments):
            function(*arguments)

        start = staticmethod(lambda: None)

    monkeypatch.setattr("threading.Timer", Timer)
    monkeypatch.setattr("webbrowser.open", opened.append)
    assert main(["explore", "dates"]) == 0 and not opened
    assert main(["explore", "dates", "--open", "--port", "9"]) == 0
    assert opened == ["http://127.0.0.1:9"]


def test_another_host_is_warned_of(served, capsys):
    assert main(["explore", "dates", "--host", "0.0.0.0"]) == 0
    assert "whoever can reach 0.0.0.0 can use" in " ".join(
        capsys.readouterr().err.split()
    )


def test_names_are_checked_before_keras_starts():
    """Under any backend, and with the backend still to be chosen."""
    pytest.importorskip("uvicorn", reason="needs the extra `explore`")
    code = (
        "import sys\nfrom zoo.cli import main\n"
        "code = main(['explore', 'none', '--backend', 'jax'])\n"
        "print(code, 'keras' in sys.modules)"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True
    )
    assert done.stdout.split() == ["2", "False"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["birnn", "--export", "x"], "birnn cannot translate"),
        (["show_attend_tell", "--export", "x"], "show_attend_tell cannot translate"),
        (["dates", "dates"], "model names must be unique"),
        (["dates", "--site", "javascript:x"], "--site should be an address"),
        (["dates", "--export", "x", "--port", "9"], "received also --port"),
        (["none"], "unknown preset"),
    ],
)
def test_bad_input_is_named(served, capsys, words, message):
    assert main(["explore", *words]) == 2
    assert message in " ".join(capsys.readouterr().err.split())
    assert not served


def test_an_export_runs_under_tensorflow(tmp_path, monkeypatch, capsys):
    """In this process if that is its backend, else in another with the same words."""
    calls = []
    monkeypatch.setattr("zoo.serving.folder.require_onnx", lambda: None)
    monkeypatch.setattr(explore, "needs_process", lambda: True)
    monkeypatch.setattr(
        explore, "run_under_tensorflow", lambda words: calls.append(words) or 5
    )
    site = ["--site", "https://example.org"]
    assert main(["explore", "dates", "--export", str(tmp_path / "a"), *site]) == 5
    [words] = calls
    assert words[:-1] == ["explore", "--export", str(tmp_path / "a"), *site]
    assert Path(words[-1]).name == "dates"

    def write_folder(path, presets, site):
        calls.append((path, [name for name, _ in presets], site))
        return [{"name": "dates", "bytes": 1_230_000, "dtype": "float16"}]

    monkeypatch.setattr(explore, "needs_process", lambda: False)
    monkeypatch.setattr(folders, "write_folder", write_folder)
    assert main(["explore", "--export", str(tmp_path / "b")]) == 0
    assert calls[1] == (str(tmp_path / "b"), list(explore.EXPORTED), None)
    captured = capsys.readouterr()
    assert captured.out == f"{tmp_path / 'b'}\n"
    assert "dates: 1.2 MB (float16)" in captured.err


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
