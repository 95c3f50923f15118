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


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_parses(shell, capsys, tmp_path):
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert "zoo" in script
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=script, text=True, check=True)


@pytest.mark.skipif(not shutil.which("bash"), reason="bash is not installed")
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
        ("zoo export bahdanau ", "corpus.en savings/"),
        ("zoo serve bahdanau seq", "seq2seq"),
        ("zoo train show", "show_attend_tell show_attend_tell_text"),
        ("zoo train luong_local --train cor", "corpus.en"),
        (
            "zoo evaluate luong_local --data ",
            "dates multi30k ptb sst tatoeba ud_english_ewt",
        ),
        ("zoo translate sav", "savings/"),  # a run's folder is a preset, too
        ("zoo translate luong_local --input cor", "corpus.en"),
        ("zoo translate luong_local --backend ", "jax tensorflow torch"),
        ("zoo translate luong_local --alig", "--alignments"),
        ("zoo completion ", "bash fish zsh"),
    ],
)
def test_bash(line, expected, environment):
    command = ["bash", "--norc", "-c", ASK, "bash", line]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stderr == ""
    assert sorted(done.stdout.split()) == expected.split()
