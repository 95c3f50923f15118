"""Sentences with a tag for each word: Universal Dependencies, and a toy grammar."""

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from zoo.data.archives import as_it_is
from zoo.data.corpus import Corpus, choose, locate
from zoo.data.errors import CorpusError
from zoo.data.lines import read_lines
from zoo.files import StrPath

UPOS = (
    "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X"
).split()


@dataclasses.dataclass(frozen=True)
class Tagged:
    """Sentences as words, with a tag for each word.

    Attributes:
        sentences: the words of each sentence.
        tags: the tags of each sentence.
    """

    sentences: list[list[str]]
    tags: list[list[str]]

    def __len__(self) -> int:
        return len(self.sentences)


def load_ud(
    split: str = "train", cache_dir: StrPath | None = None, allow_newer: bool = False
) -> Tagged:
    """Loads the words and universal parts of speech of UD English EWT.

    The file is `$ZOO_DATA_DIR/ud_english_ewt/{split}.conllu`, or downloaded as in
    `zoo.data.load`. Contractions are split into words ("do", "n't"); empty nodes, which
    are not words, are left out. The treebank is revised twice a year; zoo uses the
    files of 2026-11-21 or earlier and rejects newer ones unless `allow_newer`.
    Downloads were not tested against the public source.

    Args:
        split: "train" (12,544 sentences), "dev" (2,001) or "test" (2,077).
        cache_dir: folder for downloads.
        allow_newer: see `zoo.data.load`.

    Returns:
        The sentences, with the tags of `UPOS`.

    Raises:
        ValueError: for another split.
        CorpusError: for a file that is not CoNLL-U; see also `zoo.data.load`.
    """
    choose("split of ud_english_ewt", split, UD_ENGLISH.splits)
    name = f"{split}.conllu"
    return read_conllu(locate(UD_ENGLISH, [name], cache_dir, allow_newer) / name)


def read_conllu(path: Path) -> Tagged:
    """Reads the words and universal parts of speech of a CoNLL-U file.

    Raises:
        CorpusError: for a line without ten fields, a tag that is not in `UPOS`, or a
            file without sentences.
    """
    sentences = [(words, tags) for _, words, tags in conllu_sentences(path)]
    if not sentences:
        raise CorpusError(f"{path} should hold sentences, received none")
    return Tagged([words for words, _ in sentences], [tags for _, tags in sentences])


def conllu_sentences(
    path: Path, column: str = "upos", normalize: bool = False
) -> Iterator[tuple[int, list[str], list[str]]]:
    """Yields the line, the words and the tags of each sentence of a CoNLL-U file.

    Args:
        path: the file.
        column: "upos", whose tags are those of `UPOS`, or "xpos", a language's own.
        normalize: see `zoo.data.lines.read_lines`.

    Raises:
        CorpusError: for a line without ten fields, or without such a tag.
    """
    words: list[str] = []
    tags: list[str] = []
    place, rule = (3, f"one of the tags {', '.join(UPOS)}")
    if column == "xpos":
        place, rule = (4, "a tag in the fifth field")
    lines = itertools.chain(read_lines(path, normalize), [""])
    for number, line in enumerate(lines, start=1):
        if line.startswith("#"):
            continue
        if not line.strip():
            if words:
                yield number - len(words), words, tags
            words, tags = [], []
            continue
        fields = line.split("\t")
        if len(fields) != 10:
            raise CorpusError(
                f"{path}, line {number} should have the ten fields of CoNLL-U between "
                f"tabs, received {line[:40]!r}"
            )
        if not fields[0].isdigit():  # 3-4 is a contraction, 8.1 an empty node
            continue
        tag = fields[place]
        allowed = tag in UPOS if column == "upos" else tag not in ("", "_")
        if not allowed or not fields[1]:
            raise CorpusError(
                f"{path}, line {number} should have a word and {rule}, received "
                f"{fields[1]!r} and {tag!r}"
            )
        words.append(fields[1])
        tags.append(tag)


def toy_sentences(count: int, seed: int | Sequence[int]) -> Tagged:
    """Generates sentences whose tags depend on both earlier and later words.

    A word of the toy grammar is `d…` (always DET), `s…` (always PUNCT), or one of 20
    ambiguous ones: a NOUN if the word before it is a DET or the last word of the
    sentence is "stop", otherwise a VERB. Neither direction alone is sufficient.

    Args:
        count: number of sentences.
        seed: one or more integers.

    Returns:
        Sentences of 3 to 9 words.

    Example:
        >>> tagged = toy_sentences(1, seed=3)
        >>> len(tagged.sentences[0]) == len(tagged.tags[0])
        True
    """
    rng = np.random.default_rng(seed)
    open_words = [a + b for a in "bklmn" for b in ("ab", "eb", "ib", "ob")]
    tagged = Tagged([], [])
    for _ in range(count):
        end = "stop" if rng.random() < 0.5 else "so"
        words: list[str] = []
        tags: list[str] = []
        for _ in range(rng.integers(2, 9)):
            before = tags[-1] if tags else None
            if rng.random() < 0.3 and before != "DET":
                words.append(f"d{rng.choice(list('aeiou'))}")
                tags.append("DET")
                continue
            noun = before == "DET" or end == "stop"
            words.append(str(rng.choice(open_words)))
            tags.append("NOUN" if noun else "VERB")
        tagged.sentences.append([*words, end])
        tagged.tags.append([*tags, "PUNCT"])
    return tagged


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
    weights="cc-by-sa-4.0",
    urls={name: f"{_URL}/en_ewt-ud-{name}" for name in _SHA256},
    sha256=_SHA256,
    sizes=_SIZES,
    unpack=as_it_is,
    snapshot="2026-11-21 or before",
    download_limit=_LIMIT,
    unpack_limit=_LIMIT,
)
