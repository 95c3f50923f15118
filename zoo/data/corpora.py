"""The corpora by name, from the table `corpora.json`; loading sentence pairs."""

import json
from pathlib import Path
from typing import Any

from zoo.checks import one_of
from zoo.data import tatoeba
from zoo.data.corpus import Corpus, CorpusFile, locate
from zoo.data.generated import dates
from zoo.data.parallel_text import Pairs, read_aligned
from zoo.files import StrPath

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
        more = _MORE.get(name, {})
        corpora[name] = Corpus(name, files=files, **entry, **more)
    return corpora


CORPORA = _read_table()


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
    cache_dir: StrPath | None = None,
    allow_newer: bool = False,
) -> Pairs:
    """Loads the sentence pairs of one part of a corpus.

    If the environment variable `ZOO_DATA_DIR` is set, the files are
    `$ZOO_DATA_DIR/{name}/{split}.{language}`. They may be your own, so their content is
    not verified. Otherwise they are in the cache, in the same layout; missing ones are
    downloaded, with progress on stderr, and each is verified by its sha256 every time
    it is read. If several processes need a file at once, only one downloads it.

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
        cache_dir: folder for downloads, unused if `ZOO_DATA_DIR` is set. Default:
            `$ZOO_CACHE_DIR`, or `~/.cache/zoo`.
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
    folder = locate(corpus, names, cache_dir, allow_newer)
    sources, references = read_aligned(
        folder / names[0],
        folder / names[1],
        tabs_separate=split in corpus.reference_splits,
    )
    targets = [several[0] for several in references]
    return Pairs(corpus.name, split, source, target, sources, targets, references)
