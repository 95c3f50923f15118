"""Corpora: found in a folder or downloaded, verified, and read; generated tasks."""

from zoo.data.corpora import list_corpora, load
from zoo.data.corpus import Corpus
from zoo.data.errors import CorpusError
from zoo.data.formulas import Formula, draw_formulas
from zoo.data.grammar import agreement_sentences
from zoo.data.opinions import opinion_sentences
from zoo.data.pairs import Pairs
from zoo.data.reversal import reversal_pairs
from zoo.data.scenes import Scene, draw_scenes
from zoo.data.texts import Labelled, load_ptb, load_sst
from zoo.download import DownloadError

__all__ = [
    "Corpus",
    "CorpusError",
    "DownloadError",
    "Formula",
    "Labelled",
    "Pairs",
    "Scene",
    "agreement_sentences",
    "draw_formulas",
    "draw_scenes",
    "list_corpora",
    "load",
    "load_ptb",
    "load_sst",
    "opinion_sentences",
    "reversal_pairs",
]
