"""Completion by TAB, as a shell asks for it."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.presets_for_tests import make_preset
from zoo.cli import main

pytestmark = pytest.mark.backend_free

HOME = Path(__file__).parents[2]
# Runs zoo where Keras cannot be imported.
ZOO = f"""\
#!/bin/sh
exec {sys.executable} -c '
import sys
sys.modules["keras"] = None
from zoo.cli import main
sys.exit(main())' "$@"
"""
# Asks as bash does when TAB is pressed at the end of the line $1.
ASK = """
eval "$(zoo completion bash)"
COMP_LINE=$1 COMP_POINT=${#1} COMP_WORDS=($1) COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_python_argcomplete zoo
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def scripts(capsys):
    def script(shell):
        assert main(["completion", shell]) == 0
        return capsys.readouterr().out

    return script


@pytest.fixture
def environment(tmp_path, monkeypatch):
    """A folder of the user's, with `zoo` on the path and one preset in the cache."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "zoo").write_text(ZOO)
    (tmp_path / "bin" / "zoo").chmod(0o755)
    make_preset(tmp_path / "cache" / "presets" / "tiny", name="tiny")
    (tmp_path / "work" / "savings").mkdir(parents=True)
    (tmp_path / "work" / "corpus.en").write_text("a\n")
    monkeypatch.setenv("ZOO_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    monkeypatch.setenv("PYTHONPATH", str(HOME))
    monkeypatch.chdir(tmp_path / "work")


def need(shell):
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")


@pytest.mark.parametrize(
    "shell, check",
    [("bash", ["bash", "-n"]), ("zsh", ["zsh", "-n"]), ("fish", ["fish", "-n"])],
)
def test_the_script_parses(shell, check, scripts, tmp_path):
    need(shell)
    script = tmp_path / "script"
    script.write_text(scripts(shell))
    assert "zoo" in script.read_text()
    done = subprocess.run([*check, script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    script.write_text(script.read_text() + "\nif (\n")
    assert subprocess.run([*check, script], capture_output=True).returncode


def test_an_unknown_shell(capsys):
    assert main(["completion", "tcsh"]) == 2
    assert "'tcsh' (choose from" in capsys.readouterr().err


@pytest.mark.parametrize(
    "line, expected",
    [
        ("zoo tr", "train translate"),
        (
            "zoo translate luong_l",
            "luong_local luong_local_m luong_local_tatoeba luong_location",
        ),
        ("zoo translate --preset lstmn --preset seq", "seq2seq"),
        ("zoo translate ti", "tiny"),  # in the cache
        ("zoo tag ", "birnn"),  # the only one that tags
        ("zoo info lst", "lstm lstmn lstmn_lm lstmn_sentiment"),
        ("zoo export ba", "bahdanau bahdanau_tatoeba"),
        ("zoo export bahdanau ", "corpus.en savings/"),
        ("zoo serve bahdanau seq", "seq2seq"),
        ("zoo train show", "show_attend_tell show_attend_tell_text"),
        ("zoo train luong_local --train cor", "corpus.en"),
        (
            "zoo evaluate luong_local --data ",
            "dates multi30k ptb tatoeba ud_english_ewt",
        ),
        ("zoo evaluate luong_local --test ", "corpus.en savings/"),
        ("zoo translate sav", "savings/"),  # a run's folder is a preset, too
        ("zoo translate luong_local --input cor", "corpus.en"),
        ("zoo translate luong_local --backend ", "jax tensorflow torch"),
        ("zoo translate luong_local --alig", "--alignments"),
        ("zoo completion ", "bash fish zsh"),
    ],
)
def test_bash(line, expected, environment):
    need("bash")
    command = ["bash", "--norc", "-c", ASK, "bash", line]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stderr == ""
    assert sorted(done.stdout.split()) == expected.split()


def test_fish(environment, tmp_path, monkeypatch):
    need("fish")
    monkeypatch.setenv("HOME", str(tmp_path))
    ask = "zoo completion fish | source; complete -C 'zoo translate luong_l'"
    done = subprocess.run(["fish", "-c", ask], capture_output=True, text=True)
    names = ["luong_local", "luong_local_m", "luong_local_tatoeba", "luong_location"]
    assert sorted(done.stdout.split()) == names, done.stderr
