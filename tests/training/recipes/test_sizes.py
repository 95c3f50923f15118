"""Choices that follow from a size and the amount of text."""

import dataclasses
import math
from types import SimpleNamespace

import pytest

from tests.training.own_files import recipe
from zoo.training import ConfigurationError
from zoo.training.recipes.sizes import (
    choices_for_pairs,
    choices_for_texts,
    vocabulary_size,
    widened,
)

pytestmark = pytest.mark.backend_free


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


@pytest.mark.parametrize("size", ["tiny", "small", "medium"])
def test_a_size_changes_the_small_scale(luong, size):
    small = luong.scales["small"].optimizer
    scale = choices_for_pairs(luong, size, text(100_000))
    assert scale.model["attention"] == "local_p" and scale.corpora == ()
    assert (scale.source, scale.target) == ("en", "fr")
    assert scale.vocabulary_size == {"tiny": 2000}.get(size, 7070)
    slower = math.sqrt(0.5) if size == "medium" else 1
    assert scale.optimizer.learning_rate == small.learning_rate * slower
    assert scale.optimizer.warmup == small.warmup


def test_the_papers_size_keeps_model_and_schedule(luong):
    paper = luong.scales["paper"]
    scale = choices_for_pairs(luong, "paper", text(100_000))
    changes = {"corpora": (), "source": "en", "target": "fr", "patience": 8}
    changes |= {"vocabulary_size": 7070, "tokenizer": {"normalization": "nfc"}}
    assert scale == dataclasses.replace(paper, **changes)


def test_fine_tuning_keeps_the_model_and_takes_smaller_steps(luong):
    config = {"name": "x", "dtype": "float32", "vocabulary_size": 99, "hidden_dim": 7}

    class Task:
        backbone = SimpleNamespace(get_config=lambda: config, vocabulary_size=99)

    own = dataclasses.replace(luong.user_text, task=lambda: Task)
    luong = dataclasses.replace(luong, user_text=own)
    scale = choices_for_pairs(luong, "small", text(30_000), Task())
    assert scale.model == {"hidden_dim": 7} and scale.vocabulary_size == 99
    rate = luong.scales["small"].optimizer.learning_rate
    assert scale.optimizer.learning_rate == rate / 4 and scale.epochs == 6
    with pytest.raises(ConfigurationError, match="trains a Task. Received: a str"):
        choices_for_pairs(luong, "small", text(30_000), "another")


def test_other_tasks_have_their_own_amounts_and_widths():
    lstm, texts = recipe("lstm"), SimpleNamespace(train=[""] * 40_000)
    scale = choices_for_texts(lstm, "medium", texts)
    assert (scale.epochs, scale.hidden_dim, scale.corpus) == (30, 600, "own")
    scale = choices_for_texts(lstm, "paper", texts)
    assert (scale.epochs, scale.hidden_dim) == (lstm.scales["paper"].epochs, 300)
    birnn = choices_for_texts(recipe("birnn"), "tiny", texts)
    assert birnn.model["filters"] == 32 and birnn.epochs == 3
