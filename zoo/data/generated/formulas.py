r"""Formulas of a small grammar in LaTeX, and their images: generated.

    \frac { x ^ { 2 } } { \alpha } + \sqrt { b - 3 } = k _ { 7 }

Matplotlib's mathtext renders them (extra `plot`). It is known where each symbol is, so
that attention can be scored (`zoo.analysis.evaluation.grounding`).
"""

import dataclasses
import functools
import random
from collections.abc import Iterator
from typing import Any

import numpy as np

from zoo.checks import need_packages
from zoo.data.generated.scenes import draw, split_of

LETTERS = "a b c d k m n p q x y z".split()
DIGITS = "1 2 3 4 5 6 7 8 9".split()
GREEK = r"\alpha \beta \gamma \lambda \pi \theta".split()
SIGNS = r"+ - \cdot".split()
NOT_DRAWN = r"{ } ^ _ \frac".split()
HEIGHT, WIDTH = 48, 160  # pixels
_POINTS = 15.0


@dataclasses.dataclass(frozen=True)
class Formula:
    r"""A formula.

    Attributes:
        caption: its LaTeX, symbols separated by spaces.
        left, top: where it is in the image, as shares of the room that it leaves.

    Example:
        >>> [formula] = draw_formulas(1, "test")
        >>> print(formula.caption)
        \theta - \lambda = \lambda ^ { 8 } + x
        >>> formula.draw().shape
        (48, 160, 3)
    """

    caption: str
    left: float
    top: float

    def draw(self) -> np.ndarray:
        """Draws the formula, black on white.

        Returns:
            uint8 `(48, 160, 3)`, RGB.

        Raises:
            ImportError: without matplotlib.
        """
        ink, _, x, y = self._place()
        image = np.full((HEIGHT, WIDTH), 255, "uint8")
        part = image[y : y + ink.shape[0], x : x + ink.shape[1]]
        part -= ink[: part.shape[0], : part.shape[1]]
        return np.repeat(image[..., None], 3, axis=-1)

    @property
    def boxes(self) -> list[Any]:
        """For each symbol of the caption left, top, right and bottom, or None.

        They are shares of the image's width and height. What draws no glyph of its own
        has None: braces, ^, _ and fractions.
        """
        ink, points, left, top = self._place()
        parsed = _parse("path", self.caption, points)
        # In the order of the symbols.
        glyphs = [_box(*glyph) for glyph in parsed.glyphs if chr(glyph[2]).strip()]
        bars = [(x, y, x + w, y + h) for x, y, w, h in parsed.rects]
        right, down = _shift(ink, np.array(glyphs + bars))
        right, down, drawn = right + left, down + top, iter(glyphs)
        boxes: list[Any] = []
        for symbol in self.caption.split():
            if symbol in NOT_DRAWN:
                boxes.append(None)
                continue
            x0, y0, x1, y1 = next(drawn)
            across = [(right + x) / WIDTH for x in (x0, x1)]
            height = [(down - y) / HEIGHT for y in (y1, y0)]
            boxes.append((across[0], height[0], across[1], height[1]))
        return boxes

    @property
    def phrases(self) -> list[tuple[int, int]]:
        """For each symbol that is drawn its place and the one behind it."""
        symbols = enumerate(self.caption.split())
        return [(i, i + 1) for i, symbol in symbols if symbol not in NOT_DRAWN]

    def is_true(self, caption: str) -> bool:
        """Whether a caption is this formula's."""
        return caption.split() == self.caption.split()

    def _place(self):
        """Its ink, its size in points, and where its left top is in pixels."""
        points = _POINTS
        while True:
            ink = np.asarray(_parse("agg", self.caption, points).image)
            room = WIDTH - 4 - ink.shape[1], HEIGHT - 4 - ink.shape[0]
            if min(room) >= 0 or points < 5:
                break
            points *= 0.9
        left, top = (max(0, pixels) for pixels in room)
        return ink, points, 2 + int(left * self.left), 2 + int(top * self.top)


def draw_formulas(count: int, split: str = "train") -> list[Formula]:
    """Draws formulas at random, the same ones each time.

    No two formulas are equal, in one split or in two.

    Args:
        count: number of formulas.
        split: "train", "valid" or "test".

    Raises:
        ValueError: for another split, or a count below 0.

    Example:
        >>> len(draw_formulas(3, "valid"))
        3
    """
    return draw(_formulas, count, split)


def _formulas(split: str) -> Iterator[Formula]:
    rng, seen = random.Random(f"formulas {split}"), set()
    while True:
        sides = rng.choice((1, 1, 2))
        symbols = _sum(rng, 3 - sides)
        if sides == 2:
            symbols += ["=", *_sum(rng, 1)]
        caption, place = " ".join(symbols), (rng.random(), rng.random())
        if caption not in seen and split_of(caption) == split:
            seen.add(caption)
            yield Formula(caption, *place)


def _sum(rng, most, depth=0):
    """One to `most` + 1 terms."""
    symbols = _term(rng, depth)
    for _ in range(rng.randint(0, most)):
        symbols += [rng.choice(SIGNS), *_term(rng, depth)]
    return symbols


def _term(rng, depth):
    kind = rng.random()
    if depth == 0 and kind < 0.2:
        return [r"\frac", "{", *_sum(rng, 1, 1), "}", "{", *_sum(rng, 1, 1), "}"]
    if depth == 0 and kind < 0.3:
        return [r"\sqrt", "{", *_sum(rng, 1, 1), "}"]
    base = rng.choice([*LETTERS, *GREEK])
    if kind < 0.65:
        sign = "^" if kind < 0.5 else "_"
        return [base, sign, "{", rng.choice([*DIGITS, *LETTERS]), "}"]
    return [rng.choice((base, base, rng.choice(DIGITS)))]


# === mathtext ===


@functools.lru_cache(64)
def _parse(output, caption, points):
    need_packages("Rendering formulas", "plot", "matplotlib")
    from matplotlib.font_manager import FontProperties
    from matplotlib.mathtext import MathTextParser

    # With spaces around them mathtext does not raise or lower what follows.
    text = caption.replace(" ^ ", "^").replace(" _ ", "_")
    return MathTextParser(output).parse(f"${text}$", 72, FontProperties(size=points))


def _box(font, size, code, *rest):
    """The left, bottom, right and top of a glyph in pixels."""
    *_, x, y = rest
    font.set_size(size, 72)
    left, bottom, right, top = (n / 64 for n in font.load_char(code).bbox)
    return x + left, y + bottom, x + right, y + top


def _shift(ink, boxes):
    """Where outlines start in their picture, in pixels: mathtext's margins differ."""
    rows, columns = (np.flatnonzero((ink > 64).any(axis=axis)) for axis in (1, 0))
    left, bottom = boxes[:, :2].min(axis=0)
    right, top = boxes[:, 2:].max(axis=0)
    across = (columns[0] - left + columns[-1] + 1 - right) / 2
    return across, (rows[0] + top + rows[-1] + 1 + bottom) / 2
