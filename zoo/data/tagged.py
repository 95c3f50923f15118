"""Sentences whose words have a tag each: Universal Dependencies, and a toy grammar."""

import dataclasses

import numpy as np

from zoo.data.archives import as_it_is
from zoo.data.corpora import Corpus, choose, locate
from zoo.data.download import CorpusError
from zoo.data.pairs import read_lines

UPOS = (
    "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X"
).split()


@dataclasses.dataclass(frozen=True)
class Tagged:
    """Sentences as words, with a tag for each word.

    Attributes:
        sentences: list of N lists of str, the words.
        tags: list of N lists of str, as long.
    """

    sentences: list[list[str]]
    tags: list[list[str]]

    def __len__(self):
        return len(self.sentences)


def load_ud(split="train", cache_dir=None, allow_newer=False):
    """Reads the words and universal parts of speech of UD English EWT.

    Found or downloaded as `zoo.data.load` tells, with
    `$ZOO_DATA_DIR/ud_english_ewt/{split}.conllu`. A word that is written together with
    its neighbour stands by itself ("do", "n't"); empty nodes, which are no words, are
    left out. The treebank is revised twice a year: its files are those of 2026-11-21
    or before, and newer ones are refused unless `allow_newer`. Downloading was not
    tested against the public source.

    Args:
        split: "train" (12,544 sentences), "dev" (2,001) or "test" (2,077).
        cache_dir: folder for downloads.
        allow_newer: see `zoo.data.load`.

    Returns:
        `Tagged`, with the tags of `UPOS`.

    Raises:
        ValueError: for another split.
        CorpusError: for a file that is not CoNLL-U; see also `zoo.data.load`.
    """
    choose("split of ud_english_ewt", split, UD_ENGLISH.splits)
    name = f"{split}.conllu"
    return read_conllu(locate(UD_ENGLISH, [name], cache_dir, allow_newer) / name)


def read_conllu(path):
    """Reads words and universal parts of speech of a CoNLL-U file.

    Args:
        path: a `pathlib.Path`.

    Returns:
        `Tagged`.

    Raises:
        CorpusError: for a line without ten fields, a tag that is none of `UPOS`, or a
            file without a sentence.
    """
    found, words, tags = Tagged([], []), [], []
    for number, line in enumerate([*read_lines(path), ""], start=1):
        if line.startswith("#"):
            continue
        if not line.strip():
            if words:
                found.sentences.append(words)
                found.tags.append(tags)
            words, tags = [], []
            continue
        fields = line.split("\t")
        if len(fields) != 10:
            raise CorpusError(
                f"{path}, line {number} should have the ten fields of CoNLL-U between "
                f"tabs, received {line[:40]!r}"
            )
        if not fields[0].isdigit():  # 3-4 of two words together, 8.1 of an empty node
            continue
        if fields[3] not in UPOS or not fields[1]:
            raise CorpusError(
                f"{path}, line {number} should have a word and one of the tags "
                f"{', '.join(UPOS)}, received {fields[1]!r} and {fields[3]!r}"
            )
        words.append(fields[1])
        tags.append(fields[3])
    if not found.sentences:
        raise CorpusError(f"{path} should hold sentences, received none")
    return found


def toy_sentences(count, seed):
    """Sentences of invented words whose tags need what stands before and behind.

    A word of the toy grammar is `d…` (always DET), `s…` (always PUNCT), or one of 20
    that may be a NOUN or a VERB: it is a NOUN where the word before it is a DET, or
    the last word of the sentence is "stop"; else a VERB. So neither direction alone
    can tell.

    Args:
        count: sentences.
        seed: an int, or several.

    Returns:
        `Tagged`, sentences of 3 to 9 words.

    Example:
        >>> found = toy_sentences(1, seed=3)
        >>> len(found.sentences[0]) == len(found.tags[0])
        True
    """
    rng = np.random.default_rng(seed)
    open_words = [a + b for a in "bklmn" for b in ("ab", "eb", "ib", "ob")]
    found = Tagged([], [])
    for _ in range(count):
        end = "stop" if rng.random() < 0.5 else "so"
        words, tags = [], []
        for _ in range(rng.integers(2, 9)):
            before = tags[-1] if tags else None
            if rng.random() < 0.3 and before != "DET":
                words.append(f"d{rng.choice(list('aeiou'))}")
                tags.append("DET")
                continue
            noun = before == "DET" or end == "stop"
            words.append(str(rng.choice(open_words)))
            tags.append("NOUN" if noun else "VERB")
        found.sentences.append([*words, end])
        found.tags.append([*tags, "PUNCT"])
    return found


_URL = "https://raw.githubusercontent.com/UniversalDependencies/UD_English-EWT/master"
_SHA256 = {
    "dev.conllu": "531a54ff90d6ab12201c5a50c3e78e6ddac4de69abc4bce5d275d3cd29efe2b6",
    "test.conllu": "e266e515a0a7547657ed3d90d9ba46487d6bd251f27ad4269d4e8a427c8555cd",
    "train.conllu": "3fb78e2b55482c8ee00caa653af436c88c9e5bc9a73ce26e4ae3ddc79d2b7e7b",
}
_SIZES = {"dev.conllu": 1805545, "test.conllu": 1804515, "train.conllu": 14203025}
# A newer revision may be larger than these.
_LIMIT = 3 * _SIZES["train.conllu"]
UD_ENGLISH = Corpus(
    name="ud_english_ewt",
    languages=("en",),
    splits=("train", "dev", "test"),
    terms="CC BY-SA 4.0, github.com/UniversalDependencies/UD_English-EWT",
    urls={name: f"{_URL}/en_ewt-ud-{name}" for name in _SHA256},
    sha256=_SHA256,
    sizes=_SIZES,
    unpack=as_it_is,
    snapshot="2026-11-21 or before",
    download_limit=_LIMIT,
    unpack_limit=_LIMIT,
)
