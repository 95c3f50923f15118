"""Measures where the attention of presets points, against a dictionary of word pairs.

    KERAS_BACKEND=jax python -m tools.presets.alignments NAME [NAME ...]

The dictionary is made of the training text by IBM's Model 1 (Brown et al. 1993) in both
directions: a pair of words is in it if each is the other's translation with at least
half of the probability, and both occur ten times. Punctuation is left out, and so are
the twenty words of either language that are most frequent: articles and the like depend
on more than one word.

The references of a test set are then read by the model (`align`), pieces merged into
words. A target word counts if the sentence has exactly one source word, at one place,
that the dictionary pairs it with. "right" is the share of words whose largest weight
lies there, "one left" and "one right" that of those whose largest weight lies one word
before and behind it.

Attention is no alignment (Jain & Wallace 2019), and need not be one to translate well.
This says whether a picture of it can be read as one.
"""

import argparse
import collections
import re
import sys

import numpy as np

import zoo

CORPORA = ("multi30k", "tatoeba")
TEST = ("multi30k", "test_2016_flickr")
LEAST_COUNT, LEAST_SHARE, ROUNDS = 10, 0.5, 8


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", metavar="NAME", nargs="+", help="what zoo.load takes")
    parser.add_argument("--limit", type=int, help="sentences (default: all)")
    arguments = parser.parse_args(argv)
    corpus, split = TEST
    pairs = zoo.data.load(corpus, split=split)
    sources, targets = pairs.sources, pairs.targets
    sources, targets = sources[: arguments.limit], targets[: arguments.limit]
    known = dictionary(training_words())
    print(f"{len(known):,} pairs of words; {len(sources):,} sentences of {split}")
    print("preset                words  right  one left  one right")
    for name in arguments.names:
        records = zoo.load(name).align(sources, targets)
        found = score([record.merge_words() for record in records], known)
        shares = (f"{found[key]:9.1%}" for key in ("right", "one left", "one right"))
        print(f"{name:20} {found['words']:6} {' '.join(shares)}", flush=True)
    return 0


def training_words():
    """The words of both sides of the training text: list of (list, list) of str."""
    found = []
    for name in CORPORA:
        pairs = zoo.data.load(name, split="train")
        found += [
            (words(s), words(t))
            for s, t in zip(pairs.sources, pairs.targets, strict=True)
        ]
    return found


def words(text):
    """A text's words in lower case, as `Translation.merge_words` cuts pieces."""
    return re.findall(r"[^\w\s]|\w(?:\S*\w)?", text.lower())


def dictionary(pairs, most_frequent=20):
    """Pairs of words that are each other's translation.

    Args:
        pairs: list of (source words, target words).
        most_frequent: words of either side that are left out.

    Returns:
        Set of (source word, target word).
    """
    there = translation_table(pairs)
    back = translation_table([(target, source) for source, target in pairs])
    counts = [
        collections.Counter(word for pair in pairs for word in pair[side])
        for side in (0, 1)
    ]
    frequent = [{word for word, _ in c.most_common(most_frequent)} for c in counts]
    return {
        (source, target)
        for (source, target), share in there.items()
        if source.isalpha()
        and source not in frequent[0]
        and target not in frequent[1]
        and share >= LEAST_SHARE
        and back.get((target, source), 0.0) >= LEAST_SHARE
        and counts[0][source] >= LEAST_COUNT
        and counts[1][target] >= LEAST_COUNT
    }


def translation_table(pairs):
    """Model 1: t(target word | source word) by expectation maximisation, of all pairs
    with at least a tenth. No empty source word.

    Args:
        pairs: list of (source words, target words).

    Returns:
        Dict of (source word, target word) to probability.
    """
    numbers = {}  # a pair of words -> its number
    entries, places, place = [], [], 0
    for source, target in pairs:
        for word in target:
            for other in source:
                entries.append(numbers.setdefault((other, word), len(numbers)))
                places.append(place)
            place += 1
    entries, places = np.array(entries), np.array(places)
    vocabulary = {}
    of = [vocabulary.setdefault(source, len(vocabulary)) for source, _ in numbers]
    of, table = np.array(of), np.ones(len(numbers))
    for _ in range(ROUNDS):
        weights = table[entries]
        weights /= np.bincount(places, weights)[places]
        counts = np.bincount(entries, weights)
        table = counts / np.bincount(of, counts)[of]
    return {pair: table[n] for pair, n in numbers.items() if table[n] >= 0.1}


def score(records, known):
    """Where the largest weights lie.

    Args:
        records: list of `zoo.decoding.Translation` of words.
        known: set of (source word, target word).

    Returns:
        Dict of "words", how many counted, and the shares "right", "one left" and "one
        right", NaN where none counted.
    """
    apart = collections.Counter()
    for record in records:
        source = [token.lower() for token in record.source_tokens]
        for row, token in enumerate(record.tokens):
            places = [i for i, s in enumerate(source) if (s, token.lower()) in known]
            if len(places) == 1:
                apart[int(np.argmax(record.alignment[row])) - places[0]] += 1
    total = sum(apart.values())
    shares = {"right": 0, "one left": -1, "one right": 1}
    return {
        "words": total,
        **{k: apart[d] / total if total else float("nan") for k, d in shares.items()},
    }


if __name__ == "__main__":
    sys.exit(main())
