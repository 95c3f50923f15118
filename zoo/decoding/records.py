"""`Translation`, the record of one translation, and its alignment as text."""

import dataclasses
from typing import Any

import numpy as np

from zoo.plots.alignment import plot_alignment
from zoo.text.pieces import labels, right_to_left, words_of


@dataclasses.dataclass(frozen=True, eq=False)
class Translation:
    """One translation and its source. Records compare by identity.

    Attributes:
        text: the translation.
        score: its score under the search's penalties (without, a log-probability).
        tokens: its pieces, without the end token.
        source_tokens: the source's pieces.
        alignment: attention weights `(len(tokens), len(source_tokens))`.
        focus: for local attention, p_t of each token, in source positions from 0:
            `(len(tokens),)`. Otherwise None.
        windows: for local attention, the first and last source position in each token's
            window: `(len(tokens), 2)`. Otherwise None.
        log_probs: for a given translation (`zoo.models.Translator.align`), the
            log-probability of each token and of the end token: `(len(tokens) + 1,)`.
            None for a search result.
    """

    text: str
    score: float
    tokens: list[str]
    source_tokens: list[str]
    alignment: Any
    focus: Any = None
    windows: Any = None
    log_probs: Any = None

    def plot(self, **options: Any) -> Any:
        """Draws the alignment: `zoo.plots.plot_alignment(self, **options)`.

        Returns:
            A matplotlib `Figure`, which notebooks display and `zoo.plots.save` saves.
        """
        return plot_alignment(self, **options)

    def merge_words(self) -> "Translation":
        """Returns the same translation with words instead of pieces.

        The attention to a source word is the sum over its pieces; the attention and
        focus of a target word are means over its pieces. Its window covers every source
        word that a piece of it could attend to in part. Its log-probability is the sum
        over its pieces.

        Separate words are: punctuation at a word's ends, an end token, and each piece
        of a script without spaces between words. Tokens of which none begins with
        SentencePiece's "▁" are words already.

        Returns:
            A `Translation` whose tokens have no "▁".

        Example:
            >>> weights = np.array([[0.5, 0.25, 0.25], [0.0, 0.5, 0.5]])
            >>> pieces = ["▁Hun", "d"], ["▁A", "▁do", "g"]
            >>> record = Translation("Hund", -1.0, *pieces, weights).merge_words()
            >>> record.tokens, record.source_tokens, record.alignment.tolist()
            (['Hund'], ['A', 'dog'], [[0.25, 0.75]])
        """
        tokens, rows = words_of(self.tokens)
        sources, columns = words_of(self.source_tokens)
        weights = np.zeros((len(tokens), len(sources)))
        if weights.size:
            heights = np.diff(rows, append=len(self.tokens))
            weights = np.add.reduceat(np.asarray(self.alignment), columns, axis=1)
            weights = np.add.reduceat(weights, rows) / heights[:, None]
        merged: dict[str, Any] = {
            "tokens": tokens,
            "source_tokens": sources,
            "alignment": weights,
        }
        if rows and self.log_probs is not None:
            merged["log_probs"] = np.add.reduceat(
                self.log_probs, [*rows, len(self.tokens)]
            )
        if weights.size and self.focus is not None:
            widths = np.diff(columns, append=len(self.source_tokens))
            home = np.repeat(np.arange(len(sources)), widths)  # each piece's word
            # On the axis a piece is as wide as its share of the word.
            edges = [0, *np.cumsum(1 / widths[home]), len(sources) + 0.5]
            pieces = [*np.arange(len(home) + 1) - 0.5, len(home)]
            focus = np.interp(self.focus, pieces, edges) - 0.5
            merged["focus"] = np.add.reduceat(focus, rows) / heights
            first, last = home[np.asarray(self.windows)].T
            merged["windows"] = np.stack(
                [np.minimum.reduceat(first, rows), np.maximum.reduceat(last, rows)], 1
            )
        return dataclasses.replace(self, **merged)


# === Text ===

_SHADES = " ·░▒▓█"
SHADES_KEY = (
    "attention: · from 5 %, ░ from 20 %, ▒ from 40 %, ▓ from 60 %, █ from 80 %; "
    "rows are the translation, columns the source"
)


def format_alignment(record: Translation) -> str:
    """Formats the alignment of a `Translation` as a text grid.

    Rows are pieces of the translation, columns pieces of the source; darker cells have
    more attention (in steps of a fifth; below 0.05 they are blank). Wide characters
    take two places. A line with letters that are written from right to left begins
    with U+200E, an invisible mark by which a terminal leaves its cells in their order.
    """
    from rich.cells import cell_len  # records need no rich

    if not record.tokens or not record.source_tokens:
        return "(nothing to align)"
    columns, rows = labels(record.source_tokens), labels(record.tokens)
    margin = max(map(cell_len, rows))
    lines = []
    # Each column head has a line of its own, with a rule down to its column.
    for index, head in enumerate(columns):
        rules = "│ " * index
        lines.append(_line(head, " " * (margin + 1) + rules + "┌ " + head))
    for row, weights in zip(rows, record.alignment, strict=True):
        cells = " ".join(_shade(float(weight)) for weight in weights)
        line = f"{' ' * (margin - cell_len(row))}{row} {cells}"
        lines.append(_line(row, line.rstrip()))
    return "\n".join(lines)


def _line(label, line):
    return f"\u200e{line}" if right_to_left(label) else line


def _shade(weight):
    if weight < 0.05:
        return _SHADES[0]
    return _SHADES[min(5, 1 + int(weight * 5))]
