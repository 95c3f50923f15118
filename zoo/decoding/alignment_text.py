"""Alignments as text."""

from zoo.decoding.records import Translation
from zoo.text.pieces import labels, right_to_left

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
