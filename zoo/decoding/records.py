"""Records of translations, captions and classes, to JSON and back."""

import dataclasses
import json
import reprlib
from typing import Any, Self

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
        values = read_object(text)
        names = {field.name: field for field in dataclasses.fields(cls)}
        missing = [x for x in names if names[x].default is not None]
        odd = [x for x in missing if x not in values] + [*values.keys() - names]
        cls._require(not odd, f"the members {', '.join(names)}", odd)
        for name, field in names.items():
            value: Any = values.get(name)
            if field.type == list[str]:
                strings = isinstance(value, list)
                strings = strings and all(isinstance(x, str) for x in value)
                cls._require(strings, f"`{name}`, a list of strings", value)
            elif field.type is str:
                cls._require(isinstance(value, str), f"`{name}`, a string", value)
        for name, shape in cls._shapes(values).items():
            if values.get(name) is not None or names[name].default is not None:
                values[name] = cls._numbers(name, values[name], shape)
        cls._refine(values)
        return cls(**values)

    @staticmethod
    def _shapes(values: dict[str, Any]) -> dict[str, tuple[int | None, ...]]:
        """Returns the shape of each member of numbers; None is any size."""
        raise NotImplementedError

    @classmethod
    def _refine(cls, values: dict[str, Any]) -> None:
        """Checks members against each other, and gives arrays their dtypes."""

    @classmethod
    def _numbers(cls, name: str, value: Any, shape: tuple[int | None, ...]) -> Any:
        """Returns finite numbers in nested lists as an array of a shape."""
        wanted = str(shape).replace("None", "any")
        wanted = f"`{name}` of the shape {wanted} and finite numbers"
        try:
            array = np.asarray(value)
        except ValueError:  # rows of different lengths
            cls._require(False, wanted, value)
        if not array.size and 0 in shape:
            return np.zeros([size or 0 for size in shape])  # no row, or an empty one
        pairs = zip(array.shape, shape, strict=False)
        fits = (
            array.dtype.kind in "iuf"
            and array.ndim == len(shape)
            and array.size
            and np.isfinite(array).all()
            and all(wished in (None, size) for size, wished in pairs)
        )
        cls._require(fits, wanted, value)
        signed = name == "alignment" and array.min() < 0
        cls._require(not signed, "`alignment` without negative weights", value)
        return array.astype(float) if shape else float(array)

    @classmethod
    def _require(cls, fits: Any, wanted: str, received: Any) -> None:
        if not fits:
            kind = f"a {cls.__name__.lower()}'s record must be an object with"
            raise ValueError(f"{kind} {wanted}. Received: {reprlib.repr(received)}")


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
        both = (values.get("focus") is None) == (windows is None)
        cls._require(both, "both `focus` and `windows`, or neither", "one of them")
        if windows is not None:
            columns = len(values["source_tokens"])
            fits = (windows >= 0) & (windows < columns) & (windows % 1 == 0)
            cls._require(fits.all(), "`windows` of source positions", windows)
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
        fits = (image % 1 == 0) & (image >= 0) & (image <= 255)
        cls._require(fits.all(), "an `image` of bytes, 0 to 255", image)
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
        fits = isinstance(shares, dict) and values["label"] in shares
        cls._require(fits, "`probabilities`, one of them its `label`'s", shares)
        for name, share in shares.items():
            shares[name] = cls._numbers("probabilities", share, ())


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
