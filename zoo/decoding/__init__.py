"""Search, forced decoding, ensembles, translation records, alignments as text."""

from zoo.decoding.beam import BeamSearch
from zoo.decoding.ensemble import Ensemble
from zoo.decoding.forced import align_ids, score_ids
from zoo.decoding.records import Translation, format_alignment
from zoo.decoding.translate import search_ids, translate

__all__ = [
    "BeamSearch",
    "Ensemble",
    "Translation",
    "align_ids",
    "format_alignment",
    "score_ids",
    "search_ids",
    "translate",
]
