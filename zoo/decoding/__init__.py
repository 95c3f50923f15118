"""Search, forced decoding, ensembles, translation records, alignments as text.

Each name is loaded on first use, so that the parts that need no Keras run without it.
"""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from zoo.decoding.beam import BeamSearch
    from zoo.decoding.captioning import Caption
    from zoo.decoding.ensemble import Ensemble
    from zoo.decoding.forced import align_ids, score_ids
    from zoo.decoding.labels import Classification
    from zoo.decoding.records import Record, Translation, format_alignment
    from zoo.decoding.translate_texts import search_ids, translate

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "beam": ["BeamSearch"],
        "captioning": ["Caption"],
        "ensemble": ["Ensemble"],
        "forced": ["align_ids", "score_ids"],
        "labels": ["Classification"],
        "records": ["Record", "Translation", "format_alignment"],
        "translate_texts": ["search_ids", "translate"],
    },
)
