"""A recipe on a user's own text: its command line, its folder, its preset."""

import csv
import dataclasses
import json
import math
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import zoo
from tests.training.own_files import SMALL, options, pairs, recipe, write_pairs
from zoo.analysis.evaluation import corpus_scores
from zoo.cli import main
from zoo.presets.card import UNSTATED, read_card
from zoo.training import ClassArguments, ConfigurationError
from zoo.training.recipes.user_text import (
    choices_for_pairs,
    choices_for_texts,
    vocabulary_size,
    widened,
)

pytestmark = pytest.mark.once  # test_translation.py trains under each backend


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own")
    write_pairs(folder, "my", 120)
    write_pairs(folder, "test", 12, seed=9)
    return folder


@pytest.fixture(scope="module")
def trained(folder):
    """A run on two files, with a test."""
    argv = ["--train", str(folder / "my.en"), str(folder / "my.de")]
    argv += ["--test", str(folder / "test.en"), str(folder / "test.de")]
    argv += [*options(), f"--output={folder / 'mine'}"]
    assert recipe("luong_dot").main(argv) == 0
    return folder / "mine"


# === A run ===


def test_its_preset_translates_and_has_the_folders_name(trained):
    model = zoo.load(trained)
    assert isinstance(model.translate("ba de"), str)
    assert model.backbone.attention == "global"
    assert [path.name for path in (trained / "preset").iterdir()] == ["mine"]


def test_its_card_says_what_is_known_and_what_is_not(trained):
    card = read_card(trained / "preset" / "mine")
    assert card.name == "mine" and card.languages == ["en", "de"]
    assert card.title.endswith("English to German")
    assert card.data == [{"name": "my.en, my.de", "terms": UNSTATED}]
    assert card.license == UNSTATED
    assert "zoo train luong_dot --train my.en my.de" in card.recipe
    assert str(trained.parent) not in card.recipe
    score = card.scores[0]
    assert (score["data"], score["split"]) == ("test.en, test.de", "test")
    assert score["command"] == "zoo evaluate mine --test test.en test.de"
    assert "--test test.en test.de" in card.recipe


def test_its_score_is_that_of_zoo_evaluate(trained, folder, capsys):
    results = json.loads((trained / "results.json").read_text())
    files = [str(folder / f"test.{language}") for language in ("en", "de")]
    assert main(["evaluate", str(trained), "--test", *files]) == 0
    bleu = capsys.readouterr().out.splitlines()[0]
    assert bleu.startswith(f"BLEU {results['test']['bleu']['score']:.2f} ")


def test_a_resumed_run_reads_the_files_from_wherever_it_is(
    trained, tmp_path, monkeypatch, capsys
):
    copy = tmp_path / "mine"
    shutil.copytree(trained, copy)
    monkeypatch.chdir(tmp_path)
    assert main(["train", "--resume", str(copy), "--epochs", "3"]) == 0
    errors = capsys.readouterr().err
    assert "resumed after epoch 2" in errors and "training the vocabulary" not in errors
    assert len(list(csv.reader((copy / "log.csv").open()))) == 4


def test_another_text_in_the_same_folder_is_refused(trained, tmp_path, capsys):
    files = write_pairs(tmp_path, "other", 60, seed=5)
    argv = ["--train", *files, *options(), f"--output={trained}"]
    assert recipe("luong_dot").main(argv) == 2
    assert "text" in capsys.readouterr().err


# === Fine-tuning ===


def test_fine_tuning_starts_from_the_presets_weights(trained, folder, capsys):
    files = [str(folder / f"my.{language}") for language in ("en", "de")]
    valid = [str(folder / f"test.{language}") for language in ("en", "de")]
    argv = ["--from", str(trained), "--train", *files, "--valid", *valid]
    argv += ["--set=buckets=1", "--epochs=1", "--set=samples=0"]
    assert main(["train", *argv, f"--output={folder / 'more'}"]) == 0
    errors = capsys.readouterr().err
    assert "training the vocabulary" not in errors
    old, new = (zoo.load(path) for path in (trained, folder / "more"))
    sources, targets = (Path(file).read_text().splitlines() for file in valid)
    for name, model in (("before: ", old), ("beam of 5: BLEU ", new)):
        texts = model.translate(sources, beam_size=5)
        bleu = corpus_scores(texts, [[t] for t in targets])["bleu"]["score"]
        assert f"{name}{bleu:.2f}" in errors
    assert new.preprocessor.tokenizer.proto == old.preprocessor.tokenizer.proto
    assert new.backbone.hidden_dim == SMALL["model.hidden_dim"]
    results = json.loads((folder / "more" / "results.json").read_text())
    assert set(results["valid"]["before"]) == {"bleu", "chrf"}
    card = read_card(folder / "more" / "preset" / "more")
    assert card.description.endswith("Fine-tuned from mine.")
    assert [corpus["name"] for corpus in card.data] == ["my.en, my.de"] * 2
    assert "--from mine" in card.recipe and "--scale" not in card.recipe


def test_a_recipes_own_text_can_start_from_a_preset_too(folder, capsys):
    argv = ["--from", "luong_local", "--scale=tiny", "--set=pairs=30", "--epochs=1"]
    argv += ["--set=model.window=2", "--set=buckets=1", "--set=optimizer.warmup=0"]
    argv += ["--set=optimizer.learning_rate=1e-9", f"--output={folder / 'narrow'}"]
    assert recipe("luong_local").main([*argv, "--set=pieces=char"]) == 2
    assert "vocabulary. Received: --set pieces=char" in capsys.readouterr().err
    assert recipe("luong_local").main(argv) == 0
    assert "training the vocabulary" not in capsys.readouterr().err
    old, new = zoo.load("luong_local"), zoo.load(folder / "narrow")
    assert new.preprocessor.tokenizer.proto == old.preprocessor.tokenizer.proto
    changes = {"name": new.backbone.name, "window": 2, "dropout": 0.0}
    assert new.backbone.get_config() == old.backbone.get_config() | changes
    for weight, start in zip(new.backbone.weights, old.backbone.weights, strict=True):
        np.testing.assert_allclose(weight, start, atol=1e-5)


def test_a_preset_of_another_kind_is_refused(trained, folder, capsys):
    files = [str(folder / f"my.{language}") for language in ("en", "de")]
    argv = ["--from", str(trained), "--train", *files, f"--output={folder / 'x'}"]
    assert recipe("bahdanau").main(argv) == 2
    assert "trains a Bahdanau. Received: a Luong" in capsys.readouterr().err
    argv = ["--from", "nowhere", *argv[2:]]
    assert recipe("luong_dot").main(argv) == 2
    assert "unknown preset" in capsys.readouterr().err


def test_what_python_was_given_is_resumed_from_python(tmp_path, capsys):
    output, data = tmp_path / "x", pairs(40)
    zoo.train("luong_dot", data, output=output, choices={**SMALL, "epochs": 1})
    assert main(["train", "--resume", str(output)]) == 2
    assert "call zoo.train again" in capsys.readouterr().err


# === Choices that follow from a size and the amount of text ===


def text(pairs):
    """A text of 20 words a pair."""
    return SimpleNamespace(
        train=range(pairs),
        words=20 * pairs,
        languages=("en", "fr"),
        characters="é" * 60,
    )


@pytest.fixture(scope="module")
def luong():
    return recipe("luong_local")


@pytest.mark.parametrize(
    ("words", "characters", "most", "size"),
    [
        (700_000, 120, 8000, 4180),
        (10**8, 120, 8000, 8000),
        (10_000, 900, 8000, 1800),  # Chinese: room for the characters
        (10_000, 4000, 2000, 4800),
    ],
)
def test_a_vocabulary_grows_with_the_text(words, characters, most, size):
    assert vocabulary_size(words, characters, most) == size


def test_widths_are_scaled_and_initial_weights_with_them():
    model = {"hidden_dim": 256, "filters": 100, "num_heads": 4, "norm": "pre"}
    wanted = {**model, "hidden_dim": 64, "filters": 24, "initializer_range": 0.4}
    assert widened({**model, "initializer_range": 0.2}, 0.25) == wanted
    assert widened({"hidden_dim": 16}, 0.25) == {"hidden_dim": 8}


@pytest.mark.parametrize(
    ("pairs", "size", "width", "buckets", "epochs", "dropout"),
    [
        (3000, "tiny", 64, 4, 50, 0.1),
        (3000, "small", 128, 3, 50, 0.3),
        (29_999, "medium", 512, 14, 50, 0.3),
        (60_000, "small", 256, 8, 10, 0.1),
        (5_000_000, "small", 256, 8, 3, 0.1),
    ],
)
def test_little_text_is_read_more_often_by_a_narrower_model(
    luong, pairs, size, width, buckets, epochs, dropout
):
    scale = choices_for_pairs(luong, size, text(pairs))
    found = scale.model["hidden_dim"], scale.buckets, scale.epochs
    assert found == (width, buckets, epochs)
    assert scale.model["dropout"] == dropout


@pytest.mark.parametrize("size", ["tiny", "medium"])
def test_a_size_changes_the_small_scale(luong, size):
    small = luong.scales["small"].optimizer
    scale = choices_for_pairs(luong, size, text(100_000))
    assert scale.model["attention"] == "local_p" and scale.corpora == ()
    assert (scale.source, scale.target) == ("en", "fr")
    assert scale.vocabulary_size == {"tiny": 2000}.get(size, 7070)
    slower = math.sqrt(0.5) if size == "medium" else 1
    assert scale.optimizer.learning_rate == small.learning_rate * slower


def test_the_papers_size_keeps_model_and_schedule(luong):
    scale = choices_for_pairs(luong, "paper", text(100_000))
    changes = {"corpora": (), "source": "en", "target": "fr", "patience": 8}
    changes |= {"vocabulary_size": 7070, "tokenizer": {"normalization": "nfc"}}
    assert scale == dataclasses.replace(luong.scales["paper"], **changes)


def test_fine_tuning_keeps_the_model_and_takes_smaller_steps(luong):
    config = {"name": "x", "dtype": "float32", "vocabulary_size": 99, "hidden_dim": 7}

    class Model:
        vocabulary_size = 99

        def __init__(self, vocabulary_size=1, hidden_dim=2, dtype=None):
            pass

        def get_config(self):
            return config

    classes = {"model": ClassArguments(lambda: Model)}
    luong, start = dataclasses.replace(luong, classes=classes), SimpleNamespace()
    start.backbone = Model()
    scale = choices_for_pairs(luong, "small", text(30_000), start)
    assert scale.model == {"hidden_dim": 7} and scale.vocabulary_size == 99
    rate = luong.scales["small"].optimizer.learning_rate
    assert scale.optimizer.learning_rate == rate / 4 and scale.epochs == 6
    start.backbone = "another"
    with pytest.raises(ConfigurationError, match="trains a Model. Received: a str"):
        choices_for_pairs(luong, "small", text(30_000), start)


def test_other_tasks_have_their_own_amounts_and_widths():
    lstm, texts = recipe("lstm"), SimpleNamespace(train=[""] * 40_000)
    scale = choices_for_texts(lstm, "medium", texts)
    assert (scale.epochs, scale.hidden_dim, scale.corpus) == (30, 600, "own")
    scale = choices_for_texts(lstm, "paper", texts)
    assert (scale.epochs, scale.hidden_dim) == (lstm.scales["paper"].epochs, 300)
    birnn = choices_for_texts(recipe("birnn"), "tiny", texts)
    assert birnn.model["filters"] == 32 and birnn.epochs == 3
