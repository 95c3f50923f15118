"""How far a model's attention agrees with the links of a statistical aligner.

eflomal 2.0.0 (Östling & Tiedemann 2016) linked the words of Multi30k's training and
test pairs in both directions, by this module at commit 5301bd9.
docs/reproduction/links.txt has the links of the test pairs: those that both directions
have are sure, S, those of either are possible, P.

Attention is scored as Luong et al. 2015, section 5.4, do: the model reads the
reference, and each target word is linked to the source word of its largest weight. AER
is that of Och & Ney 2003. Theirs is against links drawn by hand; this one is against
another model's, and tells how alike the two are.
"""

import collections
import re

import numpy as np

from tools import ROOT

LINKS = ROOT / "docs" / "reproduction" / "links.txt"
TEST = ("multi30k", "test_2016_flickr")
COLUMNS = 10  # of `link_counts`


def words(text):
    """A text's words in lower case, as `Translation.merge_words` cuts pieces."""
    return re.findall(r"[^\w\s]|\w(?:\S*\w)?", text.lower())


def read(path=LINKS):
    """Reads a file of links: a line for each pair, `i-j` for a sure link of the source
    word i and the target word j, `i?j` for one that is only possible.

    Returns:
        For each pair `(sure, possible)`, sets of (source place, target place).
    """
    found = []
    for line in path.read_text(encoding="ascii").splitlines():
        links = re.findall(r"(\d+)([-?])(\d+)", line)
        sure = {(int(i), int(j)) for i, sign, j in links if sign == "-"}
        found.append((sure, {(int(i), int(j)) for i, _, j in links}))
    return found


def link_counts(records, known):
    """Counts of how a model's attention agrees with an aligner's links.

    Args:
        records: list of `zoo.decoding.Translation`, of words, of given references.
        known: for each its text and links: `(source, target, sure, possible)`.

    Returns:
        Int (sentences, 10): for A, the links of the largest weights, |A∩S|, |A∩P|, |A|
        and |S|; |A∩S| and |A∩P| after each link is moved by one source word to the
        right; of the target words with one sure link, those whose largest weight lies
        one word to the left of it, on it, one word to the right, and how many there
        are. Zeros for a sentence whose pieces make other words.
    """
    rows = []
    for record, (*texts, sure, possible) in zip(records, known, strict=True):
        sides = [
            [word.lower() for word in side]
            for side in (record.source_tokens, record.tokens)
        ]
        if sides != [words(text) for text in texts]:
            rows.append([0] * COLUMNS)
            continue
        peaks = np.argmax(record.alignment, axis=1).tolist()
        last = len(record.source_tokens) - 1
        chosen = [{(min(i + n, last), j) for j, i in enumerate(peaks)} for n in (0, 1)]
        as_it_is, moved = ([len(one & sure), len(one & possible)] for one in chosen)
        links_of = collections.Counter(j for _, j in sure)
        apart = [peaks[j] - i for i, j in sure if links_of[j] == 1]
        near = [apart.count(distance) for distance in (-1, 0, 1)]
        sizes = len(chosen[0]), len(sure)
        rows.append([*as_it_is, *sizes, *moved, *near, len(apart)])
    return np.array(rows)
