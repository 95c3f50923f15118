import os
import subprocess
import sys
import warnings

import pytest

from tests.cli.fakes import FakeTask, failing, load, translate
from zoo import presets
from zoo.cli import main
from zoo.data import DownloadError

pytestmark = pytest.mark.once


def test_backend_cannot_change_under_a_running_keras(task, capsys):
    import keras

    running = keras.config.backend()
    other = "jax" if running != "jax" else "torch"
    before = os.environ.get("KERAS_BACKEND")
    assert translate("--backend", other, "a") == 2
    assert f"already runs on {running}" in capsys.readouterr().err
    assert os.environ.get("KERAS_BACKEND") == before
    assert translate("--backend", running, "a") == 0


def test_the_process_is_tuned_before_a_preset_is_loaded(monkeypatch):
    from zoo.training.fast import process

    order = []
    monkeypatch.setattr(process, "tune_process", lambda: order.append("tuned"))
    load(monkeypatch, lambda: order.append("loaded") or FakeTask())
    assert translate("a") == 0
    assert order == ["tuned", "loaded"]


@pytest.mark.parametrize("words", [["translate", "nosuch", "a"], ["explore", "nosuch"]])
def test_an_unknown_preset_imports_no_keras(words):
    script = (
        f"import sys; from zoo.cli import main; code = main({words}); "
        "print(code, 'keras' in sys.modules)"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout.split() == ["2", "False"], done.stderr


def test_an_unknown_backend_is_bad_input():
    command = [sys.executable, "-m", "zoo", "translate", "--preset", "luong_local", "a"]
    environment = {**os.environ, "KERAS_BACKEND": "nosuch"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 2 and "nosuch" in done.stderr


@pytest.mark.parametrize(
    "error, code, message",
    [
        (ValueError("unknown preset"), 2, "unknown preset"),
        (presets.PresetError("x.h5 is\naltered"), 1, "x.h5 is altered"),
        (RuntimeError("boom"), 1, "RuntimeError: boom"),
        (KeyError("key"), 1, "KeyError: 'key'"),
        (OSError("disk"), 1, "disk"),
        (DownloadError("no network"), 1, "no network"),  # a ValueError too
        (ImportError("no sacrebleu"), 1, "no sacrebleu"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_errors_are_one_line_and_a_code(monkeypatch, capsys, error, code, message):
    monkeypatch.delenv("ZOO_DEBUG", raising=False)
    load(monkeypatch, failing(error))
    assert translate("a") == code
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("zoo: error: ") and message in last


def test_warnings_are_one_line(monkeypatch, capsys):
    def make():
        warnings.warn("not\nverified", stacklevel=1)
        return FakeTask()

    load(monkeypatch, make)
    assert translate("a") == 0
    assert "zoo: warning: not verified\n" in capsys.readouterr().err


def test_debug_shows_the_traceback(monkeypatch):
    monkeypatch.setenv("ZOO_DEBUG", "1")
    load(monkeypatch, failing(RuntimeError("boom")))
    with pytest.raises(RuntimeError, match="boom"):
        translate("a")


def test_reader_that_goes_away():
    """As in `zoo translate ... | head -1`: no traceback, no message."""
    code = (
        "import sys; from zoo import presets; from zoo.presets import loading\n"
        "class Task:\n"
        "    def translate(self, texts, **_): return texts\n"
        "from pathlib import Path\n"
        "presets.find, loading.load = Path, lambda name: Task()\n"
        "from zoo.cli import main\n"
        "sys.exit(main(['translate', '--preset', 'fake', '--batch-size', '1']))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdout.close()
    _, err = process.communicate(b"text\n" * 100)
    assert process.returncode == 141
    assert b"Traceback" not in err and b"Exception" not in err and b"error" not in err


def test_a_listing_whose_reader_goes_away():
    code = "import sys; from zoo.cli import main; sys.exit(main(['list', '--wide']))"
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.stdout.close()
    _, err = process.communicate()
    assert (process.returncode, err) == (141, b"")


@pytest.mark.parametrize("arguments", [["trnslate"], ["translate"], ["info"]])
def test_bad_command(arguments, capsys):
    assert main(arguments) == 2
    err = capsys.readouterr().err
    assert err.startswith("zoo: error: ") and err.count("\n") == 1
