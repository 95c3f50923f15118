import gzip
import os
import subprocess
import sys
import threading

import pytest

from tests.cli.fakes import give_stdin, translate
from zoo.cli import main, texts

pytestmark = [pytest.mark.once, pytest.mark.usefixtures("task")]


def test_packed_input_is_read(tmp_path, capsys):
    path = tmp_path / "in"  # by what it holds, whatever its name
    path.write_bytes(gzip.compress("a\nü".encode()))
    assert translate("--input", path) == 0
    assert capsys.readouterr().out == "A\nÜ\n"
    path.write_bytes(path.read_bytes()[:-4])
    assert translate("--input", path) == 2
    assert f"{path} is damaged, or not gzip" in capsys.readouterr().err


def test_a_named_pipe_is_read_once(tmp_path, capsys):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=["a\nb\n"], daemon=True)
    writer.start()
    assert translate("--input", path) == 0
    assert capsys.readouterr().out == "A\nB\n"


def test_every_command_has_the_prompt_in_a_terminal(capsys, monkeypatch):
    asked = []
    monkeypatch.setattr(texts, "answer_typed_lines", asked.append)
    for stream in (sys.stdin, sys.stdout):
        monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    assert main(["classify", "fake"]) == 0
    [work] = asked
    assert work([("a dog", "line 1"), (" ", "line 2")]) == ["A DOG", ""]
    assert main(["classify", "fake", "a cat"]) == 0
    assert len(asked) == 1 and capsys.readouterr().out == "A CAT\n"


def test_lines_are_counted(capsys, monkeypatch):
    assert translate("a", "b") == 0
    assert "zoo: 2 lines in " in capsys.readouterr().err
    give_stdin(monkeypatch, b"")
    assert translate() == 0
    assert "nothing to do: the input is empty" in capsys.readouterr().err


def test_two_processes_do_not_mix_one_output(tmp_path):
    path = tmp_path / "out"
    code = (
        "import sys; from zoo.cli.texts import open_output\n"
        "with open_output(sys.argv[1]) as file:\n"
        "    file.write('half'); file.flush(); print('ready', flush=True)\n"
        "    sys.stdin.read(); file.write(' and half')"
    )
    command = [sys.executable, "-c", code, str(path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, **pipes) as other:
        assert other.stdout.readline() == b"ready\n"
        assert translate("mine", "--output", path) == 0
        assert path.read_text() == "MINE\n"
        other.communicate()
    assert path.read_text() == "half and half" and os.listdir(tmp_path) == ["out"]


# === Standard streams ===

_SCRIPT = """
import sys
from pathlib import Path
from unittest import mock
import zoo  # before the stand-in, with which nothing could be registered
keras = sys.modules["keras"] = sys.modules["keras_hub"] = mock.MagicMock()
keras.config.backend.return_value = "jax"  # any that zoo knows
from zoo import presets
from zoo.presets import loading
class Task:
    def translate(self, texts, **_): return [text.upper() for text in texts]
presets.find, loading.load = Path, lambda name: Task()
from zoo.cli import main
sys.exit(main(["translate", "fake", "--batch-size", "1", *sys.argv[1:]]))
"""


@pytest.mark.parametrize(
    "shell, code, out, err",
    [
        ('"$@" a >&-', 1, "", "zoo: error: not writable"),
        ('"$@" a 2>&-', 0, "A\n", None),
        ('"$@" a >&- 2>&- <&-', 1, "", None),
        ('"$@" <&-', 0, "", "zoo: nothing to do: the input is empty"),
        ('"$@" a >/dev/full', 1, "", "zoo: error: [Errno 28] No space left on device"),
        ('"$@" a 2>/dev/full', 0, "A\n", None),
        ('"$@" a | true; exit ${PIPESTATUS[0]}', 141, "", None),
    ],
)
def test_standard_streams_that_are_closed_or_full(tmp_path, shell, code, out, err):
    command = ["bash", "-c", shell, "bash", sys.executable, "-c", _SCRIPT]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (code, out), done.stderr
    assert "Traceback" not in done.stderr and "Exception" not in done.stderr
    assert err is None or done.stderr.splitlines()[-1].startswith(err)
    assert not list(tmp_path.glob("*.part"))
