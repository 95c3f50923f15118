import os
import subprocess
import sys
import warnings

import pytest

import zoo
from tests.cli.fakes import FakeTask, failing, load, translate
from zoo import cli, presets
from zoo.cli import main
from zoo.cli.common import COMMANDS
from zoo.data import CorpusError, DownloadError
from zoo.data.corpus import MissingFileError

pytestmark = pytest.mark.once


# === The menu ===


@pytest.mark.parametrize(
    "line, name, words",
    [
        ("translate P --beam-size 2 a b", "texts", ["a", "b"]),
        ("translate P a -- -x", "texts", ["a", "-x"]),
        ("serve P --port 1 Q", "preset", ["P", "Q"]),
        ("export P --format onnx F", "out", "F"),
    ],
)
def test_options_may_stand_anywhere(line, name, words):
    assert getattr(cli._parse(line.split()), name) == words


def printed(capsys, *arguments):
    assert main(list(arguments)) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def test_the_menu_has_each_command(capsys):
    menu = printed(capsys, "--help")
    for name, command in COMMANDS.items():
        assert f" {name} {command.help} " in " ".join(menu.split())
    assert printed(capsys) == menu
    assert printed(capsys, "--version") == f"{zoo.__version__}\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_ends_with_its_example(name, capsys):
    lines = printed(capsys, name, "--help").splitlines()
    assert lines[-1].strip() == COMMANDS[name].example


@pytest.mark.parametrize("words", ["trnslate", "translate", "info", "list more"])
def test_bad_commands(words, capsys):
    assert main(words.split()) == 2
    err = capsys.readouterr().err
    assert err.startswith("zoo: error: ") and err.count("\n") == 1
    assert words != "trnslate" or "did you mean translate" in err


# === Completion, as bash asks for it ===

ASK = """
eval "$(zoo completion bash)"
COMP_LINE=$1 COMP_POINT=${#1} COMP_WORDS=($1) COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_python_argcomplete zoo
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.mark.parametrize(
    "line, expected",
    [
        ("zoo tr", "train translate"),
        (
            "zoo translate luong_local_t",
            "luong_local_tatoeba luong_local_tatoeba_de_en",
        ),
        ("zoo serve bahdanau seq", "seq2seq"),
        ("zoo train show", "show_attend_tell"),
        ("zoo translate luong_local --input cor", "corpus.en"),
        (
            "zoo evaluate luong_local --data ",
            "dates multi30k ptb sst tatoeba ud_english_ewt",
        ),
        ("zoo translate luong_local --backend ", "jax tensorflow torch"),
        ("zoo translate luong_local --alig", "--alignments"),
    ],
)
def test_bash_completes(line, expected, tmp_path, monkeypatch):
    (tmp_path / "corpus.en").write_text("a\n")
    (tmp_path / "zoo").write_text(f'#!/bin/sh\nexec {sys.executable} -m zoo "$@"\n')
    (tmp_path / "zoo").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    monkeypatch.chdir(tmp_path)
    command = ["bash", "--norc", "-c", ASK, "bash", line]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stderr == ""
    assert sorted(done.stdout.split()) == expected.split()


# === Errors ===


@pytest.mark.parametrize(
    "words, backend, message",
    [
        (["translate", "nosuch", "a"], "torch", "unknown preset"),
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


def test_warnings_are_one_line_and_debug_shows_the_traceback(monkeypatch, capsys):
    def make():
        warnings.warn("not\nverified", stacklevel=1)
        return FakeTask()

    load(monkeypatch, make)
    assert translate("a") == 0
    assert "zoo: warning: not verified\n" in capsys.readouterr().err
    monkeypatch.setenv("ZOO_DEBUG", "1")
    load(monkeypatch, failing(RuntimeError("boom")))
    with pytest.raises(RuntimeError, match="boom"):
        translate("a")
