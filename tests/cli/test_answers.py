"""Translating, tagging, classifying, generating and captioning."""

import os
import sys
from pathlib import Path

import pytest

import zoo
from tests.cli.fakes import give_stdin, translate
from tests.serving.conftest import IMAGES
from zoo.cli import main
from zoo.presets import registry

pytestmark = pytest.mark.once


def test_translate_options_reach_the_model(task, capsys):
    assert translate("a dog", "--beam", 3, "runs") == 0
    captured = capsys.readouterr()
    assert captured.out == "A DOG\nRUNS\n"
    assert "zoo: loading fake" in captured.err
    options = "--length-penalty 0.6 --batch-size 7 --coverage-penalty 0.2"
    options += " --max-length 9 --min-length 4"
    assert translate(*options.split(), "a") == 0
    plain = {"texts": ["a dog", "runs"], "n_best": 1, "beam_size": 3, "batch_size": 64}
    assert task.calls[0] == plain
    assert task.calls[1] == {
        "texts": ["a"],
        "n_best": 1,
        "batch_size": 7,
        "length_penalty": 0.6,
        "coverage_penalty": 0.2,
        "max_length": 9,
        "min_length": 4,
    }


GRID = "\n    ┌ a\n    │ ┌ dog\n  A █\nDOG   █\n"


def test_n_best_and_alignments(task, capsys, monkeypatch):
    give_stdin(monkeypatch, b"a b\n\nc\n")
    assert translate("--n-best", 2) == 0
    assert capsys.readouterr().out.splitlines() == [
        "0 ||| A B ||| -0.5000",
        "0 ||| A B! ||| -1.5000",
        "1 |||  ||| 0.0000",
        "2 ||| C ||| -0.5000",
        "2 ||| C! ||| -1.5000",
    ]
    assert translate("--alignments", "a dog") == 0
    assert capsys.readouterr().out == f"A DOG\n{GRID}\n"


def test_a_terminal_without_text_is_a_prompt(task, monkeypatch, capsys):
    for stream in (sys.stdin, sys.stdout):
        monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    typed = iter(["a dog", "bad", " "])

    def type_a_line(_):
        if (line := next(typed, None)) is None:
            raise EOFError
        return line

    def refuse(texts, **options):
        if texts == ["bad"]:
            raise ValueError("a bad line")
        return real(texts, **options)

    real, task.translate = task.translate, refuse
    monkeypatch.setattr("builtins.input", type_a_line)
    assert translate() == 0
    captured = capsys.readouterr()
    assert captured.out == f"A DOG\n{GRID}\n\n"
    assert "zoo: error: a bad line" in captured.err


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--beam", "0", "a"], "'0'"),
        (["--length-penalty", "much", "a"], "'much'"),
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
    monkeypatch.setattr(registry, "load", lambda _: pytest.fail("loaded"))
    assert translate("--output", "out", *arguments) == 2
    assert Path("out").read_text() == "precious\n" and os.listdir() == ["out"]
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1
    assert captured.err.startswith("zoo: error: ") and message in captured.err


# === Words ===


def test_tag_and_classify_write_a_line_for_each_line(made, tmp_path, capsys):
    tagger, classifier = made("tagger"), made("classifier")
    (tmp_path / "in").write_text("A dog runs\n\nruns\n")
    assert main(["tag", tagger, "--input", str(tmp_path / "in")]) == 0
    found = zoo.load(tagger).tag(["A dog runs", "runs"])
    first, second = (" ".join(f"{w}/{tag}" for w, tag in row) for row in found)
    assert capsys.readouterr().out == f"{first}\n\n{second}\n"
    assert main(["classify", classifier, "a good film", "bad"]) == 0
    answers = zoo.load(classifier).classify(["a good film", "bad"])
    assert capsys.readouterr().out.splitlines() == answers


@pytest.mark.parametrize("task", ["classify", "translate", "generate", "caption"])
def test_a_preset_of_another_task_is_not_loaded(task, capsys):
    given = __file__ if task == "caption" else "a"
    assert main([task, "birnn", given]) == 2
    message = capsys.readouterr().err
    assert f"birnn cannot {task}; the presets for it are " in message
    assert "loading" not in message


def test_generate_continues_each_line(made, capsys):
    preset = made("language_model")
    command = ["generate", preset, "a dog", "", "--max-length", "6"]
    assert main(command) == 0
    found = capsys.readouterr().out.splitlines()
    assert found == zoo.load(preset).generate(["a dog", ""], max_length=6)
    assert found[0].startswith("a dog") and len(found) == 2
    assert main([*command, "--batch-size", "1"]) == 0
    assert capsys.readouterr().out.splitlines() == found


@pytest.mark.parametrize(
    "options", [["--top-k", "5"], ["--top-p", "0.9"], ["--temperature", "3"]]
)
def test_generate_draws_words_by_a_seed(made, options, capsys):
    def run(*more):
        texts = ["a", "dog", "a dog", "a cat"]
        command = ["generate", made("language_model"), *texts, *options]
        assert main([*command, *more]) == 0
        return capsys.readouterr().out

    first = run()
    assert run() == first
    assert any(run("--seed", str(seed)) != first for seed in range(1, 5))


# === Images ===


@pytest.fixture
def images(tmp_path):
    image = pytest.importorskip("PIL.Image", reason="images are read by Pillow")
    paths = [str(tmp_path / f"{number}.png") for number in range(2)]
    for path, array in zip(paths, IMAGES, strict=False):
        image.fromarray(array).save(path)
    return paths


def test_captions(made, images, tmp_path, capsys):
    preset, out = made("captioner"), tmp_path / "out.txt"
    expected = zoo.load(preset).caption(images)
    assert main(["caption", preset, *images, "--output", str(out)]) == 0
    assert out.read_text().splitlines() == expected
    assert main(["caption", preset, *images, "--n-best", "2"]) == 0
    lines = [line.split(" ||| ") for line in capsys.readouterr().out.splitlines()]
    assert [line[0] for line in lines] == ["0", "0", "1", "1"]
    assert all(float(line[2]) <= 0 for line in lines)


def test_attention_is_drawn(made, images, tmp_path, capsys):
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    picture = tmp_path / "attention.png"
    assert main(["caption", made("captioner"), images[0], "--plot", str(picture)]) == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    for more, message in (
        (["--plot", "a.gif"], "ends in .png or .svg"),
        ([images[1], "--plot", "a.png"], "draws one image"),
        (["no.png"], "cannot read no.png"),
    ):
        assert main(["caption", made("captioner"), images[0], *more]) == 2
        assert message in capsys.readouterr().err
