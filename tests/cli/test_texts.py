import gzip
import io
import os
import subprocess
import sys
import threading
import types

import pytest

from tests.cli.fakes import give_stdin, translate
from zoo.cli import texts

pytestmark = [pytest.mark.once, pytest.mark.usefixtures("task")]


def test_every_line_is_kept_in_order(capsys, monkeypatch):
    text = "eins\n\n  \r\nzwei\r\nü\u2028x\x0cy\ndrei ohne Ende"
    give_stdin(monkeypatch, text.encode())
    assert translate() == 0
    captured = capsys.readouterr()
    assert captured.out == "EINS\n\n\nZWEI\nÜ\u2028X\x0cY\nDREI OHNE ENDE\n"
    assert "zoo: 6 lines in " in captured.err
    give_stdin(monkeypatch, b"")
    assert translate() == 0
    assert "nothing to do: the input is empty" in capsys.readouterr().err


def test_no_further_is_read_than_was_written(task, capsys, monkeypatch):
    """Memory is constant: a chunk is written before the next one is read."""
    total, pending = 1000, []
    real = task.translate
    task.translate = lambda texts, **options: (
        pending.append(lines.given - len(texts)) or real(texts, **options)
    )

    class Lines(io.RawIOBase):
        given = 0

        def readable(self):
            return True

        def readinto(self, buffer):
            line = f"line {self.given}\n".encode() * (self.given < total)
            self.given += bool(line)
            buffer[: len(line)] = line
            return len(line)

    lines = Lines()
    stdin = types.SimpleNamespace(buffer=io.BufferedReader(lines), isatty=bool)
    monkeypatch.setattr(sys, "stdin", stdin)
    assert translate("--batch-size", 2) == 0
    assert pending == list(range(0, total, 128))
    assert capsys.readouterr().out.splitlines()[-1] == "LINE 999"


def test_files_packed_or_not_and_standard_input(tmp_path, capsys, monkeypatch):
    (tmp_path / "a").write_text("one\n\u200b\ntwo\n", "utf-16")
    (tmp_path / "b.gz").write_bytes(gzip.compress("ü".encode()))
    give_stdin(monkeypatch, b"drei\n")
    files = ["--input", tmp_path / "a", "--input", "-", "--input", tmp_path / "b.gz"]
    assert translate(*files) == 0
    assert capsys.readouterr().out == "ONE\n\nTWO\nDREI\nÜ\n"
    (tmp_path / "c").write_bytes("schön\n".encode() + "schön\n".encode("latin-1"))
    assert translate("--input", tmp_path / "c") == 2
    assert "c should be UTF-8, received the byte 0xf6 in line 2" in (
        capsys.readouterr().err
    )


def test_a_named_pipe_is_read_once(tmp_path, capsys):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=["a\nb\n"], daemon=True)
    writer.start()
    assert translate("--input", path) == 0
    assert capsys.readouterr().out == "A\nB\n"


# === Output ===


@pytest.fixture
def chunks(tmp_path, monkeypatch):
    """Translates an input of three lines, each a chunk, over an old output."""
    monkeypatch.setattr(texts, "_BATCHES_AT_ONCE", 1)
    (tmp_path / "in").write_text("a\nb\nc\n")
    (tmp_path / "real").write_text("precious\n")
    (tmp_path / "out").symlink_to("real")
    files = ["--input", tmp_path / "in", "--output", tmp_path / "out"]
    return lambda: translate(*files, "--batch-size", 1)


@pytest.mark.parametrize(
    "error, code", [(RuntimeError("boom"), 1), (KeyboardInterrupt(), 130)]
)
def test_a_failure_leaves_the_old_output(task, chunks, tmp_path, capsys, error, code):
    real = task.translate

    def fail_at_the_third(texts, **options):
        if "c" in texts:
            raise error
        return real(texts, **options)

    task.translate = fail_at_the_third
    assert chunks() == code
    assert (tmp_path / "out").read_text() == "precious\n"
    part = tmp_path / "real.part"
    assert part.read_text() == "A\nB\n" and f"is in {part}" in capsys.readouterr().err


def test_success_replaces_the_old_output(chunks, tmp_path):
    assert chunks() == 0
    assert (tmp_path / "out").is_symlink()
    assert (tmp_path / "real").read_text() == "A\nB\nC\n"
    assert sorted(os.listdir(tmp_path)) == ["in", "out", "real"]
    assert translate("a", "--output", os.devnull) == 0
    assert not os.path.isfile(os.devnull)


_SCRIPT = """
import sys
from pathlib import Path
from unittest import mock
import zoo  # before the stand-in, with which nothing could be registered
keras = sys.modules["keras"] = sys.modules["keras_hub"] = mock.MagicMock()
keras.config.backend.return_value = "jax"  # any that zoo knows
from zoo import presets
from zoo.presets import registry
class Task:
    def translate(self, texts, **_): return [text.upper() for text in texts]
presets.find, registry.load = Path, lambda name: Task()
from zoo.cli import main
sys.exit(main(["translate", "fake", "--batch-size", "1", *sys.argv[1:]]))
"""


@pytest.mark.parametrize(
    "shell, code, out, err",
    [
        ('"$@" a >&-', 1, "", "zoo: error: "),
        ('"$@" a >/dev/full', 1, "", "zoo: error: [Errno 28] No space left on device"),
        ('"$@" a | true; exit ${PIPESTATUS[0]}', 141, "", "zoo: "),
        ('"$@" a --output /dev/stdout', 0, "A\n", "zoo: 1 line in"),
        ('"$@" a 2>&-', 0, "A\n", ""),
        ('"$@" a 2>/dev/full', 0, "A\n", ""),
        ('"$@" <&-', 0, "", "zoo: nothing to do"),
    ],
)
def test_streams_that_are_closed_or_full(tmp_path, shell, code, out, err):
    command = ["bash", "-c", shell, "bash", sys.executable, "-c", _SCRIPT]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (code, out), done.stderr
    assert "Traceback" not in done.stderr
    assert "".join(done.stderr.splitlines()[-1:]).startswith(err)


# === Warnings ===


def test_a_cut_line_is_named_by_its_number(task, tmp_path, capsys, monkeypatch):
    from zoo.text import Tokenizer, TranslatorPreprocessor, train_tokenizer

    proto = train_tokenizer(["a b c d"], vocabulary_size=9)
    preprocessor = TranslatorPreprocessor(Tokenizer(proto=proto), source_length=3)
    real = task.translate

    def translate_cut(texts, **options):
        preprocessor.encode(texts)
        return real(texts, **options)

    task.translate = translate_cut
    monkeypatch.setattr(texts, "_BATCHES_AT_ONCE", 1)
    (tmp_path / "a").write_text("a\n\n\na b c d\n")
    (tmp_path / "b").write_text("\na b c d\n\na\na b c d\n")
    files = ["--input", tmp_path / "a", "--input", tmp_path / "b"]
    assert translate(*files, "--batch-size", "4") == 0
    err = capsys.readouterr().err
    for number in (4, 6, 9):
        assert f"The first is line {number}, of 7 characters" in err
    assert err.count("warning") == 3 and "texts[" not in err
