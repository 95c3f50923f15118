"""The corpora by name, from the table `corpora.json`, and loading them."""

import json
from pathlib import Path
from typing import Any

from zoo.checks import one_of
from zoo.data import tatoeba
from zoo.data.corpus import Corpus, CorpusFile, locate
from zoo.data.generated import dates
from zoo.data.lines import CorpusError, aligned_lines, conllu_sentences, read_lines
from zoo.data.text_sets import Labelled, Pairs, Tagged

# What the table can't say.
_MORE: dict[str, dict[str, Any]] = {
    "tatoeba": {"unpack": tatoeba.unpack},
    "dates": {
        "languages": (dates.ALL, *dates.PATTERNS, dates.TARGET),
        "generate": dates.date_pairs,
        "exact": True,
    },
}


def _read_table() -> dict[str, Corpus]:
    path = Path(__file__).with_name("corpora.json")
    corpora = {}
    for name, entry in json.loads(path.read_text(encoding="utf-8")).items():
        files = {n: CorpusFile(**file) for n, file in entry.pop("files", {}).items()}
        corpora[name] = Corpus(name, files=files, **entry, **_MORE.get(name, {}))
    return corpora


CORPORA = _read_table()
PTB, SST, UD_ENGLISH = (CORPORA[name] for name in ("ptb", "sst", "ud_english_ewt"))
FINE = ("very negative", "negative", "neutral", "positive", "very positive")
BINARY = ("negative", "positive")


def list_corpora() -> dict[str, Corpus]:
    """Lists the corpora that `load` knows, by name.

    Example:
        ```python
        for name, corpus in zoo.data.list_corpora().items():
            print(name, corpus.languages, corpus.splits, corpus.terms)
        ```
    """
    return {name: c for name, c in CORPORA.items() if len(c.languages) > 1}


def load(
    name: str,
    source: str = "en",
    target: str = "de",
    split: str = "train",
    allow_newer: bool = False,
) -> Pairs:
    """Loads the sentence pairs of one part of a corpus.

    If the environment variable `ZOO_DATA_DIR` is set, the files are
    `$ZOO_DATA_DIR/{name}/{split}.{language}`. They may be your own, so their content is
    not verified. Otherwise they are in the cache, `$ZOO_CACHE_DIR` or `~/.cache/zoo`,
    in the same layout; missing ones are downloaded, with progress on stderr, and each
    is verified by its sha256 every time it is read. If several processes need a file at
    once, only one downloads it.

    - "multi30k": image captions. en, de, fr; train (29,000 pairs), valid (1,014),
      test_2016_flickr (1,000; alias "test").
    - "tatoeba": everyday sentences. en, de; train (165,129 pairs), valid and test
      (1,000 each). An English sentence of valid or test has up to seven German
      references; from German to English, the first German sentence is the source.
    - "dates": generated, without files, by `zoo.data.generated.dates`: dates of several
      languages ("mul", or one of them) to ISO 8601 ("zxx"). train (24,000 pairs), valid
      and test (3,000 each).

    Tatoeba's source is replaced by a newer snapshot from time to time. Zoo uses that of
    2018-05-13; a newer one yields different files and is rejected unless `allow_newer`
    is true. `zoo.data.tatoeba` documents how the files are made from the archive, and
    what could not be verified. Downloads were tested against a local server only.

    Args:
        name: "multi30k", "tatoeba" or "dates".
        source: the language to translate from.
        target: the language to translate into.
        split: the part of the corpus.
        allow_newer: whether to accept a newer snapshot, with a warning. Valid and test
            then have the same sentences, as far as the snapshot still has them, but
            possibly other references; the files are kept in the folder `{name}-newer`,
            and scores are not comparable with zoo's.

    Returns:
        The sentence pairs.

    Raises:
        ValueError: if there is no such corpus, split or language, or if `source` and
            `target` are the same.
        CorpusError: (a ValueError) if the sides are misaligned or not UTF-8, a file is
            altered, or the source has unexpected content; a FileNotFoundError too if
            `ZOO_DATA_DIR` lacks a file.
        DownloadError: (a ValueError and an OSError) if a file cannot be downloaded or
            stored.

    Example:
        ```python
        pairs = zoo.data.load("multi30k", source="en", target="de", split="valid")
        print(len(pairs), pairs.sources[0], pairs.references[0])
        ```
    """
    corpus = CORPORA[one_of("corpus", name, list_corpora())]
    one_of("split", split, [*corpus.splits, *corpus.aliases])
    split = corpus.aliases.get(split, split)
    for language in (source, target):
        one_of("language", language, corpus.languages)
    if source == target:
        raise ValueError(
            f"source and target should be two of {', '.join(corpus.languages)}, "
            f"received {source!r} twice"
        )
    if corpus.generate:
        return corpus.generate(source, target, split)
    names = [f"{split}.{source}", f"{split}.{target}"]
    folder = locate(corpus, names, allow_newer)
    sources, references = _read_aligned(
        folder / names[0], folder / names[1], split in corpus.reference_splits
    )
    targets = [several[0] for several in references]
    return Pairs(corpus.name, split, source, target, sources, targets, references)


def _read_aligned(source_path, target_path, tabs_separate):
    """The sources and the references of two files that are aligned by line.

    If tabs separate several translations, a source is the first one of its side, so
    that both directions have the same number of pairs. All other white space is kept.
    """
    sources, references = list[str](), list[list[str]]()
    place = f"{source_path} and {target_path}"
    for number, sides in enumerate(aligned_lines(source_path, target_path), start=1):
        source, target = (s.split("\t") if tabs_separate else [s] for s in sides)
        if not all(map(str.strip, source + target)):
            raise CorpusError(f"line {number} of {place} has a blank text")
        sources.append(source[0])
        references.append(target)
    if not sources:
        raise CorpusError(f"{place} have no sentence pair")
    return sources, references


# === Corpora of one language ===
def load_ptb(split: str = "train") -> list[str]:
    """Loads the text of the Penn Treebank, as Mikolov prepared it.

    It has 10,000 words including the end of a sentence, lower case, `<unk>` for rare
    words and `N` for numbers, no punctuation. The file is
    `$ZOO_DATA_DIR/ptb/ptb.{split}.txt`, or downloaded as in `zoo.data.load`. Downloads
    were not tested against the public source.

    Args:
        split: "train" (42,068 sentences), "valid" (3,370) or "test" (3,761).

    Returns:
        The sentences.

    Raises:
        ValueError: for another split.
        CorpusError: see `zoo.data.load`.
    """
    one_of("split", split, PTB.splits)
    name = f"ptb.{split}.txt"
    path = locate(PTB, [name]) / name
    return [" ".join(line.split()) for line in read_lines(path) if line.strip()]


def load_sst(split: str = "train", labels: str = "fine") -> Labelled:
    """Loads the sentences of the Stanford Sentiment Treebank (Socher et al. 2013).

    They are split into words and lower-cased; "binary" leaves out neutral sentences.
    The file is `$ZOO_DATA_DIR/sst/{labels}.{split}.txt`, a label and a sentence a line,
    or downloaded as in `zoo.data.load`. Downloads were not tested against the public
    source.

    Args:
        split: "train" (8,544 sentences, binary 6,920), "dev" (1,101, 872) or "test"
            (2,210, 1,821).
        labels: "fine" (five) or "binary".

    Raises:
        ValueError: for another split or other labels.
        CorpusError: for a line without a valid label; see also `zoo.data.load`.
    """
    one_of("split", split, SST.splits)
    one_of("labels", labels, ("fine", "binary"))
    name = f"{labels}.{split}.txt"
    path = locate(SST, [name]) / name
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


def load_ud(split: str = "train", allow_newer: bool = False) -> Tagged:
    """Loads the words and universal parts of speech of UD English EWT.

    The file is `$ZOO_DATA_DIR/ud_english_ewt/{split}.conllu`, or downloaded as in
    `zoo.data.load`. Contractions are split into words ("do", "n't"); empty nodes, which
    are not words, are left out. The treebank is revised twice a year; zoo uses the
    files of 2026-11-21 or earlier and rejects newer ones unless `allow_newer`.
    Downloads were not tested against the public source.

    Args:
        split: "train" (12,544 sentences), "dev" (2,001) or "test" (2,077).
        allow_newer: see `zoo.data.load`.

    Returns:
        The sentences, with the tags of `UPOS`.

    Raises:
        ValueError: for another split.
        CorpusError: for a file that is not CoNLL-U; see also `zoo.data.load`.
    """
    one_of("split", split, UD_ENGLISH.splits)
    name = f"{split}.conllu"
    path = locate(UD_ENGLISH, [name], allow_newer) / name
    sentences = [(words, tags) for _, words, tags in conllu_sentences(path)]
    if not sentences:
        raise CorpusError(f"{path} should hold sentences, received none")
    return Tagged([words for words, _ in sentences], [tags for _, tags in sentences])
