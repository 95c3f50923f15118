import numpy as np
import pytest

from zoo.data import Formula, draw_formulas
from zoo.data.generated.formulas import GREEK, HEIGHT, NOT_DRAWN, WIDTH, _parse
from zoo.data.generated.scenes import SPLITS

pytest.importorskip("matplotlib", reason="formulas are rendered by matplotlib")
pytestmark = pytest.mark.backend_free


@pytest.fixture(scope="module")
def formulas():
    return draw_formulas(40, "valid")


def test_they_are_the_same_again_and_of_one_split(formulas):
    assert draw_formulas(5, "valid") == formulas[:5]
    assert (formulas[0].draw() == formulas[0].draw()).all()
    captions = [[f.caption for f in draw_formulas(300, split)] for split in SPLITS]
    for one in range(3):
        assert len(set(captions[one])) == 300
        for other in range(one):
            assert not set(captions[one]) & set(captions[other])


def test_images_are_black_on_white_and_whole(formulas):
    for formula in formulas:
        image = formula.draw()
        assert image.shape == (HEIGHT, WIDTH, 3) and image.dtype == np.uint8
        ink = image[..., 0] < 128
        assert ink.sum() > 5
        edges = np.ones_like(ink)
        edges[1:-1, 1:-1] = False
        assert not ink[edges].any()  # nothing is cut off


def test_symbols_are_where_the_boxes_say(formulas):
    """The boxes have nearly all ink but that of bars; none is without."""
    for formula in formulas:
        dark = 255.0 - formula.draw()[..., 0]
        seen = np.zeros_like(dark, bool)
        symbols = formula.caption.split()
        for symbol, box in zip(symbols, formula.boxes, strict=True):
            assert (box is None) == (symbol in NOT_DRAWN)
            if box is None:
                continue
            left, top, right, bottom = box
            rows = slice(int(top * HEIGHT) - 1, int(bottom * HEIGHT) + 2)
            columns = slice(int(left * WIDTH) - 1, int(right * WIDTH) + 2)
            assert dark[rows, columns].sum() > 100, (formula.caption, symbol)
            seen[rows, columns] = True
        if r"\frac" not in symbols and r"\sqrt" not in symbols:
            assert dark[~seen].sum() < 0.02 * dark.sum(), formula.caption


def test_glyphs_are_in_the_order_of_the_symbols(formulas):
    names = dict(zip([*GREEK, "-", r"\cdot", r"\sqrt"], "αβγλπθ−⋅√", strict=True))
    for formula in formulas:
        glyphs = [chr(glyph[2]) for glyph in _parse("path", formula.caption, 15).glyphs]
        symbols = [s for s in formula.caption.split() if s not in NOT_DRAWN]
        assert [g for g in glyphs if g.strip()] == [names.get(s, s) for s in symbols]


def test_scripts_are_raised_and_lowered():
    def box(caption):
        return Formula(caption, 0.5, 0.5).boxes[3]

    raised, lowered = box("x ^ { 2 }"), box("x _ { 2 }")
    assert raised[1] < 0.5 < lowered[3]
    assert raised[3] < lowered[3]


def test_a_wide_formula_is_made_smaller():
    wide = Formula(" + ".join(["m"] * 14), 0.0, 1.0)
    assert not (wide.draw()[:, -1] < 128).any()
    assert max(box[2] for box in wide.boxes) <= 1


def test_only_the_same_formula_is_true(formulas):
    formula = Formula(r"\alpha + x", 0, 0)
    assert formula.is_true(r"\alpha  + x") and not formula.is_true(r"x + \alpha")
    assert any(symbol in f.caption for f in formulas for symbol in GREEK)
