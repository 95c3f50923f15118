"""The parts of a heatmap; tests/plots/test_figure.py has the pictures."""

import numpy as np
import pytest

from zoo.decoding import Translation
from zoo.plots.alignment import find_fonts, make_panels

pytestmark = pytest.mark.backend_free

pytest.importorskip("matplotlib")  # an extra


def test_texts_of_panels_can_be_printed():
    fields = {"tokens": ["▁a\x1b"], "source_tokens": ["▁b\nc", "\ud800"]}
    record = Translation("x", 0.0, **fields, alignment=np.ones((1, 2)) / 2)
    [panel], _ = make_panels([record], ["one\x00\ntwo"], words=False)
    assert panel.rows == ["a\ufffd"] and panel.columns[0] == "b c"
    assert panel.columns[1].endswith("\ufffd") and panel.title == "one\ufffd two"


def test_a_font_is_found_that_has_a_character(monkeypatch):
    """As where a font for Chinese is installed: its name follows the first one's."""
    from matplotlib import font_manager

    path = font_manager.findfont("DejaVu Sans")
    real = font_manager.get_font

    class Font:
        scalable = True

        def get_charmap(self):
            return {ord("犬"): 1}

    def entry(name, **options):
        return font_manager.FontEntry(fname=name, name=name, **options)

    plain = {"style": "normal", "weight": 400}
    fonts = [entry("AA Bold", style="normal", weight=700), entry("A Serif", **plain)]
    fonts += [entry("Last Resort", **plain), entry("Some Sans", **plain)]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", fonts)
    monkeypatch.setattr(
        font_manager, "get_font", lambda p: real(p) if p == path else Font()
    )
    assert find_fonts(set("aü")) == (["DejaVu Sans"], set())
    assert find_fonts(set("a犬\t")) == (["DejaVu Sans", "Some Sans"], set())
    assert find_fonts(set("狗犬"))[1] == {"狗"}
