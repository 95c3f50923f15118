import io
import os
import sys
import types
from pathlib import Path

import pytest

import zoo
from tests.cli.fakes import give_stdin, translate
from tests.presets_for_tests import save_translator
from zoo.cli import main, texts
from zoo.presets import loading

pytestmark = pytest.mark.once


def test_translate_arguments(task, capsys):
    assert translate("a dog", "runs") == 0
    captured = capsys.readouterr()
    assert captured.out == "A DOG\nRUNS\n"
    assert "zoo: loading fake" in captured.err
    assert task.calls == [{"texts": ["a dog", "runs"], "n_best": 1, "batch_size": 64}]


def test_translate_options_reach_the_model(task):
    options = ["--beam", 3, "--length-penalty", "0.6", "--batch-size", 7]
    options += ["--coverage-penalty", "0.2", "--max-length", 9, "--min-length", 4]
    options += ["--length-normalization", "plain", "--replace-unknown"]
    options += ["--no-repeat-ngram-size", 3]
    assert translate(*options, "a") == 0
    assert task.calls == [
        {
            "texts": ["a"],
            "n_best": 1,
            "beam_size": 3,
            "batch_size": 7,
            "length_penalty": 0.6,
            "coverage_penalty": 0.2,
            "max_length": 9,
            "min_length": 4,
            "length_normalization": "plain",
            "replace_unknown": True,
            "no_repeat_ngram_size": 3,
        }
    ]


def test_translate_keeps_every_line_in_order(task, capsys, monkeypatch):
    text = "eins\n\n  \r\nzwei\r\nü\u2028x\x0cy\ndrei ohne Ende"
    give_stdin(monkeypatch, text.encode())
    assert translate() == 0
    assert capsys.readouterr().out == "EINS\n\n\nZWEI\nÜ\u2028X\x0cY\nDREI OHNE ENDE\n"


def test_translate_reads_no_further_than_it_has_written(task, capsys, monkeypatch):
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
    assert max(len(call["texts"]) for call in task.calls) == 128
    assert capsys.readouterr().out.splitlines()[-1] == "LINE 999"


def type_a_line(monkeypatch):
    """Makes the streams a terminal, at which a line is typed; gives the answers."""
    from zoo.cli import texts

    answers = []
    monkeypatch.setattr(
        texts,
        "answer_typed_lines",
        lambda work: answers.extend(work([("a dog", "line 1")])),
    )
    for stream in (sys.stdin, sys.stdout):
        monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    return answers


GRID = "\n    ┌ a\n    │ ┌ dog\n  A █\nDOG   █\n"


def test_a_terminal_without_text_is_a_prompt(task, monkeypatch, capsys):
    answers = type_a_line(monkeypatch)
    assert translate() == 0
    assert answers == ["A DOG", GRID]
    assert "no preset given" not in capsys.readouterr().err
    assert main(["translate", "--n-best", "2"]) == 0
    err = capsys.readouterr().err
    assert "zoo: no preset given: using luong_local (zoo list shows others)\n" in err
    assert "zoo: loading luong_local\n" in err
    one, grid, other, _ = answers[2:]
    assert (one, grid) == ("0 ||| A DOG ||| -0.5000", GRID)
    assert other == "0 ||| A DOG! ||| -1.5000"


def test_text_and_files_are_no_prompt(task, tmp_path, monkeypatch, capsys):
    answers = type_a_line(monkeypatch)
    (tmp_path / "in").write_text("a\n")
    assert translate("a cat") == 0
    assert translate("--input", tmp_path / "in") == 0
    give_stdin(monkeypatch, b"b\n")
    assert translate() == 0
    assert answers == []
    assert capsys.readouterr().out == "A CAT\nA\nB\n"
    assert main(["translate"]) == 2
    assert "name a preset" in capsys.readouterr().err


def test_n_best(task, capsys, monkeypatch):
    give_stdin(monkeypatch, b"a b\n\nc\n")
    assert translate("--n-best", 2) == 0
    assert capsys.readouterr().out.splitlines() == [
        "0 ||| A B ||| -0.5000",
        "0 ||| A B! ||| -1.5000",
        "1 |||  ||| 0.0000",
        "2 ||| C ||| -0.5000",
        "2 ||| C! ||| -1.5000",
    ]


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--beam", "0", "a"], "'0'"),
        (["--length-penalty", "-1", "a"], "'-1'"),
        (["--length-penalty", "nan", "a"], "'nan'"),
        (["--length-penalty", "inf", "a"], "'inf'"),
        (["--length-penalty", "much", "a"], "'much'"),
        (["--beam", "x", "a"], "'x'"),
        (["--min-length", "0", "a"], "'0'"),
        (["--length-normalization", "wu", "a"], "'wu'"),
        (["--batch-size", "-1", "a"], "--batch-size"),
        (["--backend", "theano", "a"], "theano"),
        (["--input", "nowhere.txt"], "nowhere.txt"),
        (["--output", "nowhere/out", "a"], "nowhere/out"),
        (["--output", ".", "a"], "cannot write .: it is a folder"),
        (["--input", "out", "--output", "out"], "would overwrite its own input"),
        (["--input", "x", "a"], "not both"),
        (["--no-such-option", "a"], "--no-such-option"),
    ],
)
def test_bad_usage(task, tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    Path("out").write_text("precious\n")
    arguments = ["--output", "out", *arguments]
    monkeypatch.setattr(loading, "load", lambda _: pytest.fail("loaded"))
    assert translate(*arguments) == 2
    assert Path("out").read_text() == "precious\n" and os.listdir() == ["out"]
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("zoo: error: ") and message in captured.err
    assert captured.err.count("\n") == 1
    assert task.calls == []


def test_input_that_is_not_utf8(task, tmp_path, capsys, monkeypatch):
    path = tmp_path / "latin1"
    content = "schön\n".encode() + "schön\n".encode("latin-1") + b"ok\n"
    path.write_bytes(content)
    assert translate("--input", path) == 2
    assert f"{path} should be UTF-8, received the byte 0xf6 in line 2" in (
        capsys.readouterr().err
    )
    give_stdin(monkeypatch, content)
    assert translate("--input", "-") == 2
    assert "standard input should be UTF-8" in capsys.readouterr().err
    path.write_text("ab\n", "utf-16-le")
    assert translate("--input", path) == 2
    assert "it looks like UTF-16-LE without a byte" in capsys.readouterr().err


def test_standard_input_is_a_file_among_others(task, tmp_path, capsys, monkeypatch):
    (tmp_path / "a").write_text("one\r\u200b\rtwo\r", "utf-16")
    give_stdin(monkeypatch, b"drei\n")
    assert translate("--input", tmp_path / "a", "--input", "-") == 0
    assert capsys.readouterr().out == "ONE\n\nTWO\nDREI\n"


def fail_at_the_third_text(task, error):
    real = task.translate

    def translate(texts, **options):
        if "c" in texts:
            raise error
        return real(texts, **options)

    task.translate = translate


@pytest.fixture
def three_chunks(tmp_path, monkeypatch):
    """A folder with an input of three lines, each a chunk, and an old output."""
    monkeypatch.setattr(texts, "_BATCHES_AT_ONCE", 1)
    (tmp_path / "in").write_text("a\nb\nc\n")
    (tmp_path / "out").write_text("precious\n")
    (tmp_path / "out").chmod(0o640)
    return tmp_path


def translate_chunks(folder):
    files = ["--input", folder / "in", "--output", folder / "out"]
    return translate(*files, "--batch-size", 1)


@pytest.mark.parametrize(
    "error, code", [(RuntimeError("boom"), 1), (KeyboardInterrupt(), 130)]
)
def test_failure_leaves_the_old_output(task, three_chunks, capsys, error, code):
    fail_at_the_third_text(task, error)
    assert translate_chunks(three_chunks) == code
    assert (three_chunks / "out").read_text() == "precious\n"
    [part] = three_chunks.glob("out.*.part")
    assert part.read_text() == "A\nB\n" and f"is in {part}" in capsys.readouterr().err
    part.unlink()
    (three_chunks / "in").write_text("c\n")  # nothing is left of nothing
    assert translate_chunks(three_chunks) == code
    assert sorted(os.listdir(three_chunks)) == ["in", "out"]


def test_success_replaces_the_old_output(task, three_chunks):
    assert translate_chunks(three_chunks) == 0
    assert (three_chunks / "out").read_text() == "A\nB\nC\n"
    assert (three_chunks / "out").stat().st_mode & 0o777 == 0o640
    assert sorted(os.listdir(three_chunks)) == ["in", "out"]


def test_output_to_a_link_or_a_device(task, three_chunks):
    (three_chunks / "out").rename(three_chunks / "real")
    (three_chunks / "out").symlink_to("real")
    assert translate_chunks(three_chunks) == 0
    assert (three_chunks / "out").is_symlink()
    assert (three_chunks / "real").read_text() == "A\nB\nC\n"
    assert translate("a", "--output", os.devnull) == 0
    assert not os.path.isfile(os.devnull)


@pytest.mark.filterwarnings("ignore:(?s).*has no card.json")
def test_prefixes_banned_pieces_and_unknown_words(tmp_path, capsys):
    command = ["translate", "--preset", str(save_translator(tmp_path / "tiny"))]
    command += ["--beam", "2", "--max-length", "9", "a ßÄ dog", "die katze"]

    def run(*options, code=0):
        assert main([*command, *options]) == code
        captured = capsys.readouterr()
        return captured.out.splitlines() or captured.err.splitlines()[-1]

    found = run("--prefix", "hund ß")
    assert len(found) == 2 and all(line.startswith("hund ß") for line in found)
    first, _ = run("--term", "no=die", "--term", "a=hund")
    assert "hund" in first
    assert "translation. Received: 'a='" in run("--term", "a=", code=2)
    tokenizer = zoo.load(tmp_path / "tiny").preprocessor.tokenizer
    known = tokenizer.get_vocabulary()
    banned = [part for piece in known[4:] for part in ("--ban", piece)]
    banned += ["--ban", "<pad>", "--ban", "<s>", "--min-length", "3"]
    assert all("⁇" in line for line in run(*banned))
    assert not any("⁇" in line for line in run(*banned, "--replace-unknown"))
    kept = banned.index("n")
    only = banned[: kept - 1] + banned[kept + 1 :] + ["--ban", "<unk>"]
    # The end token is the third.
    assert all(set(line) == {"n"} and len(line) >= 2 for line in run(*only))
    message = run("--ban", "a", "--ban", "nobody", code=2)
    assert message.startswith("zoo: error: ") and "banned[1]='nobody'" in message
    assert "max_length=9" in run("--prefix", "katze rennt runs sleeps", code=2)


# === Warnings of texts that are cut ===


@pytest.fixture
def cutting(task, monkeypatch):
    """The fake task, which reads texts with a real preprocessor of 3 pieces."""
    from zoo.text import Tokenizer, TranslatorPreprocessor, train_tokenizer

    proto = train_tokenizer(["a b c d"], vocabulary_size=9)
    preprocessor = TranslatorPreprocessor(Tokenizer(proto=proto), source_length=3)
    real = task.translate

    def translate(texts, **options):
        preprocessor.encode(texts)
        return real(texts, **options)

    task.translate = translate


def test_a_cut_line_is_named_by_its_number(cutting, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(texts, "_BATCHES_AT_ONCE", 1)
    (tmp_path / "a").write_text("a\n\n\na b c d\n")
    (tmp_path / "b").write_text("\na b c d\n\na\na b c d\n")
    files = ["--input", tmp_path / "a", "--input", tmp_path / "b"]
    assert translate(*files, "--batch-size", "4") == 0
    err = capsys.readouterr().err
    assert f"The first is line 4 of {tmp_path / 'a'}, of 7 characters" in err
    assert f"The first is line 2 of {tmp_path / 'b'}, of 7 characters" in err
    assert f"The first is line 5 of {tmp_path / 'b'}, of 7 characters" in err
    assert err.count("warning") == 3 and "texts[" not in err

    assert translate("a", "a b c d") == 0
    assert "The first is TEXT 2, of 7" in capsys.readouterr().err
    give_stdin(monkeypatch, b"\na b c d\n")
    assert translate() == 0
    assert "The first is line 2 of standard input, of 7" in capsys.readouterr().err


def test_evaluate_names_the_sentence_that_is_cut(cutting, corpus, capsys):
    assert main(["evaluate", "fake", "--data", "toy", "--split", "test"]) == 0
    assert "The first is sentence 1 of test, of 22" in capsys.readouterr().err
