"""Choices that follow from a size and the amount of text."""

import dataclasses
import math
from types import SimpleNamespace

import pytest

from tests.training.own_files import recipe
from zoo.training import ConfigurationError
from zoo.training.recipes.sizes import (
    MAX_EPOCHS,
    choices_for_pairs,
    epochs_for,
    plan,
    regularised,
    vocabulary_size,
    widened,
)

pytestmark = pytest.mark.backend_free


def text(pairs, words=None, languages=("en", "fr")):
    words = 20 * pairs if words is None else words
    characters = "é" * 60
    return SimpleNamespace(
        pairs=pairs, words=words, languages=languages, characters=characters
    )


@pytest.mark.parametrize(
    ("words", "characters", "most", "size"),
    [
        (700_000, 120, 8000, 4180),
        (10**8, 120, 8000, 8000),
        (50, 10, 8000, 100),
        (10_000, 900, 8000, 1800),  # Chinese: room for the characters
        (10_000, 4000, 2000, 4800),
    ],
)
def test_a_vocabulary_grows_with_the_text(words, characters, most, size):
    assert vocabulary_size(words, characters, most) == size


def test_little_text_is_read_more_often():
    assert epochs_for(10, 600_000) == MAX_EPOCHS
    assert epochs_for(29_000, 600_000) == 21
    assert epochs_for(5_000_000, 600_000) == 3


def test_widths_are_scaled_and_initial_weights_with_them():
    model = {"hidden_dim": 256, "filters": 100, "num_heads": 4, "norm": "pre"}
    found = widened({**model, "initializer_range": 0.2}, 0.25)
    assert found == {
        "hidden_dim": 64,
        "filters": 24,
        "num_heads": 4,
        "norm": "pre",
        "initializer_range": 0.4,
    }
    assert widened({"hidden_dim": 16}, 0.25) == {"hidden_dim": 8}


def test_little_text_needs_more_dropout():
    model = {"dropout": 0.1, "readout_dropout": 0.4, "hidden_dim": 8}
    assert regularised(model, 60_000) == model
    assert regularised(model, 59_999) == {**model, "dropout": 0.3}


@pytest.mark.parametrize(
    ("pairs", "widths", "buckets"),
    [
        (3000, {"tiny": 64, "small": 128, "medium": 256}, [4, 3, 4]),
        (29_999, {"tiny": 64, "small": 256, "medium": 512}, [4, 8, 14]),
    ],
)
def test_little_text_has_a_narrower_model_and_fewer_shapes(pairs, widths, buckets):
    luong = recipe("luong_local")
    found = {size: choices_for_pairs(luong, size, text(pairs)) for size in widths}
    assert {k: v.model["hidden_dim"] for k, v in found.items()} == widths
    assert [scale.buckets for scale in found.values()] == buckets


@pytest.mark.parametrize("size", ["tiny", "small", "medium"])
def test_a_size_changes_the_small_scale(size):
    luong = recipe("luong_local")
    small = luong.scales["small"]
    scale = choices_for_pairs(luong, size, text(100_000))
    width = {"tiny": 0.25, "small": 1, "medium": 2}[size]
    assert scale.model["hidden_dim"] == 256 * width
    assert scale.model["attention"] == "local_p" and scale.corpora == ()
    assert (scale.source, scale.target) == ("en", "fr")
    assert scale.vocabulary_size == {"tiny": 2000}.get(size, 7070)
    assert scale.epochs == {"tiny": 3, "small": 6, "medium": 18}[size]
    slower = math.sqrt(0.5) if size == "medium" else 1
    assert scale.optimizer.learning_rate == small.optimizer.learning_rate * slower
    assert scale.optimizer.warmup == small.optimizer.warmup


def test_the_papers_size_keeps_model_and_schedule():
    luong = recipe("luong_local")
    paper = luong.scales["paper"]
    scale = choices_for_pairs(luong, "paper", text(100_000))
    changed = {"corpora", "source", "target", "vocabulary_size", "patience"}
    changed |= {"tokenizer"}
    for field in dataclasses.fields(scale):
        same = getattr(scale, field.name) == getattr(paper, field.name)
        assert same or field.name in changed
    assert scale.vocabulary_size == 7070
    assert scale.tokenizer == {"normalization": "nfc"}
    assert paper.tokenizer == {"normalization": "nmt_nfkc"}


def test_fine_tuning_keeps_the_model_and_takes_smaller_steps():
    luong = recipe("luong_local")
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


def test_a_plan_for_other_tasks():
    lstm = recipe("lstm")
    scale, size = plan(lstm, "small", 40_000, 400_000)
    assert scale.epochs == 10 and scale.patience and size.width == 1
    scale, size = plan(lstm, "paper", 40_000, 400_000)
    assert size is None and scale.epochs == lstm.scales["paper"].epochs
