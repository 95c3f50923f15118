import gzip
import os
import subprocess
import sys
import threading

import pytest

from tests.cli.fakes import give_stdin, translate
from tests.marks import long
from zoo.cli import main, texts
from zoo.cli.common import BadInput
from zoo.cli.texts import open_output

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


def test_who_types_is_asked_and_answered_line_by_line(task, capsys, monkeypatch):
    give_stdin(monkeypatch, b"a\nb\n")
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    assert translate() == 0
    assert [call["texts"] for call in task.calls] == [["a"], ["b"]]
    captured = capsys.readouterr()
    assert captured.out == "A\nB\n"
    assert "Ctrl-D" in captured.err and "> " not in captured.out


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


def test_empty_input_is_told(capsys, monkeypatch, tmp_path):
    give_stdin(monkeypatch, b"")
    assert translate() == 0
    assert "nothing to do: standard input is empty" in capsys.readouterr().err
    (tmp_path / "in").touch()
    assert translate("--input", tmp_path / "in") == 0
    assert f"nothing to do: {tmp_path / 'in'} is empty" in capsys.readouterr().err


def test_lines_are_counted(capsys):
    assert translate("a") == 0
    assert "zoo: 1 line in " in capsys.readouterr().err
    assert translate("a", "b") == 0
    assert "zoo: 2 lines in " in capsys.readouterr().err


def test_two_do_not_write_one_file(tmp_path):
    path = tmp_path / "out"
    with open_output(path) as first:
        first.write("whole\n")
        with pytest.raises(BadInput, match="another process is writing to .*out.part"):
            with open_output(path):
                pytest.fail("opened")
    assert path.read_text() == "whole\n" and os.listdir(tmp_path) == ["out"]


def test_another_process_is_kept_out_until_it_is_killed(tmp_path):
    path = tmp_path / "out"
    code = (
        "import sys, time; from zoo.cli.texts import open_output\n"
        "with open_output(sys.argv[1]) as file:\n"
        "    file.write('half'); file.flush(); print('ready', flush=True)\n"
        "    time.sleep(99)"
    )
    command = [sys.executable, "-c", code, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"ready\n"
        with pytest.raises(BadInput, match="another process"):
            with open_output(path):
                pytest.fail("opened")
        other.kill()
    with open_output(path) as file:
        file.write("mine\n")
    assert path.read_text() == "mine\n" and os.listdir(tmp_path) == ["out"]


def test_a_new_output_has_the_mode_of_any_new_file(tmp_path):
    (tmp_path / "other").touch()
    assert translate("a", "--output", tmp_path / "out") == 0
    modes = [(tmp_path / name).stat().st_mode for name in ("out", "other")]
    assert modes[0] == modes[1]


# === Standard streams ===

_SCRIPT = """
import sys
from pathlib import Path
from zoo import presets
from zoo.presets import loading
class Task:
    def translate(self, texts, **_): return [text.upper() for text in texts]
presets.find, loading.load = Path, lambda name: Task()
from zoo.cli import main
sys.exit(main(["translate", "fake", "--batch-size", "1", *sys.argv[1:]]))
"""
# Keras takes seconds to start, eight times.
_WITHOUT_KERAS = """
import sys
from unittest import mock
import zoo  # before the stand-in, with which nothing could be registered
keras = sys.modules["keras"] = sys.modules["keras_hub"] = mock.MagicMock()
keras.config.backend.return_value = "jax"  # any that zoo knows
"""


@pytest.mark.parametrize(
    "shell, code, out, err",
    [
        ('"$@" a >&-', 1, "", "zoo: error: [Errno 9] Bad file descriptor"),
        ('"$@" a 2>&-', 0, "A\n", None),
        ('"$@" a --output out >&- 2>&-', 0, "", None),
        ('"$@" a >&- 2>&- <&-', 1, "", None),
        ('"$@" <&-', 0, "", "zoo: nothing to do: standard input is empty"),
        ('"$@" </dev/null', 0, "", "zoo: nothing to do: standard input"),
        ('"$@" a >/dev/full', 1, "", "zoo: error: [Errno 28] No space left on device"),
        ('"$@" a 2>/dev/full', 0, "A\n", None),
    ],
)
def test_standard_streams_that_are_closed_or_full(tmp_path, shell, code, out, err):
    check_streams(tmp_path, _WITHOUT_KERAS + _SCRIPT, shell, code, out, err)


@pytest.mark.parametrize(
    "shell, code, out",
    [long('"$@" a 2>&-', 0, "A\n"), ('"$@" a >&- 2>&- <&-', 1, "")],
)
def test_a_backend_starts_with_closed_streams(tmp_path, shell, code, out):
    check_streams(tmp_path, _SCRIPT, shell, code, out, None)


def check_streams(tmp_path, script, shell, code, out, err):
    command = ["bash", "-c", shell, "bash", sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (code, out), done.stderr
    last = done.stderr.splitlines()[-1:]
    assert last == [] if err is None else last[0].startswith(err)
    assert "Traceback" not in done.stderr and "Exception" not in done.stderr
    if "--output" in shell:
        assert (tmp_path / "out").read_text() == "A\n"
