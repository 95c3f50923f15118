"""Fonts are found by the characters that they have."""

import pytest

from zoo.analysis.fonts import find_fonts, missing_characters

pytestmark = pytest.mark.backend_free

pytest.importorskip("matplotlib")  # an extra


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


def test_the_warning_names_characters():
    assert missing_characters({"犬", "क"}).startswith("no font here has क 犬, drawn")
    assert missing_characters({*"abcdefghijklm"}, 3).startswith(
        "no font here has a b c …"
    )


def test_matplotlibs_own_font_has_arabic_and_hebrew():
    assert find_fonts(set("الكلب שלום")) == (["DejaVu Sans"], set())
