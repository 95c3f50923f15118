"""Parallel corpora: find them in a folder or download them, check them, read them."""

from zoo.data.corpora import Corpus, Pairs, list_corpora, load
from zoo.data.download import CorpusError, DownloadError

__all__ = [
    "Corpus",
    "CorpusError",
    "DownloadError",
    "Pairs",
    "list_corpora",
    "load",
]
