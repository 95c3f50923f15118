"""The parts of a heatmap; tests/analysis/test_figure.py has the pictures."""

import numpy as np
import pytest

from zoo.analysis.alignment_plot import make_panels
from zoo.decoding import Translation

pytestmark = pytest.mark.backend_free

pytest.importorskip("matplotlib")  # an extra


def test_pieces_that_are_characters_stay_apart():
    """Unless words are asked for."""
    fields = {"tokens": ["▁", "a", "b"], "source_tokens": ["▁", "3", ".", "▁", "5"]}
    record = Translation("x", 0.0, **fields, alignment=np.ones((3, 5)) / 5)
    rows = {}
    for words in (None, False, True):
        [panel], _ = make_panels([record], [None], words)
        rows[words] = panel.rows, panel.columns
    assert rows[None] == rows[False] == (["␣", "a", "b"], ["␣", "3", ".", "␣", "5"])
    assert rows[True] == (["ab"], ["3", ".", "5"])


def test_pieces_are_words_by_default():
    fields = {"tokens": ["▁a", "b"], "source_tokens": ["▁", "c"]}
    record = Translation("x", 0.0, **fields, alignment=np.ones((2, 2)) / 2)
    [panel], _ = make_panels([record], [None], None)
    assert (panel.rows, panel.columns) == (["ab"], ["c"])
