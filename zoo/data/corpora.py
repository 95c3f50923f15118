"""The corpora of sentence pairs by name: where their files come from; loading them."""

from zoo.data import tatoeba
from zoo.data.archives import gunzip
from zoo.data.corpus import Corpus, choose, locate
from zoo.data.generated import dates
from zoo.data.parallel_text import Pairs, read_aligned
from zoo.files import StrPath


def list_corpora() -> dict[str, Corpus]:
    """Lists the corpora that `load` knows, by name.

    Example:
        ```python
        for name, corpus in zoo.data.list_corpora().items():
            print(name, corpus.languages, corpus.splits, corpus.terms)
        ```
    """
    return dict(_CORPORA)


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
    corpus = _CORPORA[choose("corpus", name, _CORPORA)]
    split = corpus.aliases.get(split, split)
    choose(f"split of {corpus.name}", split, corpus.splits, corpus.aliases)
    for language in (source, target):
        choose(f"language of {corpus.name}", language, corpus.languages)
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


# === Corpora ===


_MULTI30K_URL = "https://github.com/multi30k/dataset/raw/master/data/task1/raw"
_MULTI30K_SHA256 = {
    "test_2016_flickr.de": (
        "4be6b5b3236b79c25475c6bb829800a7ce559e9ba7a1f6c2394fe4d40be46d16"
    ),
    "test_2016_flickr.en": (
        "399a4382932c1aadd3ceb9bef1008d388a64c76d4ae4e9d4728c6f4301cac182"
    ),
    "test_2016_flickr.fr": (
        "cb3160d69b002bb638e66cc7612fcd56cb0af82eadc9c142dedc438afb885ef6"
    ),
    "train.de": "2c2b73fd2b548fbcde3a875e0a78d6ee94d498bfdee6bd3eae3945779e9ddf72",
    "train.en": "460a15fbd157e34a7a9957ee388c1ca247fe47af3ef25fb50442af6c274e0fc6",
    "train.fr": "5925a3c18f1587b6b54b87743106e6e8ab93618edb6f65d19eac0621f853a10d",
    "valid.de": "660e09eb7e1da2f856ea13ee5ad3cf6d36b3d5b0b733c857e94c5747a3dfc660",
    "valid.en": "1f2a23d992769b5b3d209b0a10dd0b77c08cceb1f20dfb97ed0aafa49d107227",
    "valid.fr": "5304e444d842e962b2dda4d816b70b22a1765b15401642b7ca37a67477e708dc",
}
_MULTI30K_SIZES = {
    "test_2016_flickr.de": 70649,
    "test_2016_flickr.en": 62076,
    "test_2016_flickr.fr": 72261,
    "train.de": 2110398,
    "train.en": 1801238,
    "train.fr": 2111303,
    "valid.de": 75981,
    "valid.en": 63297,
    "valid.fr": 73924,
}
_TATOEBA_URL = "https://www.manythings.org/anki/deu-eng.zip"
_TATOEBA_SHA256 = {
    "test.de": "78285ef85dd1263a628f6296bef5fe636b3a36b4a20b893460dd4f6d5cb3965b",
    "test.en": "e06e164855cccbf3241c1be6ab50bccf2857678e20698f53456e3d46a0891c64",
    "train.de": "8e4396d36e38cea52d470c7953e035aa51ce405afd57b3fa288fa572a13e4ed3",
    "train.en": "5732c742ebfc32ec9df26d2551178726cbf9622ad22224ed6459bdfb53a36f8c",
    "valid.de": "7084524749997d1ead3cf2fc70ac48fcb1bfededcda75259be589c3e9c952e65",
    "valid.en": "ea87aca2a2b6b11569957731fb945ec073416ed3d451966f3146a111e1cb92de",
}
_TATOEBA_SIZES = {
    "test.de": 48309,
    "test.en": 34247,
    "train.de": 6487677,
    "train.en": 5500226,
    "valid.de": 49410,
    "valid.en": 33744,
}

_CORPORA = {
    "multi30k": Corpus(
        name="multi30k",
        languages=("en", "de", "fr"),
        splits=("train", "valid", "test_2016_flickr"),
        aliases={"test": "test_2016_flickr"},
        terms=(
            "The repository github.com/multi30k/dataset states no licence; the text is "
            "derived from Flickr30k: research use"
        ),
        weights="cc-by-nc-4.0",
        urls={
            # Upstream says "val".
            name: f"{_MULTI30K_URL}/{name.replace('valid.', 'val.')}.gz"
            for name in _MULTI30K_SHA256
        },
        sha256=_MULTI30K_SHA256,
        sizes=_MULTI30K_SIZES,
        unpack=gunzip,
    ),
    "tatoeba": Corpus(
        name="tatoeba",
        languages=("en", "de"),
        splits=("train", "valid", "test"),
        reference_splits=("valid", "test"),
        terms=(
            "CC BY 2.0, creativecommons.org/licenses/by/2.0; attribution: "
            "www.manythings.org/anki and tatoeba.org"
        ),
        weights="cc-by-4.0",
        urls=dict.fromkeys(_TATOEBA_SHA256, _TATOEBA_URL),
        sha256=_TATOEBA_SHA256,
        sizes=_TATOEBA_SIZES,
        unpack=tatoeba.unpack,
        snapshot="2018-05-13",
        download_limit=tatoeba.ARCHIVE_LIMIT,
        unpack_limit=tatoeba.TEXT_LIMIT,
    ),
    "dates": Corpus(
        name="dates",
        languages=(dates.ALL, *dates.PATTERNS, dates.TARGET),
        splits=dates.SPLITS,
        terms="generated by zoo.data.dates from names of Unicode's CLDR; free of terms",
        weights="apache-2.0",
        generate=dates.date_pairs,
        parts=tuple(dates.PATTERNS),
        exact=True,
    ),
}
