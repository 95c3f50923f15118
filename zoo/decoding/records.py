"""Records of translations, captions and classes, and alignments as text."""

import dataclasses
import json
import math
import reprlib
from typing import Any, Self

import numpy as np

from zoo.text.word_splitting import labels, right_to_left, words_of

_SHADES = " ·░▒▓█"
SHADES_KEY = (
    "attention: · from 5 %, ░ from 20 %, ▒ from 40 %, ▓ from 60 %, █ from 80 %; "
    "rows are the translation, columns the source"
)


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
        return json.dumps(
            vars(self),
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
        try:
            record = cls(**json.loads(text))
            strings = [record.text, *record.tokens, *record.source_tokens]
            lists = {type(record.tokens), type(record.source_tokens)} == {list}
            if not lists or not all(isinstance(x, str) for x in strings):
                raise ValueError("text and tokens must be strings, tokens in lists")
            return dataclasses.replace(record, **record._read_arrays())
        except (TypeError, ValueError, RecursionError) as error:
            raise ValueError(
                "A translation's record must be a JSON object as `to_json` writes it: "
                f"{error}. Received: {reprlib.repr(text)}"
            ) from error

    def _read_arrays(self) -> dict[str, Any]:
        """Returns nested lists of numbers as arrays that fit together."""
        rows, columns = len(self.tokens), len(self.source_tokens)
        shapes: dict[str, tuple[int, ...]] = {
            "score": (),
            "alignment": (rows, columns),
            "focus": (rows,),
            "windows": (rows, 2),
            "log_probs": (rows + 1,),
        }
        if (self.focus is None) != (self.windows is None):
            raise ValueError("`focus` and `windows` go together")
        arrays: dict[str, Any] = {}
        for name, shape in shapes.items():
            value = getattr(self, name)
            if value is None and name in ("focus", "windows", "log_probs"):
                continue
            array = np.asarray(value)
            empty = not array.size and not math.prod(shape)
            numbers = empty or (array.dtype.kind in "iuf" and np.isfinite(array).all())
            if not numbers or not (empty or array.shape == shape):
                raise ValueError(f"`{name}` must be finite numbers of shape {shape}")
            arrays[name] = array.astype(float).reshape(shape)
        if (windows := arrays.get("windows")) is not None:
            if not np.isin(windows, range(columns)).all():
                raise ValueError("`windows` must be source positions")
            arrays["windows"] = windows.astype(int)
        return {**arrays, "score": float(arrays["score"])}

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
        rows = words_of(self.tokens)[1]
        sources, columns = words_of(self.source_tokens)
        weights = np.zeros((len(self.tokens), len(sources)))
        if weights.size:
            weights = np.add.reduceat(np.asarray(self.alignment), columns, axis=1)
        merged: dict[str, Any] = {"source_tokens": sources}
        if weights.size and self.focus is not None:
            widths = np.diff(columns, append=len(self.source_tokens))
            home = np.repeat(np.arange(len(sources)), widths)  # each piece's word
            # On the axis a piece is as wide as its share of the word.
            edges = [0, *np.cumsum(1 / widths[home]), len(sources) + 0.5]
            pieces = [*np.arange(len(home) + 1) - 0.5, len(home)]
            merged["focus"] = _means(np.interp(self.focus, pieces, edges) - 0.5, rows)
            first, last = home[np.asarray(self.windows)].T
            ends = np.minimum.reduceat(first, rows), np.maximum.reduceat(last, rows)
            merged["windows"] = np.stack(ends, axis=1)
        return dataclasses.replace(_merge_rows(self, weights), **merged)


@dataclasses.dataclass(frozen=True, eq=False)
class Caption:
    """A caption and its image. Records compare by identity.

    Attributes:
        text: the caption.
        score: its score under the search's penalties (without, a log-probability).
        tokens: its pieces, without the end token.
        image: the image as the model reads it, uint8 `(H, W, C)`.
        alignment: attention weights over the image's grid, `(len(tokens), h, w)`.
        log_probs: for a given caption, the log-probability of each token and of the end
            token: `(len(tokens) + 1,)`. None for a search result.
    """

    text: str
    score: float
    tokens: list[str]
    image: Any
    alignment: Any
    log_probs: Any = None

    def plot(self, **options: Any) -> Any:
        """Draws the attention: `zoo.analysis.plot_caption(self, **options)`.

        Returns:
            A matplotlib `Figure`, which notebooks display and `zoo.analysis.save`
            saves.
        """
        from zoo.analysis.alignment_plot import plot_caption

        return plot_caption(self, **options)

    def merge_words(self) -> "Caption":
        """Returns the same caption with words instead of pieces.

        A word's attention is the mean over its pieces, its log-probability the sum.
        """
        return _merge_rows(self, np.asarray(self.alignment))


def _merge_rows(record, alignment):
    """Returns a record of words: means of the alignment's rows, sums of log_probs."""
    tokens, starts = words_of(record.tokens)
    log_probs = record.log_probs
    if starts and log_probs is not None:
        log_probs = np.add.reduceat(log_probs, [*starts, len(record.tokens)])
    changes = {"alignment": _means(alignment, starts), "log_probs": log_probs}
    return dataclasses.replace(record, tokens=tokens, **changes)


def _means(values, starts):
    """Returns the means of an array's rows from each start to the next."""
    if not values.size:
        return values[: len(starts)]
    counts = np.diff(starts, append=len(values))
    return (np.add.reduceat(values, starts).T / counts).T


@dataclasses.dataclass(frozen=True, eq=False)
class Classification:
    """The class of a text. Records compare by identity.

    Attributes:
        text: the text.
        label: the most probable class.
        probabilities: the probability of each class, by name.
        tokens: the text's words, as many as were read.
        attention: for a model that attends to its own past, an LSTMN: the weights of
            each word on the start and on the words before it, `(len(tokens),
            len(tokens) + 1)`. Otherwise, and from an exported model, None.
    """

    text: str
    label: str
    probabilities: dict[str, float]
    tokens: list[str]
    attention: Any = None

    def plot(self, **options: Any) -> Any:
        """Draws which words each word attended to; see `zoo.analysis.plot_alignment`.

        Each row is a word that is read; its columns are the start and the words before
        it. The title tells the class and its probability.

        Args:
            **options: `axes` and `title` of `plot_alignment`.

        Returns:
            A matplotlib `Figure`.

        Raises:
            ValueError: without attention.
        """
        if self.attention is None:
            raise ValueError(
                "Only the classification of an LSTMN in Keras can be drawn: others and "
                "exported models give no attention. Received: attention=None"
            )
        share = self.probabilities[self.label]
        words = ["(start)", *self.tokens]
        record = Translation(self.label, share, self.tokens, words, self.attention)
        title = f"{self.label}, {100 * share:.0f} %"
        from zoo.analysis.alignment_plot import plot_alignment

        return plot_alignment(record, **{"words": False, "title": title, **options})


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
    # Each column head has a line of its own, with a rule down to its column.
    lines = [f"{' ' * margin} {'│ ' * i}┌ {head}" for i, head in enumerate(columns)]
    shades = np.digitize(record.alignment, [0.05, 0.2, 0.4, 0.6, 0.8])
    for row, weights in zip(rows, shades, strict=True):
        cells = " ".join(_SHADES[shade] for shade in weights)
        lines.append(f"{' ' * (margin - cell_len(row))}{row} {cells}".rstrip())
    marks = ("\u200e" if right_to_left(label) else "" for label in [*columns, *rows])
    return "\n".join(map("".join, zip(marks, lines, strict=True)))
