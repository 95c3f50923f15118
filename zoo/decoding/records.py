"""What a translation returns, and its alignment as text for a terminal."""

import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True, eq=False)
class Translation:
    """One translation and where it came from. Records compare by identity.

    Attributes:
        text: the translation.
        score: its score under the search's penalties (a log-probability without).
        tokens: its pieces, the end token left out.
        source_tokens: the source's pieces.
        alignment: NumPy array `(len(tokens), len(source_tokens))` of attention weights.
    """

    text: str
    score: float
    tokens: list[str]
    source_tokens: list[str]
    alignment: Any


_SHADES = " ·░▒▓█"


def format_alignment(record):
    """The alignment of a `Translation` as a text grid.

    A row is a piece of the translation, a column a piece of the source; the darker the
    cell, the more attention (steps of a fifth; below 0.05 it is blank).

    Args:
        record: a `Translation`.

    Returns:
        A string of lines, without a line break at the end.
    """
    if not record.tokens or not record.source_tokens:
        return "(nothing to align)"
    columns = [_plain(token) for token in record.source_tokens]
    rows = [_plain(token) for token in record.tokens]
    margin = max(len(row) for row in rows)
    lines = []
    # Column heads hang down, each on a line of its own, with a rule to its column.
    for index, head in enumerate(columns):
        rules = "│ " * index
        lines.append(" " * (margin + 1) + rules + "┌ " + head)
    for row, weights in zip(rows, record.alignment, strict=True):
        cells = " ".join(_shade(float(weight)) for weight in weights)
        lines.append(f"{row:>{margin}} {cells}".rstrip())
    return "\n".join(lines)


def _shade(weight):
    if weight < 0.05:
        return _SHADES[0]
    return _SHADES[min(5, 1 + int(weight * 5))]


def _plain(token):
    # SentencePiece writes a word's first piece with a lower block; joined pieces read
    # better with a hyphen.
    return (token[1:] or "␣") if token.startswith("▁") else f"-{token}"
