"""Search, ensembles, translation records and alignments as text."""

from zoo.decoding.beam import BeamSearch
from zoo.decoding.ensemble import Ensemble
from zoo.decoding.records import Translation, format_alignment
from zoo.decoding.translate import search_ids, translate

__all__ = [
    "BeamSearch",
    "Ensemble",
    "Translation",
    "format_alignment",
    "search_ids",
    "translate",
]
