"""Records of translations and captions as JSON; alignments as text."""

import dataclasses
import json
from typing import Any, NoReturn, Self

import numpy as np

from zoo.text.pieces import labels, right_to_left, words_of


@dataclasses.dataclass(frozen=True, eq=False)
class Record:
    """The base of `Translation` and `Caption`: to JSON and back."""

    def to_json(self) -> str:
        """Returns the record as a JSON object with a member for each attribute.

        Arrays become nested lists. `zoo plot --json` draws such a file; the explorer
        saves a translation as one.

        Raises:
            ValueError: if a number is not finite: JSON has no such number.

        Example:
            >>> record = Translation("Hund", -1.0, ["▁Hund"], ["▁dog"], np.ones((1, 1)))
            >>> record.to_json()[:46]
            '{"text": "Hund", "score": -1.0, "tokens": ["▁H'
        """
        values = {x.name: getattr(self, x.name) for x in dataclasses.fields(self)}
        return json.dumps(
            values,
            ensure_ascii=False,
            allow_nan=False,
            default=lambda array: np.asarray(array).tolist(),
        )

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Returns the record that `to_json` wrote, its arrays as NumPy's.

        Args:
            text: a JSON object. Attributes that may be None may be missing.

        Raises:
            ValueError: if it is anything else, or its members do not fit together.

        Example:
            >>> pieces = ["▁Hun", "d"], ["▁dog"]
            >>> record = Translation("Hund", -1.0, *pieces, np.ones((2, 1)))
            >>> Translation.from_json(record.to_json()).alignment.shape
            (2, 1)
        """
        values = _members(cls, text)
        for name, shape in cls._shapes(values).items():
            if values.get(name) is None and name in _optional(cls):
                continue
            values[name] = _numbers(cls, name, values[name], shape)
        values["score"] = float(values["score"])
        if values["alignment"].min(initial=0) < 0:
            _refuse(cls, "an object whose `alignment` has no negative weight", "one")
        cls._refine(values)
        return cls(**values)

    @staticmethod
    def _shapes(values: dict[str, Any]) -> dict[str, tuple[int | None, ...]]:
        """Returns the shape of each member of numbers; None is any size."""
        raise NotImplementedError

    @classmethod
    def _refine(cls, values: dict[str, Any]) -> None:
        """Checks members against each other, and gives arrays their dtypes."""


@dataclasses.dataclass(frozen=True, eq=False)
class Translation(Record):
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
        """Draws the alignment: `zoo.analysis.plot_alignment(self, **options)`.

        Returns:
            A matplotlib `Figure`, which notebooks display and `zoo.analysis.save`
            saves.
        """
        from zoo.analysis.alignment_plot import plot_alignment

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

    @staticmethod
    def _shapes(values: dict[str, Any]) -> dict[str, tuple[int | None, ...]]:
        rows, columns = len(values["tokens"]), len(values["source_tokens"])
        return {
            "score": (),
            "alignment": (rows, columns),
            "focus": (rows,),
            "windows": (rows, 2),
            "log_probs": (rows + 1,),
        }

    @classmethod
    def _refine(cls, values: dict[str, Any]) -> None:
        windows = values.get("windows")
        if (values.get("focus") is None) != (windows is None):
            wanted = "an object with both `focus` and `windows`, or neither"
            _refuse(cls, wanted, "one of them")
        if windows is None:
            return
        columns = len(values["source_tokens"])
        if ((windows < 0) | (windows >= columns) | (windows % 1 != 0)).any():
            _refuse(cls, "an object whose `windows` are source positions", "others")
        values["windows"] = windows.astype(int)


# === JSON ===


def read_object(text: str) -> dict[str, Any]:
    """Returns the members of a record's JSON.

    Raises:
        ValueError: if it is no JSON object.
    """
    try:
        values = json.loads(text, parse_constant=float)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"a record must be JSON: {error}") from None
    if not isinstance(values, dict):
        raise ValueError(
            f"a record must be a JSON object. Received: {type(values).__name__}"
        )
    return values


def _optional(cls):
    """The names of the attributes that may be None."""
    return [x.name for x in dataclasses.fields(cls) if x.default is None]


def _members(cls, text):
    """Returns the attributes that a JSON object has; their names and texts fit."""
    values, fields = read_object(text), dataclasses.fields(cls)
    names, optional = [field.name for field in fields], _optional(cls)
    missing = [x for x in names if x not in values and x not in optional]
    unknown = [name for name in values if name not in names]
    if missing or unknown:
        received = f"{missing[0]!r} missing" if missing else repr(unknown[0])
        _refuse(cls, f"an object with the members {', '.join(names)}", received)
    if not isinstance(values["text"], str):
        _refuse(cls, "an object whose `text` is a string", repr(values["text"]))
    for name in (field.name for field in fields if field.type == list[str]):
        texts = values[name]
        if not isinstance(texts, list) or not all(isinstance(x, str) for x in texts):
            _refuse(cls, f"an object whose `{name}` is a list of strings", repr(texts))
    return values


def _numbers(cls, name, value, shape):
    """Returns finite numbers in nested lists as an array of a shape."""
    told = str(shape).replace("None", "any")
    wanted = f"an object whose `{name}` has the shape {told} and finite numbers"
    try:
        array = np.asarray(value)
    except ValueError:  # rows of different lengths
        _refuse(cls, wanted, "rows of different lengths")
    if not array.size and 0 in shape:
        return np.zeros([size or 0 for size in shape])  # no row, or none with a number
    if array.dtype.kind not in "iuf" or not np.isfinite(array).all():
        _refuse(cls, wanted, repr(value))
    fits = array.ndim == len(shape) and all(
        size == wished if wished is not None else size > 0
        for size, wished in zip(array.shape, shape, strict=True)
    )
    if not fits:
        _refuse(cls, wanted, f"the shape {array.shape}")
    return array.astype(float)


def _refuse(cls: type, wanted: str, received: str) -> NoReturn:
    received = received if len(received) <= 60 else f"{received[:60]} …"
    what = f"a {cls.__name__.lower()}'s record"
    raise ValueError(f"{what} must be {wanted}. Received: {received}")


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
