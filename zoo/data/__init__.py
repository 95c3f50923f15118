"""Corpora: found in a folder or downloaded, verified, and read; generated tasks."""

from zoo.data.corpora import list_corpora, load, load_ptb, load_sst
from zoo.data.corpus import Corpus, DownloadError
from zoo.data.generated.formulas import Formula, draw_formulas
from zoo.data.generated.scenes import Scene, draw_scenes
from zoo.data.generated.toy_text import (
    agreement_sentences,
    opinion_sentences,
    reversal_pairs,
)
from zoo.data.lines import CorpusError
from zoo.data.text_sets import Labelled, Pairs, Tagged

__all__ = [
    "Corpus",
    "CorpusError",
    "DownloadError",
    "Formula",
    "Labelled",
    "Pairs",
    "Scene",
    "Tagged",
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
