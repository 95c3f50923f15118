"""Search, forced decoding, ensembles, translation records, alignments as text.

Each name is loaded on first use, so that the parts that need no Keras run without it.
"""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from zoo.decoding.batch_decoding import align_ids, score_ids, search_ids
    from zoo.decoding.beam import BeamSearch
    from zoo.decoding.ensemble import Ensemble
    from zoo.decoding.records import (
        Caption,
        Classification,
        Translation,
        format_alignment,
    )

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "batch_decoding": ["align_ids", "score_ids", "search_ids"],
        "beam": ["BeamSearch"],
        "ensemble": ["Ensemble"],
        "records": ["Caption", "Classification", "Translation", "format_alignment"],
    },
)
