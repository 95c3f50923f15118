"""Corpora of one language: text, labelled and tagged sentences."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

from zoo.checks import one_of
from zoo.data.corpora import CORPORA
from zoo.data.corpus import locate
from zoo.data.lines import CorpusError, paragraphs, read_lines
from zoo.files import StrPath

PTB, SST, UD_ENGLISH = (CORPORA[name] for name in ("ptb", "sst", "ud_english_ewt"))
FINE = ("very negative", "negative", "neutral", "positive", "very positive")
BINARY = ("negative", "positive")
UPOS = (
    "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X"
).split()


@dataclasses.dataclass(frozen=True)
class Labelled:
    """Sentences with a label each.

    Attributes:
        texts: the sentences.
        labels: the label of each sentence.
        names: the name of each label.
    """

    texts: list[str]
    labels: list[int]
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.texts)


def load_ptb(split: str = "train", cache_dir: StrPath | None = None) -> list[str]:
    """Loads the text of the Penn Treebank, as Mikolov prepared it.

    It has 10,000 words including the end of a sentence, lower case, `<unk>` for rare
    words and `N` for numbers, no punctuation. The file is
    `$ZOO_DATA_DIR/ptb/ptb.{split}.txt`, or downloaded as in `zoo.data.load`. Downloads
    were not tested against the public source.

    Args:
        split: "train" (42,068 sentences), "valid" (3,370) or "test" (3,761).
        cache_dir: folder for downloads.

    Returns:
        The sentences.

    Raises:
        ValueError: for another split.
        CorpusError: see `zoo.data.load`.
    """
    one_of("split", split, PTB.splits)
    name = f"ptb.{split}.txt"
    path = locate(PTB, [name], cache_dir) / name
    return [" ".join(line.split()) for line in read_lines(path) if line.strip()]


def load_sst(
    split: str = "train", labels: str = "fine", cache_dir: StrPath | None = None
) -> Labelled:
    """Loads the sentences of the Stanford Sentiment Treebank (Socher et al. 2013).

    They are split into words and lower-cased; "binary" leaves out neutral sentences.
    The file is `$ZOO_DATA_DIR/sst/{labels}.{split}.txt`, a label and a sentence a line,
    or downloaded as in `zoo.data.load`. Downloads were not tested against the public
    source.

    Args:
        split: "train" (8,544 sentences, binary 6,920), "dev" (1,101, 872) or "test"
            (2,210, 1,821).
        labels: "fine" (five) or "binary".
        cache_dir: folder for downloads.

    Raises:
        ValueError: for another split or other labels.
        CorpusError: for a line without a valid label; see also `zoo.data.load`.
    """
    one_of("split", split, SST.splits)
    one_of("labels", labels, ("fine", "binary"))
    name = f"{labels}.{split}.txt"
    path = locate(SST, [name], cache_dir) / name
    names = FINE if labels == "fine" else BINARY
    allowed = {str(label): label for label in range(len(names))}
    sentences = Labelled([], [], names)
    for number, line in enumerate(read_lines(path), start=1):
        label, _, text = line.partition(" ")
        if label not in allowed or not text.strip():
            raise CorpusError(
                f"{path}, line {number} should be a label from 0 to {len(names) - 1}, "
                f"a space and a sentence, received {line[:40]!r}"
            )
        sentences.labels.append(allowed[label])
        sentences.texts.append(" ".join(text.split()))
    return sentences


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
    one_of("split", split, UD_ENGLISH.splits)
    name = f"{split}.conllu"
    path = locate(UD_ENGLISH, [name], cache_dir, allow_newer) / name
    sentences = [(words, tags) for _, words, tags in conllu_sentences(path)]
    if not sentences:
        raise CorpusError(f"{path} should hold sentences, received none")
    return Tagged([words for words, _ in sentences], [tags for _, tags in sentences])


def conllu_sentences(path: Path) -> Iterator[tuple[int, list[str], list[str]]]:
    """Yields the line, the words and the tags of each sentence of a CoNLL-U file."""
    for lines in paragraphs(path):
        words, tags = list[str](), list[str]()
        for number, line in lines:
            fields = line.split("\t")
            if line.startswith("#"):
                continue
            if len(fields) != 10:
                raise CorpusError(
                    f"{path}, line {number} should have the ten fields of CoNLL-U "
                    f"between tabs, received {line[:40]!r}"
                )
            if not fields[0].isdigit():  # 3-4 is a contraction, 8.1 an empty node
                continue
            word, tag = fields[1], fields[3]
            if not word or tag not in UPOS:
                raise CorpusError(
                    f"{path}, line {number} should have a word and one of the tags "
                    f"{', '.join(UPOS)}, received {word!r} and {tag!r}"
                )
            words.append(word)
            tags.append(tag)
        if words:
            yield lines[0][0], words, tags
