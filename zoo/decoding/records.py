"""Records of translations, captions and classes, to JSON and back."""

import dataclasses
import json
from typing import Any, NoReturn, Self

import numpy as np

from zoo.text.pieces import words_of


@dataclasses.dataclass(frozen=True, eq=False)
class Record:
    """The base of all records: to JSON and back. Records compare by identity."""

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
            if name == "score":
                values[name] = float(values[name])
            if name == "alignment" and values[name].min(initial=0) < 0:
                wanted = "an object whose `alignment` has no negative weight"
                _refuse(cls, wanted, "one")
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


@dataclasses.dataclass(frozen=True, eq=False)
class Caption(Record):
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
        from zoo.analysis.caption_plot import plot_caption

        return plot_caption(self, **options)

    def merge_words(self) -> "Caption":
        """Returns the same caption with words instead of pieces.

        A word's attention is the mean over its pieces, its log-probability the sum.
        """
        tokens, starts = words_of(self.tokens)
        merged: dict[str, Any] = {"tokens": tokens}
        if starts:
            counts = np.diff(starts, append=len(self.tokens))
            summed = np.add.reduceat(np.asarray(self.alignment), starts)
            merged["alignment"] = summed / counts[:, None, None]
            if self.log_probs is not None:
                ends = [*starts, len(self.tokens)]
                merged["log_probs"] = np.add.reduceat(self.log_probs, ends)
        return dataclasses.replace(self, **merged)

    @staticmethod
    def _shapes(values: dict[str, Any]) -> dict[str, tuple[int | None, ...]]:
        rows = len(values["tokens"])
        return {
            "score": (),
            "image": (None, None, None),
            "alignment": (rows, None, None),
            "log_probs": (rows + 1,),
        }

    @classmethod
    def _refine(cls, values: dict[str, Any]) -> None:
        image = values["image"]
        if (image % 1).any() or image.min(initial=0) < 0 or image.max(initial=0) > 255:
            received = f"numbers from {image.min():g} to {image.max():g}"
            _refuse(cls, "an object whose `image` has bytes, 0 to 255", received)
        values["image"] = image.astype("uint8")


@dataclasses.dataclass(frozen=True, eq=False)
class Classification(Record):
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

    @staticmethod
    def _shapes(values: dict[str, Any]) -> dict[str, tuple[int | None, ...]]:
        rows = len(values["tokens"])
        return {"attention": (rows, rows + 1)}

    @classmethod
    def _refine(cls, values: dict[str, Any]) -> None:
        shares = values["probabilities"]
        if not isinstance(shares, dict) or values["label"] not in shares:
            wanted = "an object whose `probabilities` have its `label`"
            _refuse(cls, wanted, repr(shares))
        for name, share in shares.items():
            shares[name] = float(_numbers(cls, "probabilities", share, ()))


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
    for name in (field.name for field in fields if field.type is str):
        if not isinstance(values[name], str):
            _refuse(cls, f"an object whose `{name}` is a string", repr(values[name]))
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
