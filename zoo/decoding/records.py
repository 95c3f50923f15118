"""`Translation`, the record of one translation, and its alignment as text."""

import dataclasses
import json
from typing import Any, NoReturn

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

    def to_json(self) -> str:
        """Returns the record as a JSON object with a member for each attribute.

        Arrays become nested lists. The explorer saves this format, and `zoo plot
        --json` draws it.

        Raises:
            ValueError: if a number is not finite: JSON has no such number.

        Example:
            >>> record = Translation("Hund", -1.0, ["▁Hund"], ["▁dog"], np.ones((1, 1)))
            >>> record.to_json()[:46]
            '{"text": "Hund", "score": -1.0, "tokens": ["▁H'
        """
        values = {
            field.name: getattr(self, field.name) for field in dataclasses.fields(self)
        }
        for name in _ARRAYS:
            if values[name] is not None:
                values[name] = np.asarray(values[name]).tolist()
        values["score"] = float(self.score)
        return json.dumps(values, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> "Translation":
        """Returns the record that `to_json` wrote, its arrays as NumPy's.

        Args:
            text: a JSON object. `focus`, `windows` and `log_probs` may be missing.

        Raises:
            ValueError: if it is anything else, or its members do not fit together.

        Example:
            >>> pieces = ["▁Hun", "d"], ["▁dog"]
            >>> record = Translation("Hund", -1.0, *pieces, np.ones((2, 1)))
            >>> Translation.from_json(record.to_json()).alignment.shape
            (2, 1)
        """
        return cls(**_members(text))

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


# === JSON ===

_ARRAYS = "alignment", "focus", "windows", "log_probs"


def _members(text):
    """Returns the attributes that a JSON object has, checked."""
    try:
        values = json.loads(text, parse_constant=float)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"a translation's record must be JSON: {error}") from None
    if not isinstance(values, dict):
        _refuse("a JSON object", type(values).__name__)
    fields = [field.name for field in dataclasses.fields(Translation)]
    missing = [name for name in fields[:5] if name not in values]
    unknown = [name for name in values if name not in fields]
    if missing or unknown:
        received = f"{missing[0]!r} missing" if missing else repr(unknown[0])
        _refuse(f"an object with the members {', '.join(fields)}", received)
    if not isinstance(values["text"], str):
        _refuse("an object whose `text` is a string", repr(values["text"]))
    for name in ("tokens", "source_tokens"):
        texts = values[name]
        if not isinstance(texts, list) or not all(isinstance(x, str) for x in texts):
            _refuse(f"an object whose `{name}` is a list of strings", repr(texts))
    rows, columns = len(values["tokens"]), len(values["source_tokens"])
    shapes = {"score": (), "alignment": (rows, columns), "focus": (rows,)}
    shapes |= {"windows": (rows, 2), "log_probs": (rows + 1,)}
    for name, shape in shapes.items():
        if name in _ARRAYS[1:] and values.get(name) is None:
            continue
        values[name] = _numbers(name, values[name], shape)
    values["score"] = float(values["score"])
    if values["alignment"].min(initial=0) < 0:
        _refuse("an object whose `alignment` has no negative weight", "one")
    if (values.get("focus") is None) != (values.get("windows") is None):
        _refuse("an object with both `focus` and `windows`, or neither", "one of them")
    if values.get("windows") is not None:
        windows = values["windows"]
        if ((windows < 0) | (windows >= columns) | (windows % 1 != 0)).any():
            _refuse("an object whose `windows` are source positions", "others")
        values["windows"] = windows.astype(int)
    return values


def _numbers(name, value, shape):
    """Returns finite numbers in nested lists as an array of a shape."""
    wanted = f"an object whose `{name}` has the shape {shape} and finite numbers"
    try:
        array = np.asarray(value)
    except ValueError:  # rows of different lengths
        _refuse(wanted, "rows of different lengths")
    if not array.size and 0 in shape:
        return np.zeros(shape)  # no row, or rows without a number
    if array.dtype.kind not in "iuf" or not np.isfinite(array).all():
        _refuse(wanted, repr(value))
    if array.shape != shape:
        _refuse(wanted, f"the shape {array.shape}")
    return array.astype(float)


def _refuse(wanted: str, received: str) -> NoReturn:
    received = received if len(received) <= 60 else f"{received[:60]} …"
    raise ValueError(f"a translation's record must be {wanted}. Received: {received}")


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
