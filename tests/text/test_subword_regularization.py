"""Words in other pieces, drawn by their probability."""

import itertools
import math
import pickle
from collections import Counter

import numpy as np
import pytest
import sentencepiece

from zoo.text import (
    SubwordRegularization,
    Tokenizer,
    subword_regularization,
    train_tokenizer,
)

pytestmark = pytest.mark.backend_free

TEXTS = [
    "ein hund rennt",
    "die hunde rennen",
    "eine katze schläft",
    "katzen schlafen",
    "der rand und das rund",
    "hunderte kennen den hund",
]
TEXT = "ein hund rennt katzen"


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer(proto=train_tokenizer(TEXTS * 3, vocabulary_size=35))


def segmentations(proto, word):
    """All segmentations of "▁" + word into pieces, with their log-probability."""
    model = sentencepiece.SentencePieceProcessor(model_proto=proto)
    text = "▁" + word
    for cuts in itertools.product((False, True), repeat=len(text) - 1):
        ends = [i + 1 for i, cut in enumerate(cuts) if cut] + [len(text)]
        pieces = [text[a:b] for a, b in itertools.pairwise([0, *ends])]
        ids = tuple(map(model.piece_to_id, pieces))
        if 1 not in ids:
            yield ids, sum(map(model.get_score, ids))


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
def test_words_are_drawn_by_the_power_of_their_probability(tokenizer, alpha):
    rows = tokenizer.tokenize(["hund rennt"])
    draw = SubwordRegularization(tokenizer.proto, alpha, best=512)
    first, second = (
        dict(segmentations(tokenizer.proto, word)) for word in ("hund", "rennt")
    )
    rng, count = np.random.default_rng(1), 4000
    drawn = Counter(tuple(draw(rows, rng)[0]) for _ in range(count))
    # Words are drawn by themselves: probabilities of the two are multiplied.
    weights = {
        a + b: math.exp(alpha * (first[a] + second[b])) for a in first for b in second
    }
    total = sum(weights.values())
    assert len(weights) > 10 and set(drawn) <= set(weights)
    for one, weight in weights.items():
        share = weight / total
        deviation = math.sqrt(share * (1 - share) / count)
        assert abs(drawn[one] / count - share) < 5 * deviation + 1e-3


def test_growth_is_that_of_what_is_drawn(tokenizer):
    draw = SubwordRegularization(tokenizer.proto, alpha=0.3)
    rows = tokenizer.tokenize([TEXT, "", "hund", "die hunde rennen"])
    pieces = np.array(list(map(len, rows)))
    rng = np.random.default_rng(2)
    lengths = np.array([list(map(len, draw(rows, rng))) for _ in range(3000)])
    mean, variance = draw.growth(rows)
    assert mean == pytest.approx(lengths.sum() / (3000 * pieces.sum()), rel=0.02)
    squares = ((lengths - mean * pieces) ** 2).sum() / 3000
    assert variance == pytest.approx(squares / pieces.sum(), rel=0.1)
    assert mean > 1.2 and variance > 0.1
    assert draw.growth([]) == draw.growth([[]]) == (1, 0)
    # Of many rows some are measured, from the first to the last.
    many = draw.growth([rows[0]] * 3000 + [rows[2]] * 3000)
    assert many == pytest.approx(draw.growth([rows[0], rows[2]]), rel=0.01)


def test_only_the_best_are_drawn_from(tokenizer):
    rows, rng = tokenizer.tokenize([TEXT, "hund"]), np.random.default_rng(3)
    alone = SubwordRegularization(tokenizer.proto, alpha=0.0, best=1)
    assert all(alone(rows, rng) == rows for _ in range(50))
    two = SubwordRegularization(tokenizer.proto, alpha=0.0, best=2)
    assert len({tuple(two(rows, rng)[1]) for _ in range(50)}) == 2


def test_the_text_stays_and_unknown_characters_too(tokenizer):
    def read(ids):
        return "".join(map(tokenizer.id_to_token, ids))

    draw, rng = SubwordRegularization(tokenizer.proto, 0.0), np.random.default_rng(4)
    rows = tokenizer.tokenize([TEXT, "a", "", "ein ☃hund rennt", "hund", "☃hund"])
    rows[4] = rows[4][1:]  # the rest of a text that was cut within a word
    drawn = [draw(rows, rng) for _ in range(30)]
    for found in drawn:
        assert list(map(read, found)) == list(map(read, rows))
        assert found[4:] == rows[4:]  # no word of the model's
    assert 1 in rows[5] and len({tuple(found[3]) for found in drawn}) > 5


def test_equal_seeds_draw_the_same_from_a_copy_too(tokenizer):
    rows = tokenizer.tokenize([TEXT])
    draw = SubwordRegularization(tokenizer.proto)
    copy = pickle.loads(pickle.dumps(draw))
    one, same, other = (
        [function(rows, rng) for _ in range(20)]
        for function, rng in zip(
            (draw, copy, draw), map(np.random.default_rng, (5, 5, 6)), strict=True
        )
    )
    assert one == same != other


def test_words_that_are_no_longer_kept_are_segmented_again(tokenizer, monkeypatch):
    rows = tokenizer.tokenize([TEXT, "die katze"])
    expected = SubwordRegularization(tokenizer.proto)(rows, np.random.default_rng(7))
    monkeypatch.setattr(subword_regularization, "KEPT", 1)
    monkeypatch.setattr(subword_regularization, "LONGEST", 3)
    draw = SubwordRegularization(tokenizer.proto)
    for _ in range(2):
        assert draw(rows, np.random.default_rng(7)) == expected
    assert len(draw._known) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": -0.1}, "alpha.*-0.1"),
        ({"best": 0}, "best.*0"),
        ({"best": 513}, "512.*513"),
    ],
)
def test_numbers_out_of_range_are_refused(tokenizer, options, message):
    with pytest.raises(ValueError, match=message):
        SubwordRegularization(tokenizer.proto, **options)


def test_a_model_with_one_segmentation_alone_is_refused():
    proto = train_tokenizer(TEXTS, vocabulary_size=25, model_type="char")
    with pytest.raises(ValueError, match="type unigram"):
        SubwordRegularization(proto)
