"""A statistical aligner, and how far a model's attention agrees with it.

The aligner is IBM's Model 1 (Brown et al. 1993) whose prior prefers the diagonal, as in
Dyer et al. 2013 (fast_align, here with its fixed tension of 4 and without its sparse
prior): target word j of J comes from no source word with probability 0.08, and from
word i of I in proportion to exp(-4 |i/I - j/J|). It is trained in both directions;
links that both find are sure, S, those of either are possible, P.

Attention is scored as Luong et al. 2015, section 5.4, do: the model reads the
reference, and each target word is linked to the source word of its largest weight. AER
is that of Och & Ney 2003. Theirs is against links drawn by hand; this one is against
another model's, and tells how alike the two are.
"""

import re

import numpy as np

TENSION, EMPTY, ROUNDS = 4.0, 0.08, 8
COLUMNS = 10  # of `link_counts`


def words(text):
    """A text's words in lower case, as `Translation.merge_words` cuts pieces."""
    return re.findall(r"[^\w\s]|\w(?:\S*\w)?", text.lower())


def learn(pairs, rounds=ROUNDS, tension=0.0, empty=0.0):
    """Model 1: t(target word | source word) by expectation maximisation.

    Args:
        pairs: list of (source words, target words).
        rounds: of expectation maximisation.
        tension: how much the diagonal is preferred; 0 for not at all.
        empty: probability of the empty source word, None; 0 for no such word.

    Returns:
        Dict of (source word, target word) to a number; array of the probability of
        each; array of the numbers of all links that the text allows, target word by
        target word, each of which has the empty word, if any, and all source words in
        order; array of their prior probabilities.
    """
    numbers, entries, priors, sizes = {}, [], [], []
    for source, target in pairs:
        choices = [None, *source] if empty else source
        for word in target:
            entries += [
                numbers.setdefault((one, word), len(numbers)) for one in choices
            ]
        priors.append(_prior(len(source), len(target), tension, empty).ravel())
        sizes += [len(choices)] * len(target)
    entries, priors = np.array(entries), np.concatenate(priors)
    places = np.repeat(np.arange(len(sizes)), sizes)
    sources = {}
    of = [sources.setdefault(source, len(sources)) for source, _ in numbers]
    of, table = np.array(of), np.ones(len(numbers))
    for _ in range(rounds):
        weights = table[entries] * priors
        weights /= np.bincount(places, weights)[places]
        counts = np.bincount(entries, weights)
        table = counts / np.bincount(of, counts)[of]
    return numbers, table, entries, priors


def _prior(source, target, tension, empty):
    """The prior of each link of a pair: (target words, [1 +] source words)."""
    i, j = np.arange(1, source + 1) / source, np.arange(1, target + 1) / target
    prior = np.exp(-tension * np.abs(i - j[:, None]))
    prior *= (1 - empty) / prior.sum(axis=1, keepdims=True)
    return np.insert(prior, 0, empty, axis=1) if empty else prior


def one_way(pairs):
    """The likeliest source word of each target word.

    Args:
        pairs: see `learn`; the alignments of all are returned.

    Returns:
        For each pair a list with an index, or None for the empty word, for each target
        word.
    """
    _, table, entries, priors = learn(pairs, ROUNDS, TENSION, EMPTY)
    weights, start, found = table[entries] * priors, 0, []
    for source, target in pairs:
        width = len(source) + 1
        part = weights[start : start + width * len(target)].reshape(-1, width)
        best = part.argmax(axis=1).tolist() if target else []
        found.append([place - 1 if place else None for place in best])
        start += width * len(target)
    return found


def both_ways(pairs):
    """The links of each pair, from alignments in both directions.

    Returns:
        For each pair `(sure, possible)`, sets of (source place, target place).
    """
    there = one_way(pairs)
    back = one_way([(target, source) for source, target in pairs])
    found = []
    for forward, backward in zip(there, back, strict=True):
        one = {(i, j) for j, i in enumerate(forward) if i is not None}
        other = {(i, j) for i, j in enumerate(backward) if j is not None}
        found.append((one & other, one | other))
    return found


def links(source, target, tested):
    """The links of test pairs, the aligner trained on them and on the training text.

    Args:
        source, target: training sentences, lists of str.
        tested: list of (source sentence, target sentence).

    Returns:
        For each test pair `(source words, target words, sure, possible)`.
    """
    pairs = [
        (words(s), words(t)) for s, t in (*tested, *zip(source, target, strict=True))
    ]
    found = both_ways([pair for pair in pairs if all(pair)])
    tests = [pair for pair in pairs[: len(tested)] if all(pair)]
    if len(tests) != len(tested):
        raise ValueError(
            "Every test sentence must have a word. Received: "
            f"{len(tested) - len(tests)} without one"
        )
    return [(*pair, *one) for pair, one in zip(tests, found, strict=False)]


def error_rate(chosen, sure, possible):
    """AER of sets of links: 1 - (|A∩S| + |A∩P|) / (|A| + |S|), P taken to contain S."""
    right = len(chosen & sure) + len(chosen & (possible | sure))
    return 1 - right / (len(chosen) + len(sure))


def link_counts(records, known):
    """Counts of how a model's attention agrees with an aligner's links.

    Args:
        records: list of `zoo.decoding.Translation`, of words, of given references.
        known: for each `(source words, target words, sure, possible)`, as `links`
            returns them.

    Returns:
        Int (sentences, 10): for A, the links of the largest weights, |A∩S|, |A∩P|, |A|
        and |S|; |A∩S| and |A∩P| after each link is moved by one source word to the
        right; of the target words with one sure link, those whose largest weight lies
        one word to the left of it, on it, one word to the right, and how many there
        are. Zeros for a sentence whose pieces make other words.
    """
    rows = []
    for record, (source, target, sure, possible) in zip(records, known, strict=True):
        same = [word.lower() for word in record.source_tokens] == source
        if not same or [word.lower() for word in record.tokens] != target:
            rows.append([0] * COLUMNS)
            continue
        peaks = np.argmax(record.alignment, axis=1).tolist()
        last, row = len(source) - 1, []
        for move in (0, 1):
            chosen = {(min(i + move, last), j) for j, i in enumerate(peaks)}
            row += [len(chosen & sure), len(chosen & possible)]
        apart = [peaks[j] - i for j, i in _only(sure)]
        near = [apart.count(distance) for distance in (-1, 0, 1)]
        rows.append([*row[:2], len(peaks), len(sure), *row[2:], *near, len(apart)])
    return np.array(rows)


def _only(sure):
    """The target places that have one sure link, each with its source place."""
    sources = {}
    for i, j in sure:
        sources.setdefault(j, []).append(i)
    return [(j, found[0]) for j, found in sorted(sources.items()) if len(found) == 1]
