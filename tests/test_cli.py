import io
import json
import os
import subprocess
import sys
import types
import warnings
from pathlib import Path

import pytest

import zoo
from tests.presets_for_tests import FACTS, make_preset, save_translator
from zoo import cli_text, presets
from zoo.cli import main
from zoo.data import DownloadError


class FakeTask:
    """Translates by upper-casing; remembers how it was called."""

    def __init__(self):
        self.calls = []

    def translate(self, texts, n_best=1, return_details=False, **options):
        assert texts and all(text.strip() for text in texts)
        self.calls.append({"texts": texts, "n_best": n_best, **options})
        if not return_details:
            return [text.upper() for text in texts]
        records = [[self.record(text, n) for n in range(n_best)] for text in texts]
        return records if n_best > 1 else [found[0] for found in records]

    def record(self, text, rank):
        source = text.split()
        target = text.upper().split()
        return types.SimpleNamespace(
            text=" ".join(target) + "!" * rank,
            score=-0.5 - rank,
            tokens=target,
            source_tokens=source,
            alignment=[[float(i == j) for i in source] for j in source],
        )


@pytest.fixture
def task(monkeypatch):
    fake = FakeTask()
    monkeypatch.setattr(presets, "load", lambda name: fake)
    return fake


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """One preset, `tiny`, in the bundled folder and nothing elsewhere."""
    make_preset(tmp_path / "bundled" / "tiny")
    monkeypatch.setattr(presets, "_bundled_folder", lambda: tmp_path / "bundled")
    monkeypatch.setenv("ZOO_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "bundled" / "tiny"


def give_stdin(monkeypatch, content):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


def translate(*arguments):
    return main(["translate", "--preset", "fake", *map(str, arguments)])


# === list, info ===


def test_list(tiny, capsys):
    assert main(["list"]) == 0
    header, row = capsys.readouterr().out.splitlines()
    heads = ["name", "paper", "task", "parameters", "size", "scores", "training"]
    assert header.split() == [*heads, "CPU", "speed"]
    assert row.split("  ")[0] == "tiny"
    assert "Lovelace & Turing 2015" in row and "1,234,567" in row
    assert "BLEU 12.3 (multi30k test_2016_flickr)  3 s, a laptop  52 " in row
    assert row.endswith("52 sentences/s")
    assert row.index("1,234,567") == header.index("parameters")


def test_list_json(tiny, capsys):
    assert main(["list", "--json"]) == 0
    (card,) = json.loads(capsys.readouterr().out)
    assert card == json.loads((tiny / "card.json").read_text())


def test_info(tiny, capsys):
    assert main(["info", "tiny"]) == 0
    out = capsys.readouterr().out
    for part in ("Ada Lovelace", "BLEU 12.35 on", "nrefs:1", "0123abc", "no weights"):
        assert part in out
    assert main(["info", str(tiny), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["seed"] == FACTS["seed"]


def test_info_of_an_unknown_name(tiny, capsys):
    assert main(["info", "tyni"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("zoo: error: unknown preset (did you mean tiny?)")
    assert captured.err.count("\n") == 1


# === translate ===


def test_translate_arguments(task, capsys):
    assert translate("a dog", "runs") == 0
    captured = capsys.readouterr()
    assert captured.out == "A DOG\nRUNS\n"
    assert "zoo: loading fake" in captured.err
    assert task.calls == [
        {"texts": ["a dog", "runs"], "n_best": 1, "beam_size": 5, "batch_size": 64}
    ]


def test_translate_options_reach_the_model(task):
    options = ["--beam", 3, "--length-penalty", "0.6", "--batch-size", 7]
    options += ["--coverage-penalty", "0.2", "--max-length", 9, "--min-length", 4]
    options += ["--length-normalization", "plain", "--replace-unknown"]
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
        }
    ]


def test_translate_keeps_every_line_in_order(task, capsys, monkeypatch):
    text = "eins\n\n  \r\nzwei\r\nü\u2028x\x0cy\ndrei ohne Ende"
    give_stdin(monkeypatch, text.encode())
    assert translate() == 0
    assert capsys.readouterr().out == "EINS\n\n\nZWEI\nÜ\u2028X\x0cY\nDREI OHNE ENDE\n"


@pytest.mark.parametrize("content, out", [(b"", ""), (b"\n", "\n"), (b"\n\n", "\n\n")])
def test_translate_nothing(task, capsys, monkeypatch, content, out):
    give_stdin(monkeypatch, content)
    assert translate() == 0
    assert capsys.readouterr().out == out
    assert task.calls == []


def test_translate_files(task, tmp_path, capsys):
    (tmp_path / "a").write_text("one\ntwo\n")
    (tmp_path / "b").write_text("drei\n")
    out = tmp_path / "out"
    files = ["--input", tmp_path / "a", "--input", tmp_path / "b", "--output", out]
    assert translate(*files) == 0
    assert out.read_text() == "ONE\nTWO\nDREI\n"
    assert capsys.readouterr().out == ""


def test_translate_reads_no_further_than_it_has_written(task, capsys, monkeypatch):
    """Memory is constant: a chunk is written before the next one is read."""
    total, pending = 1000, []
    real = task.translate
    task.translate = lambda texts, **options: (
        pending.append(lines.read - len(texts)) or real(texts, **options)
    )

    class Lines:
        read = 0

        def __iter__(self):
            for number in range(total):
                self.read += 1
                yield f"line {number}\n".encode()

    lines = Lines()
    stdin = types.SimpleNamespace(buffer=lines, isatty=lambda: False)
    monkeypatch.setattr(sys, "stdin", stdin)
    assert translate("--batch-size", 2) == 0
    assert pending == list(range(0, total, 128))
    assert max(len(call["texts"]) for call in task.calls) == 128
    assert capsys.readouterr().out.splitlines()[-1] == "LINE 999"


def test_translate_answers_each_typed_line(task, monkeypatch):
    give_stdin(monkeypatch, b"a\nb\n")
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    assert translate() == 0
    assert [call["texts"] for call in task.calls] == [["a"], ["b"]]


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


def test_alignments(task, capsys, monkeypatch):
    from zoo import decoding

    drawn = []
    monkeypatch.setattr(
        decoding, "format_alignment", lambda record: drawn.append(record) or "x .\n. x"
    )
    give_stdin(monkeypatch, b"a b\n\nc\n")
    assert translate("--alignments") == 0
    grid = "x .\n. x"
    assert capsys.readouterr().out == f"A B\n\n{grid}\n\n\nC\n\n{grid}\n\n"
    assert [record.source_tokens for record in drawn] == [["a", "b"], ["c"]]


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--beam", "0", "a"], "'0'"),
        (["--length-penalty", "-1", "a"], "'-1'"),
        (["--length-penalty", "nan", "a"], "'nan'"),
        (["--length-penalty", "inf", "a"], "'inf'"),
        (["--length-penalty", "much", "a"], "'much'"),
        (["--beam", "x", "a"], "'x'"),
        (["--n-best", "6", "a"], "received 6 and 5"),
        (["--min-length", "7", "--max-length", "6", "a"], "received 7 and 6"),
        (["--min-length", "0", "a"], "'0'"),
        (["--length-normalization", "wu", "a"], "'wu'"),
        (["--batch-size", "-1", "a"], "--batch-size"),
        (["--backend", "theano", "a"], "theano"),
        (["--input", "nowhere.txt"], "nowhere.txt"),
        (["--output", "nowhere/out", "a"], "nowhere/out"),
        (["--input", "x", "a"], "not both"),
        (["--no-such-option", "a"], "--no-such-option"),
    ],
)
def test_bad_usage(task, tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    Path("out").write_text("precious\n")
    if "--output" not in arguments:
        arguments = ["--output", "out", *arguments]
    monkeypatch.setattr(presets, "load", lambda _: pytest.fail("loaded"))
    assert translate(*arguments) == 2
    assert Path("out").read_text() == "precious\n" and os.listdir() == ["out"]
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("zoo: error: ") and message in captured.err
    assert captured.err.count("\n") == 1
    assert task.calls == []


def test_output_over_its_own_input(task, tmp_path, capsys):
    path = tmp_path / "text"
    path.write_text("precious\n")
    assert translate("--input", path, "--output", path) == 2
    assert path.read_text() == "precious\n"


def test_input_that_is_not_utf8(task, tmp_path, capsys, monkeypatch):
    path = tmp_path / "latin1"
    content = "schön\n".encode() + "schön\n".encode("latin-1") + b"ok\n"
    path.write_bytes(content)
    assert translate("--input", path) == 2
    assert f"line 2 of {path} is not UTF-8" in capsys.readouterr().err
    give_stdin(monkeypatch, content)
    assert translate() == 2
    assert "line 2 of standard input is not UTF-8" in capsys.readouterr().err


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
    monkeypatch.setattr(cli_text, "_BATCHES_AT_ONCE", 1)
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
    assert (three_chunks / "out.part").read_text() == "A\nB\n"
    assert f"is in {three_chunks / 'out.part'}" in capsys.readouterr().err


def test_failure_at_the_first_chunk_leaves_nothing(task, three_chunks):
    (three_chunks / "in").write_text("c\n")
    fail_at_the_third_text(task, RuntimeError("boom"))
    assert translate_chunks(three_chunks) == 1
    assert (three_chunks / "out").read_text() == "precious\n"
    assert not (three_chunks / "out.part").exists()


def test_success_replaces_the_old_output(task, three_chunks):
    (three_chunks / "out.part").write_text("of an earlier run, longer than this one\n")
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


def test_output_that_is_a_folder(task, tmp_path, capsys):
    assert translate("a", "--output", tmp_path) == 2
    assert "it is a folder" in capsys.readouterr().err


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
    monkeypatch.setattr(cli_text, "_BATCHES_AT_ONCE", 1)
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


# === Errors ===


def test_backend_cannot_change_under_a_running_keras(task, capsys):
    import keras

    running = keras.config.backend()
    other = "jax" if running != "jax" else "torch"
    before = os.environ.get("KERAS_BACKEND")
    assert translate("--backend", other, "a") == 2
    assert f"runs on {running} already" in capsys.readouterr().err
    assert os.environ.get("KERAS_BACKEND") == before
    assert translate("--backend", running, "a") == 0


def test_the_process_is_tuned_before_a_preset_is_loaded(monkeypatch):
    from zoo.training import process

    order = []
    monkeypatch.setattr(process, "tune_process", lambda: order.append("tuned"))
    fake = FakeTask()
    monkeypatch.setattr(presets, "load", lambda name: order.append(name) or fake)
    assert translate("a") == 0
    assert order == ["tuned", "fake"]


def test_an_unknown_preset_imports_no_keras():
    script = (
        "import sys; from zoo.cli import main; "
        "code = main(['translate', '--preset', 'nosuch', 'a']); "
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


def failing(error):
    def load(name):
        raise error

    return load


@pytest.mark.parametrize(
    "error, code, message",
    [
        (ValueError("unknown preset"), 2, "unknown preset"),
        (presets.PresetError("x.h5 is\naltered"), 1, "x.h5 is altered"),
        (RuntimeError("boom"), 1, "RuntimeError: boom"),
        (KeyError("key"), 1, "KeyError: 'key'"),
        (OSError("disk"), 1, "disk"),
        (DownloadError("no network"), 1, "no network"),  # a ValueError too
        (ModuleNotFoundError("no", name="jax"), 1, "the backend jax is not installed"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_errors_are_one_line_and_a_code(monkeypatch, capsys, error, code, message):
    monkeypatch.delenv("ZOO_DEBUG", raising=False)
    monkeypatch.setattr(presets, "load", failing(error))
    assert translate("a") == code
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("zoo: error: ") and message in last


def test_warnings_are_one_line(monkeypatch, capsys):
    def load(name):
        warnings.warn("not\nverified", stacklevel=1)
        return FakeTask()

    monkeypatch.setattr(presets, "load", load)
    assert translate("a") == 0
    assert "zoo: warning: not verified\n" in capsys.readouterr().err


def test_debug_shows_the_traceback(monkeypatch):
    monkeypatch.setenv("ZOO_DEBUG", "1")
    monkeypatch.setattr(presets, "load", failing(RuntimeError("boom")))
    with pytest.raises(RuntimeError, match="boom"):
        translate("a")


def test_reader_that_goes_away():
    """As in `zoo translate ... | head -1`: no traceback, no message."""
    code = (
        "import sys; from zoo import presets\n"
        "class Task:\n"
        "    def translate(self, texts, **_): return texts\n"
        "presets.load = lambda name: Task()\n"
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


# === evaluate ===


@pytest.fixture
def without_card(monkeypatch, tmp_path):
    monkeypatch.setattr(presets, "find", lambda name: tmp_path)


@pytest.fixture
def corpus(monkeypatch, without_card):
    from zoo import data

    asked = []

    def load(name, source="en", target="de", split="train", allow_newer=False):
        if name != "toy":
            raise ValueError(f"unknown corpus, received {name!r}")
        asked.append((source, target, split, *["newer"] * allow_newer))
        sources = ["the cat sat on the mat", "a dog runs", "unread"]
        targets = [sources[0].upper(), "A DOG SLEEPS", "NEVER"]
        return types.SimpleNamespace(
            sources=sources, targets=targets, references=[[line] for line in targets]
        )

    monkeypatch.setattr(data, "load", load)
    return asked


def test_evaluate(task, corpus, tmp_path, capsys):
    out = tmp_path / "hypotheses"
    arguments = ["--data", "toy", "--split", "test", "--source", "fr", "--limit", "2"]
    code = main(["evaluate", "fake", *arguments, "--beam", "2", "--output", str(out)])
    assert code == 0
    assert corpus == [("fr", "de", "test")]
    assert len(task.calls) == 1 and task.calls[0]["beam_size"] == 2
    assert out.read_text() == "THE CAT SAT ON THE MAT\nA DOG RUNS\n"
    bleu, chrf, speed = capsys.readouterr().out.splitlines()
    assert bleu.startswith("BLEU ") and 40 < float(bleu.split()[1]) < 100
    assert "tok:13a" in bleu and "nrefs:1" in bleu
    assert chrf.startswith("chrF ") and "version:" in chrf
    assert "2 sentences" in speed and "sentences/s" in speed


def test_evaluate_on_a_newer_snapshot(task, corpus):
    arguments = ["evaluate", "fake", "--data", "toy", "--split", "test"]
    assert main([*arguments, "--allow-newer"]) == 0
    assert corpus == [("en", "de", "test", "newer")]


def test_evaluate_unknown_corpus(corpus, capsys, monkeypatch):
    monkeypatch.setattr(presets, "load", lambda _: pytest.fail("loaded"))
    assert main(["evaluate", "fake", "--data", "tyo", "--split", "test"]) == 2
    assert "'tyo'" in capsys.readouterr().err


def test_evaluate_takes_the_languages_of_the_card(corpus, tiny, task, monkeypatch):
    monkeypatch.setattr(presets, "find", lambda name: tiny)
    assert FACTS["languages"] == ["en", "de"]
    command = ["evaluate", "tiny", "--data", "toy", "--split", "test"]
    assert main(command) == 0
    assert main([*command, "--source", "en", "--target", "de"]) == 0
    assert corpus == [("en", "de", "test")] * 2


@pytest.mark.parametrize("given", [("de", "en"), ("en", "fr"), ("fr", "de")])
def test_evaluate_refuses_other_languages(corpus, tiny, capsys, monkeypatch, given):
    monkeypatch.setattr(presets, "find", lambda name: tiny)
    command = ["evaluate", "tiny", "--data", "toy", "--split", "test"]
    assert main([*command, "--source", given[0], "--target", given[1]]) == 2
    assert "tiny translates from en to de, received" in capsys.readouterr().err
    assert main([*command, "--target", "fr"]) == 2
    assert capsys.readouterr().err.endswith("received --target fr\n")
    assert corpus == []


def test_evaluate_needs_two_languages(corpus, tiny, capsys, monkeypatch):
    make_preset(tiny.parent / "one", languages=["en"])
    monkeypatch.setattr(presets, "find", lambda name: tiny.parent / "one")
    assert main(["evaluate", "one", "--data", "toy", "--split", "test"]) == 2
    assert "names the languages ['en']" in capsys.readouterr().err
    assert corpus == []


@pytest.mark.usefixtures("without_card")
def test_evaluate_without_the_file(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(presets, "load", lambda _: pytest.fail("loaded"))
    monkeypatch.setenv("ZOO_DATA_DIR", str(tmp_path))
    assert main(["evaluate", "fake", "--data", "multi30k", "--split", "test"]) == 2
    assert "test_2016_flickr.en is missing" in capsys.readouterr().err


@pytest.mark.parametrize(
    "error, code",
    [
        (DownloadError("no network"), 1),
        (OSError("disk"), 1),
        (PermissionError("closed"), 2),
        (ValueError("misaligned"), 2),
    ],
)
def test_evaluate_when_the_corpus_fails(monkeypatch, without_card, error, code):
    from zoo import data

    monkeypatch.setattr(data, "load", lambda *_, **__: failing(error)("x"))
    assert main(["evaluate", "fake", "--data", "multi30k", "--split", "test"]) == code


# === usage ===


def test_help_and_version(capsys):
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    for command in ("list", "info", "translate", "train", "evaluate"):
        assert f"\n    {command} " in out or f"\n    {command}\n" in out
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"{zoo.__version__}\n"


@pytest.mark.parametrize("arguments", [[], ["trnslate"], ["translate"], ["info"]])
def test_bad_command(arguments, capsys):
    assert main(arguments) == 2
    err = capsys.readouterr().err
    assert err.startswith("zoo: error: ") and err.count("\n") == 1
