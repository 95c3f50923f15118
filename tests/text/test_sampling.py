"""Words in other pieces, drawn by their probability."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
import sentencepiece

from zoo.text import SubwordSampling, Tokenizer, train_tokenizer

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
    ids = tokenizer.tokenize(["hund rennt"])[0]
    sampling = SubwordSampling(tokenizer.proto, alpha, best=512)
    first, second = (
        dict(segmentations(tokenizer.proto, word)) for word in ("hund", "rennt")
    )
    rng, count = np.random.default_rng(1), 4000
    drawn = Counter(tuple(sampling(ids, rng)) for _ in range(count))
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


def test_mean_and_deviation_of_the_lengths_are_those_of_what_is_drawn(tokenizer):
    sampling = SubwordSampling(tokenizer.proto, alpha=0.3)
    rows = [tokenizer.tokenize([TEXT])[0], [], tokenizer.tokenize(["a"])[0]]
    rng = np.random.default_rng(2)
    lengths = np.array([[len(sampling(row, rng)) for row in rows] for _ in range(3000)])
    means, deviations = sampling.lengths(rows)
    np.testing.assert_allclose(means, lengths.mean(axis=0), atol=0.1)
    np.testing.assert_allclose(deviations, lengths.std(axis=0), atol=0.1)
    assert means[1] == deviations[1] == 0
    assert [len(a) for a in sampling.lengths([])] == [0, 0]


def test_only_the_best_are_drawn_from(tokenizer):
    ids, rng = tokenizer.tokenize([TEXT])[0], np.random.default_rng(3)
    alone = SubwordSampling(tokenizer.proto, alpha=0.0, best=1)
    assert all(alone(ids, rng) == ids for _ in range(50))
    two = SubwordSampling(tokenizer.proto, alpha=0.0, best=2)
    hund = tokenizer.tokenize(["hund"])[0]
    assert len({tuple(two(hund, rng)) for _ in range(50)}) == 2


def test_the_text_stays_and_unknown_characters_too(tokenizer):
    def read(ids):
        return "".join(map(tokenizer.id_to_token, ids))

    sampling, rng = SubwordSampling(tokenizer.proto, 0.0), np.random.default_rng(4)
    for text in (TEXT, "a", "", "ein ☃hund rennt"):
        ids = tokenizer.tokenize([text])[0]
        drawn = {tuple(sampling(ids, rng)) for _ in range(30)}
        assert set(map(read, drawn)) == {read(ids)}
    unknown = tokenizer.tokenize(["☃hund"])[0]
    assert 1 in unknown
    assert all(sampling(unknown, rng) == unknown for _ in range(30))
    # The rest of a text that was cut within a word.
    assert (
        sampling(tokenizer.tokenize(["hund"])[0][1:], rng)
        == tokenizer.tokenize(["hund"])[0][1:]
    )


def test_equal_seeds_draw_the_same(tokenizer):
    ids, sampling = tokenizer.tokenize([TEXT])[0], SubwordSampling(tokenizer.proto)
    one, same, other = (
        [sampling(ids, rng) for _ in range(20)]
        for rng in map(np.random.default_rng, (5, 5, 6))
    )
    assert one == same != other


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
        SubwordSampling(tokenizer.proto, **options)


def test_a_model_with_one_segmentation_alone_is_refused():
    proto = train_tokenizer(TEXTS, vocabulary_size=25, model_type="char")
    with pytest.raises(ValueError, match="type unigram"):
        SubwordSampling(proto)
