"""Captions of images: search, given captions, `Caption` records. Imports no Keras."""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from zoo.checks import positive
from zoo.decoding.batches import batch_shape, pad_batch
from zoo.decoding.records import Record
from zoo.decoding.search import Search
from zoo.decoding.translating import Engine, Stepping
from zoo.ids import END_ID, START_ID
from zoo.strings import check_texts, plain_texts
from zoo.text.pieces import words_of
from zoo.text.rows import bucket
from zoo.text.translation_arrays import needed_preprocessor


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
            raise ValueError(
                "a caption's record must be an object whose `image` has bytes, 0 to "
                f"255. Received: numbers from {image.min():g} to {image.max():g}"
            )
        values["image"] = image.astype("uint8")


class Captioning(Stepping):
    """The methods of a captioner that take images.

    They need a `backbone`, a `preprocessor` and an `engine`.
    """

    preprocessor: Any
    engine: Engine

    def caption(
        self,
        images: Any,
        beam_size: int = 5,
        length_penalty: float = 1.0,
        n_best: int = 1,
        max_length: int | None = None,
        return_details: bool = False,
        batch_size: int = 32,
        length_normalization: str = "gnmt",
        min_length: int = 0,
    ) -> Any:
        """Tells what is in images.

        Args:
            images: one image, or a list of them: a path, a PIL image, or an array
                `(height, width)` or `(height, width, channels)`, of integers from 0 to
                255 or of floats from 0 to 1, grey or RGB. An array with an axis before
                these holds several. Of an image of another size the largest middle part
                of the model's proportions is scaled to it; what is transparent is
                white.
            beam_size: hypotheses kept in beam search; 1 is greedy search.
            length_penalty: α of the length normalization; 0 disables it.
            n_best: captions per image.
            max_length: maximum pieces of a caption, the end token included. Default:
                the preprocessor's `target_length`.
            return_details: whether to return records instead of strings.
            batch_size: images read together. It never changes a result.
            length_normalization: "gnmt" or "plain"; see `Translator.translate`.
            min_length: minimum pieces of a caption, the end token included.

        Returns:
            A str for one image, a list for several; with `n_best` > 1, a list of at
            most `n_best` of them per image, best first. With details,
            `zoo.decoding.Caption` records, whose `plot()` lays the attention over the
            image, word by word.

        Raises:
            TypeError: for what is no image; the message gives its position.
            ValueError: for an image of another shape or range, an option out of range,
                or without a preprocessor.
            FileNotFoundError: if a file is not there.
            ImportError: without Pillow, for a file or an image of another size.
        """
        preprocessor = needed_preprocessor(self, "`caption`")
        search = self.engine.search(
            beam_size=beam_size,
            length_penalty=length_penalty,
            n_best=n_best,
            length_normalization=length_normalization,
            min_length=min_length,
        )
        positive("batch_size", batch_size)
        if max_length is None:
            max_length = max(preprocessor.target_length, search.min_length)
        if search.min_length > positive("max_length", max_length):
            raise ValueError(
                "`min_length` must not exceed `max_length`. "
                f"Received: min_length={search.min_length}, max_length={max_length}"
            )
        arrays, single = preprocessor.images(images)
        best = search_images(self, arrays, search, max_length, batch_size)
        rows = [(i, ids, score) for i, found in enumerate(best) for ids, score in found]
        texts = preprocessor.decode([ids for _, ids, _ in rows])
        if return_details:
            places, ids, scores = zip(*rows, strict=True) if rows else ((), (), ())
            columns = texts, scores
            texts = _records(self, arrays, places, ids, columns, batch_size)
        results: list[Any] = [[] for _ in arrays]
        for (i, *_), text in zip(rows, texts, strict=True):
            results[i].append(text)
        if n_best == 1:
            results = [result[0] for result in results]
        return results[0] if single else results

    def score(
        self, images: Any, captions: Any, per_token: bool = False, batch_size: int = 32
    ) -> Any:
        """Computes the log-probability of given captions, log P(caption | image).

        The end token counts.

        Args:
            images: see `caption`.
            captions: a str for one image, or a list of as many str.
            per_token: whether to return the tokens' log-probabilities instead of their
                sum.
            batch_size: images read together. It never changes a result.

        Returns:
            A float for one image, a list of floats for several. Per token, arrays
            `(tokens + 1,)` instead of floats, the end token's last.

        Raises:
            TypeError, FileNotFoundError, ImportError: see `caption`.
            ValueError: see `caption`, and for another number of captions than images.
        """
        arrays, texts, ids, single = self._given(images, captions)
        scores = score_captions(self, arrays, ids, batch_size)
        if not per_token:
            scores = [_total(row) for row in scores]
        return scores[0] if single else scores

    def align(self, images: Any, captions: Any, batch_size: int = 32) -> Any:
        """Computes the attention while the model reads given captions.

        It takes the arguments of `score`, and raises the same errors.

        Returns:
            A `zoo.decoding.Caption` for one image, a list of them for several, with the
            log-probability as the score.
        """
        arrays, texts, ids, single = self._given(images, captions)
        log_probs = score_captions(self, arrays, ids, batch_size)
        columns = texts, [_total(row) for row in log_probs]
        places = range(len(texts))
        records = _records(self, arrays, places, ids, columns, batch_size, log_probs)
        return records[0] if single else records

    def _given(self, images, captions):
        preprocessor = needed_preprocessor(self, "Reading a caption")
        arrays, single = preprocessor.images(images)
        captions = plain_texts(captions)
        texts = check_texts(captions, "captions")
        if len(texts) != len(arrays) or single != isinstance(captions, str):
            raise ValueError(
                "captions must be a str for one image, a list of as many for several. "
                f"Received: {len(arrays)} images and {len(texts)} captions"
            )
        return arrays, texts, preprocessor.encode_targets(texts), single


def search_images(
    model: Any,
    arrays: np.ndarray,
    search: Search,
    max_length: int,
    batch_size: int = 32,
) -> list[list[tuple[list[int], float]]]:
    """Searches for the captions of images.

    Args:
        model: a captioner.
        arrays: `(N, H, W, C)`, as its preprocessor returns them.
        search: the search.
        max_length: maximum pieces of a caption, the end token included.
        batch_size: images read together.

    Returns:
        For each image at most `n_best` pairs of (ids, score), best first, without the
        end token.

    Raises:
        ValueError: for an image without a hypothesis of finite score.
    """
    results: list[list[tuple[list[int], float]]] = []
    program = search.program(model, bucket(max_length))

    def run(batch):
        chosen, filled = batch
        # Rows that only fill the batch up end at once.
        limits = np.ones(len(filled), "int32")
        limits[: len(chosen)] = max_length
        return chosen, *program(arrays[filled], limits)

    batches = _batches(range(len(arrays)), batch_size)
    for chosen, ids, scores in model.engine.map(run, batches):
        for row, i in enumerate(chosen):
            found = search.best_rows(ids[row], scores[row])
            if not found:
                raise ValueError(
                    f"The search found no caption for images[{i}]: the model's logits "
                    "must be finite"
                )
            results.append(found)
    return results


def score_captions(
    model: Any,
    images: np.ndarray,
    captions: Sequence[Sequence[int]],
    batch_size: int = 32,
) -> list[np.ndarray]:
    """Computes the log-probability of each token and of the end token.

    Args:
        model: a captioner.
        images: `(N, H, W, C)`, as its preprocessor returns them.
        captions: N lists of ids, without start and end tokens.
        batch_size: images read together.

    Returns:
        For each caption a float32 array `(tokens + 1,)`.
    """
    positive("batch_size", batch_size)
    places = range(len(images))
    outputs = _read(model, model.engine.scores, images, places, captions, batch_size)
    return [row[: len(ids) + 1] for ids, row in zip(captions, outputs, strict=True)]


def _records(model, arrays, places, ids, columns, batch_size, log_probs=None):
    """A `Caption` for each row of ids, of the images at `places`."""
    outputs = _read(model, model.engine.alignments, arrays, places, ids, batch_size)
    rows = zip(
        places, ids, *columns, outputs, log_probs or [None] * len(ids), strict=True
    )
    return [
        Caption(
            text,
            float(score),
            model.preprocessor.pieces(row),
            arrays[i],
            weights[: len(row)].astype("float32").reshape(-1, *model.backbone.grid),
            given,
        )
        for i, row, text, score, weights, given in rows
    ]


def _read(model, make, arrays, places, captions, batch_size):
    """Yields the rows of what a function of the engine returns for given captions."""
    rows = [[START_ID, *ids] for ids in captions]
    # One width: one program.
    width = bucket(max(map(len, rows), default=1))

    def run(batch):
        chosen, filled = batch
        read, labels = (
            pad_batch([column[n] for n in chosen], batch_size, width)
            for column in (rows, [[*ids, END_ID] for ids in captions])
        )
        images = arrays[[places[n] for n in filled]]
        [outputs, *_] = make(model)(images, read, labels)
        return outputs[: len(chosen)]

    for outputs in model.engine.map(run, _batches(range(len(rows)), batch_size)):
        yield from outputs


def _batches(
    numbers: Sequence[int], batch_size: int
) -> Iterator[tuple[Sequence[int], list[int]]]:
    """Yields numbers of images, and the same for batches of a few heights.

    A batch is filled up to a power of two or the batch size with its first image.
    """
    for start in range(0, len(numbers), batch_size):
        part = numbers[start : start + batch_size]
        height, _ = batch_shape([[]] * len(part), batch_size, 0)
        yield part, [*part, *[part[0]] * (height - len(part))]


def _total(log_probs):
    return float(np.sum(log_probs, dtype="float64"))
