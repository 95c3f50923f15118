"""The aligner, on a language whose links are known, and the scores of links."""

import numpy as np
import pytest

from tools.papers import aligner
from zoo.decoding import Translation

pytestmark = pytest.mark.backend_free


def language(count, seed):
    """Pairs of a made-up language, and their links.

    Word n is translated by "tn". A frequent word "the" before some nouns has no
    translation, a frequent "da" has no source; the last two source words change places.
    """
    draw, pairs, known = np.random.default_rng(seed), [], []
    for _ in range(count):
        words = draw.permutation(30)[: draw.integers(3, 8)]
        source, target, places = [], [], {}
        for number in words:
            if draw.random() < 0.3:
                source.append("the")
            places[number] = len(source)
            source.append(f"s{number}")
        order = [*words[:-2], words[-1], words[-2]]
        found = set()
        for number in order:
            if draw.random() < 0.2:
                target.append("da")
            found.add((places[number], len(target)))
            target.append(f"t{number}")
        pairs.append((source, target))
        known.append(found)
    return pairs, known


def test_links_of_a_known_language_are_found():
    pairs, known = language(400, seed=1)
    found = aligner.both_ways(pairs)
    rates = [
        aligner.error_rate(right, sure, possible)
        for right, (sure, possible) in zip(known, found, strict=True)
    ]
    assert np.mean(rates) < 0.08
    sure = sum(len(s & right) for right, (s, _) in zip(known, found, strict=True))
    assert sure > 0.97 * sum(map(len, known))
    assert all(one <= both for one, both in found)


def test_the_diagonal_decides_where_the_text_does_not():
    """Two words that are always together: text alone can't tell which is which."""
    pairs = [(["x", "y"], ["u", "v"])] * 20
    assert aligner.one_way(pairs)[0] == [0, 1]
    numbers, table, _, _ = aligner.learn(pairs)  # without preference
    assert table[numbers["x", "u"]] == pytest.approx(0.5)


def test_the_prior_is_the_formulas():
    prior = aligner._prior(2, 3, tension=4.0, empty=0.1)
    expected = np.array(
        [[np.exp(-4 * abs(i / 2 - j / 3)) for i in (1, 2)] for j in (1, 2, 3)]
    )
    expected = 0.9 * expected / expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(prior[:, 1:], expected)
    np.testing.assert_allclose(prior[:, 0], 0.1)


def test_words_without_a_counterpart_stay_alone():
    pairs, _ = language(400, seed=2)
    for (source, target), links in zip(pairs, aligner.one_way(pairs), strict=True):
        assert len(links) == len(target)
        for word, place in zip(target, links, strict=True):
            if word != "da" and place is not None:
                assert source[place] == "s" + word[1:]


def test_test_pairs_come_first_and_are_learnt_from_too():
    train, _ = language(300, seed=3)
    test, known = language(20, seed=4)
    sides = [[" ".join(pair[side]) for pair in train] for side in (0, 1)]
    tested = [(" ".join(s), " ".join(t)) for s, t in test]
    found = aligner.links(*sides, tested)
    assert [(s, t) for s, t, _, _ in found] == test
    rates = [
        aligner.error_rate(right, sure, possible)
        for right, (*_, sure, possible) in zip(known, found, strict=True)
    ]
    assert np.mean(rates) < 0.1
    with pytest.raises(ValueError, match="Received: 1 without one"):
        aligner.links(*sides, [*tested, ("a dog", " ")])


def test_the_error_rate_is_och_and_neys():
    sure, possible = {(0, 0), (1, 1)}, {(0, 0), (1, 1), (2, 1)}
    assert aligner.error_rate(sure, sure, possible) == 0
    assert aligner.error_rate(possible, sure, possible) == pytest.approx(0)
    assert aligner.error_rate({(0, 1)}, sure, possible) == 1
    chosen = {(0, 0), (2, 1), (3, 3)}  # 1 of S, 2 of P, 3 chosen, 2 sure
    assert aligner.error_rate(chosen, sure, possible) == pytest.approx(1 - 3 / 5)


def record(source, target, peaks):
    weights = np.full((len(target), len(source)), 0.01)
    weights[np.arange(len(target)), peaks] = 0.9
    return Translation(" ".join(target), 0.0, target, source, weights)


def test_counts_of_links():
    source, target = ["a", "b", "c", "d"], ["w", "x", "y"]
    known = (source, target, {(0, 0), (1, 1), (3, 2)}, {(0, 0), (1, 1), (2, 1), (3, 2)})
    other = (["e", "f"], ["u", "v"], {(0, 0), (1, 0)}, {(0, 0), (1, 0), (1, 1)})
    records = [
        record(["A", "b", "c", "d"], ["W", "x", "y"], [0, 0, 2]),
        record(["e", "f"], ["u", "v"], [1, 1]),
        record(["e", "f", "g"], ["u", "v"], [1, 1]),  # cut otherwise
    ]
    found = aligner.link_counts(records, [known, other, other])
    # Links a-w, a-x, c-y; moved by one: b-w, b-x, d-y. Words with one link: all three.
    assert found[0].tolist() == [1, 1, 3, 3, 2, 2, 2, 1, 0, 3]
    # f-u, f-v, which can't be moved; u has two links and v has none.
    assert found[1].tolist() == [1, 2, 2, 2, 1, 2, 0, 0, 0, 0]
    assert not found[2].any()


def test_words_are_cut_as_pieces_are_merged():
    assert aligner.words("A dog, an old-time House.") == [
        *["a", "dog", ",", "an", "old-time", "house", "."]
    ]
