"""Scores from sums of counts, against sacreBLEU and by hand."""

import numpy as np
import pytest
from sacrebleu.metrics import BLEU

from tools.papers import counts

pytestmark = pytest.mark.backend_free

SOURCES = ["a dog runs", "one two three four five six seven " * 2, "x y", "a b c d"]
REFERENCES = [
    ["ein Hund rennt schnell davon ."],
    ["eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn ."],
    ["ja , nein"],
    ["a b c d e f", "a c"],
]
TEXTS = [
    "ein Hund rennt schnell .",
    "eins zwei drei vier fünf sieben sechs acht neun elf zwölf .",
    "ja",
    "a c d e f",
]


def sacrebleu(texts, references):
    streams = [[r[k] if k < len(r) else None for r in references] for k in (0, 1)]
    return BLEU().corpus_score(texts, streams).score


def test_bleu_is_sacrebleus():
    table = counts.bleu_counts(SOURCES, REFERENCES, TEXTS)
    assert table.shape == (4, 7)
    assert table[:, 0].tolist() == [3, 14, 2, 4]
    bleu = counts.MEASURES["bleu"]
    assert bleu.of(table) == pytest.approx(sacrebleu(TEXTS, REFERENCES))
    # Of a sample with repetitions.
    rows = [0, 0, 3]
    chosen = [TEXTS[i] for i in rows], [REFERENCES[i] for i in rows]
    assert bleu.of(table[rows]) == pytest.approx(sacrebleu(*chosen))
    # Of two samples at once.
    parts = bleu.parts(table)
    sums = np.stack([parts.sum(axis=0), parts[rows].sum(axis=0)])
    np.testing.assert_allclose(bleu.score(sums), [bleu.of(table), bleu.of(table[rows])])


@pytest.mark.parametrize(
    "text", ["a b x y", "a x b y", "z z z z", "a b", "z", "a b c x d e f"]
)
def test_bleu_without_matches_of_some_order_is_smoothed_alike(text):
    table = counts.bleu_counts(["s"], [["a b c d e f g"]], [text])
    expected = sacrebleu([text], [["a b c d e f g"]])
    assert counts.MEASURES["bleu"].of(table) == pytest.approx(expected, abs=1e-9)


def test_bleu_by_the_length_of_the_source():
    table = counts.bleu_counts(SOURCES, REFERENCES, TEXTS)
    assert counts.LONG == 13  # the second source alone is long
    short = [0, 2, 3]
    short = sacrebleu([TEXTS[i] for i in short], [REFERENCES[i] for i in short])
    long = sacrebleu(TEXTS[1:2], REFERENCES[1:2])
    both = sacrebleu(TEXTS, REFERENCES)
    assert counts.MEASURES["drop"].of(table) == pytest.approx(short - long)
    assert counts.MEASURES["held"].of(table) == pytest.approx(long - 0.9 * both)
    assert counts.bleu_between(table, 13, 20) == pytest.approx(long)
    assert counts.bleu_between(table, 5, 9) is None


def test_perplexity_is_exp_of_the_mean():
    rows = [np.array([-1.25, -0.5]), np.array([-2.0])]
    table = counts.reading_counts(rows)
    assert table.tolist() == [[175, 2], [200, 1]]
    assert counts.MEASURES["perplexity"].of(table) == pytest.approx(np.exp(1.25))


def test_shares_and_error_rates_of_links():
    table = np.array([[3, 4, 5, 4, 1, 2, 1, 2, 0, 4], [1, 1, 2, 1, 2, 3, 0, 1, 1, 2]])
    expected = {
        "aer": 1 - (4 + 5) / (7 + 5),
        "aer moved": 1 - (3 + 5) / (7 + 5),
        "left": 1 / 6,
        "on": 3 / 6,
        "right": 1 / 6,
    }
    for name, value in expected.items():
        assert counts.MEASURES[name].of(table) == pytest.approx(value), name


def test_packed_counts_come_back():
    table = np.random.default_rng(3).integers(0, 40, (100, 7))
    table[3, 2] = 12345
    text = counts.pack(table)
    assert text.isascii() and "\n" not in text
    np.testing.assert_array_equal(counts.unpack(text), table)


def test_any_other_name_is_an_error_which_has_no_counts():
    measure = counts.measure_of("regression brnn")
    assert measure.counts is None and not measure.higher
