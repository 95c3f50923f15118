import os
import subprocess
import sys
import warnings

import pytest

from tests.cli.fakes import FakeTask, failing, load, translate
from zoo import presets
from zoo.cli import main
from zoo.data import CorpusError, DownloadError
from zoo.data.corpus import MissingFileError

pytestmark = pytest.mark.once


def test_backend_cannot_change_under_a_running_keras(task, capsys):
    import keras

    running = keras.config.backend()
    other = "jax" if running != "jax" else "torch"
    assert translate("--backend", other, "a") == 2
    assert f"already runs on {running}" in capsys.readouterr().err
    assert translate("--backend", running, "a") == 0


@pytest.mark.parametrize(
    "words, backend, message",
    [
        (["translate", "nosuch", "a"], "torch", "unknown preset"),
        (["explore", "nosuch"], "torch", "unknown preset"),
        (["translate", "luong_local", "a"], "nosuch", "the backend 'nosuch'"),
    ],
)
def test_what_is_unknown_imports_no_keras(words, backend, message):
    script = (
        f"import sys; from zoo.cli import main; main({words}); "
        "print('keras' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        env={**os.environ, "KERAS_BACKEND": backend},
    )
    assert done.stdout == "False\n" and message in done.stderr


@pytest.mark.parametrize(
    "error, code, message",
    [
        (ValueError("unknown preset"), 2, "unknown preset"),
        (CorpusError("damaged"), 2, "damaged"),
        (MissingFileError("missing"), 2, "missing"),
        (presets.PresetError("x.h5 is\naltered"), 1, "x.h5 is altered"),
        (RuntimeError("boom"), 1, "RuntimeError: boom"),
        (OSError("disk"), 1, "disk"),
        (FileNotFoundError(2, "No such file", "runs/a"), 2, "No such file: 'runs/a'"),
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


def test_a_reader_that_goes_away():
    """As in `zoo list | head -1`: no traceback, no message."""
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
