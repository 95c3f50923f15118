"""The signatures of translators and captioners: functions in a TensorFlow graph."""

import functools
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from zoo.backend import Shape, Tensor
from zoo.checks import integer
from zoo.decoding.beam import BeamSearch
from zoo.decoding.beam_state import LOW
from zoo.decoding.compiled import label_log_probs
from zoo.decoding.search import longest_translation
from zoo.images import LUMA, check_shape
from zoo.text import graph
from zoo.text.tokenizer import END_ID, PAD_ID, START_ID

_ROWS = 64  # scored at a time: the logits of 512 would take gigabytes


class SearchSignatures:
    """The signatures of a task that writes texts by beam search.

    Each takes tf.string tensors `(B,)` and returns a dict of tensors with B rows.
    Padding is the empty string, or 0; missing hypotheses have the score -1e9.

    Args:
        task: the task with a preprocessor, under the TensorFlow backend.
        beam_size, length_penalty, max_length: see `export_savedmodel`.

    Attributes:
        takes: the names of the limits.
        resources: what an export has to track.
    """

    takes = ("beam_size", "length_penalty", "max_length")
    written: str  # the name of the text in the outputs
    # What the model reads, with B rows, and the most tokens of each text `(B,)`.
    _read: Callable[[Tensor], Tensor]
    _longest: Callable[[Tensor], Tensor]
    # The outputs of `align` for what was read and weights `(B, T, S)`.
    _alignment: Callable[[Tensor, Tensor], dict[str, Tensor]]

    def __init__(
        self,
        task: Any,
        beam_size: int = 5,
        length_penalty: float = 1.0,
        max_length: int | None = None,
    ) -> None:
        self.model, self.max_length = task, max_length
        self.beam_size, self.length_penalty = beam_size, length_penalty
        BeamSearch(beam_size, length_penalty)  # checks them
        if max_length is not None:
            integer("max_length", max_length, 2)
        self.tokenizer = task.preprocessor.tokenizer
        self.tokenizer.set_proto(self.tokenizer.proto)  # a new seed frees the graph's
        self.resources = [self.tokenizer]
        self.target_length = max_length or task.preprocessor.target_length

    def functions(self) -> dict[str, Callable[..., dict[str, Tensor]]]:
        """Returns the signatures of `zoo.serving.protocol.SIGNATURES` by name."""
        name = self.model.task_name
        return {
            name: functools.partial(self.best, self.beam_size),
            f"{name}_n_best": self.n_best,
            "greedy": functools.partial(self.best, 1),
            "align": self.align,
            "score": self.score,
        }

    def best(self, beam_size: int, source: Tensor) -> dict[str, Tensor]:
        """Returns the best text of the beam and its score."""
        ids, scores = self._search(self._read(source), beam_size, 1)
        text = graph.detokenize(self.tokenizer, ids[:, 0])
        return {self.written: text, "score": scores[:, 0]}

    def n_best(self, source: Tensor) -> dict[str, Tensor]:
        """Returns the texts and scores `(B, beam_size)`, best first."""
        ids, scores = self._search(self._read(source), self.beam_size, self.beam_size)
        flat = tf.reshape(ids, tf.stack([tf.size(scores), tf.shape(ids)[2]]))
        texts = tf.reshape(graph.detokenize(self.tokenizer, flat), tf.shape(scores))
        return {f"{self.written}s": texts, "scores": scores}

    def align(self, source: Tensor) -> dict[str, Tensor]:
        """Returns the best text, its score, tokens `(B, T)` and attention weights."""
        read = self._read(source)
        ids, scores = self._search(read, self.beam_size, 1)
        ids = tf.where(graph.before_end(ids[:, 0], END_ID), ids[:, 0], PAD_ID)
        width = tf.maximum(tf.reduce_max(_lengths(ids)), 1)
        ids = ids[:, :width]
        # Weights made while reading token t belong to token t + 1.
        start = tf.fill([tf.shape(ids)[0], 1], START_ID)
        shifted = tf.concat([start, ids[:, :-1]], axis=1)
        weights = self.model.backbone.align_details(read, shifted)[0]
        real = (ids != PAD_ID)[:, :, None]
        return {
            self.written: graph.detokenize(self.tokenizer, ids),
            "score": scores[:, 0],
            "tokens": self._pieces(ids),
            **self._alignment(read, tf.where(real, tf.cast(weights, "float32"), 0.0)),
        }

    def score(self, source: Tensor, target: Tensor) -> dict[str, Tensor]:
        """Returns the log-probability of each target, its end token included."""
        same = tf.debugging.assert_equal(
            tf.size(source), tf.size(target), "there must be a target for each source"
        )
        with tf.control_dependencies([same]):
            read = self._read(source)
        rows = graph.tokenize(self.tokenizer, target, self.target_length - 1)
        frame = graph.frame(rows, START_ID, END_ID)
        columns = read, *map(graph.pad_to_longest, frame)

        def part(first):
            return self._score(*(rows[first : first + _ROWS] for rows in columns))

        scores = tf.map_fn(
            part,
            tf.range(0, tf.size(target), _ROWS),
            fn_output_signature=tf.RaggedTensorSpec([None], tf.float32, ragged_rank=0),
            parallel_iterations=1,
        )
        return {"log_probability": scores.values}

    def _score(self, read, inputs, labels):
        backbone = self.model.backbone
        logits = backbone({backbone.source_name: read, "target_ids": inputs})
        gold = tf.where(labels != PAD_ID, label_log_probs(logits, labels), 0.0)
        return tf.reduce_sum(gold, axis=1)

    def _search(self, read, beam_size, n_best):
        """Returns ids `(B, n_best, T)` and scores `(B, n_best)`."""
        longest = self._longest(read)
        steps = tf.maximum(tf.reduce_max(longest), 1)  # there may be no row
        search = BeamSearch(beam_size, self.length_penalty, n_best=n_best)
        ids, scores = search(self.model.backbone, read, longest, steps)
        return ids[:, :n_best], scores[:, :n_best]

    def _pieces(self, ids):
        piece, size = self.tokenizer.id_to_token, self.tokenizer.vocabulary_size()
        pieces = tf.constant(["" if i == PAD_ID else piece(i) for i in range(size)])
        return tf.gather(pieces, ids)


class TranslatorSignatures(SearchSignatures):
    """The signatures of a `zoo.models.Translator`.

    A text without pieces (empty or blank) has an empty translation with score 0.
    """

    written = "translation"

    def _read(self, source):
        preprocessor = self.model.preprocessor
        limit = preprocessor.source_length - bool(preprocessor.source_end)
        rows = graph.tokenize(self.tokenizer, source, limit)
        if preprocessor.source_end:
            rows = graph.append_end(rows, END_ID)
        return graph.pad_to_longest(rows)

    def _longest(self, read):
        lengths = _lengths(read)
        # As in `zoo.decoding.search_ids`, other rows do not change a row's limit.
        longest = longest_translation(lengths)
        if self.max_length:
            longest = tf.fill(tf.shape(lengths), self.max_length)
        return tf.where(lengths > 0, longest, 1)

    def _alignment(self, read, weights):
        real = (read != PAD_ID)[:, None]
        return {
            "source_tokens": self._pieces(read),
            "alignment": tf.where(real, weights, 0.0),
        }

    def _search(self, read, beam_size, n_best):
        ids, scores = super()._search(read, beam_size, n_best)
        empty = (_lengths(read) == 0)[:, None]
        nothing = tf.where(tf.range(n_best) == 0, 0.0, LOW)[None]
        scores = tf.where(empty, nothing, scores)
        return tf.where(empty[..., None], PAD_ID, ids), scores


class CaptionerSignatures(SearchSignatures):
    """The signatures of a `zoo.models.ShowAttendTellCaptioner`; see `read_images`.

    Raises:
        ValueError: if its images are neither grey nor RGB.
    """

    written = "caption"

    def __init__(self, task: Any, **limits: Any) -> None:
        super().__init__(task, **limits)
        self.image_shape = task.preprocessor.image_shape
        check_shape(self.image_shape)

    def _read(self, source):
        return read_images(source, self.image_shape)

    def _longest(self, read):
        return tf.fill(tf.shape(read)[:1], self.target_length)

    def _alignment(self, read, weights):
        shape = tf.concat([tf.shape(weights)[:2], self.model.backbone.grid], axis=0)
        return {"alignment": tf.reshape(weights, shape)}


def _lengths(ids):
    return tf.math.count_nonzero(ids, axis=1, dtype="int32")


# === Images ===
def read_images(contents: Tensor, shape: Shape) -> Tensor:
    """Reads image files by operations of TensorFlow.

    The result is that of `zoo.images.read_images`: other sizes are centre-cropped to
    the shape's aspect ratio and resized; transparent areas become white. Pixels of a
    resized image may differ by a few levels at sharp edges, since Pillow rounds twice,
    and the EXIF orientation is ignored.

    Args:
        contents: tf.string `(B,)`, PNG or JPEG files; what TensorFlow cannot decode, or
            holds for too large, is an InvalidArgumentError.
        shape: height, width and channels of the result, 1 or 3.

    Returns:
        uint8 `(B, *shape)`.
    """
    # One after another, since each may be large.
    return tf.map_fn(
        lambda content: _read_image(content, shape),
        contents,
        fn_output_signature=tf.TensorSpec(shape, tf.uint8),
        parallel_iterations=1,
    )


def _read_image(content, shape):
    image = tf.cond(
        tf.io.is_jpeg(content),
        # As Pillow does it.
        lambda: tf.io.decode_jpeg(content, 3, dct_method="INTEGER_ACCURATE"),
        lambda: _on_white(tf.io.decode_png(content, 0)),
    )
    wanted = list(shape[:2])
    # The largest middle part that has the shape's proportions.
    size = tf.cast(tf.shape(image)[:2], tf.float32)
    scale = tf.reduce_max(wanted / size)
    image = tf.raw_ops.ScaleAndTranslate(
        images=tf.ensure_shape(image, [None, None, 3])[None],
        size=wanted,
        scale=[scale, scale],
        translation=(wanted - size * scale) / 2,
        kernel_type="keyscubic",  # Pillow's
        antialias=True,
    )
    image = tf.ensure_shape(_rounded(image[0]), [*wanted, 3])
    if shape[-1] == 1:
        luma = tf.constant(LUMA, tf.float32)[:, None]
        image = _rounded(tf.tensordot(tf.cast(image, tf.float32), luma, 1))
    return image


def _on_white(image):
    """Returns the colours `(H, W, 3)` of a PNG, on white where they are transparent."""
    size = tf.shape(image)

    def composed():
        share = tf.cast(image[..., -1:], tf.float32) / 255
        return _rounded(255 + share * (tf.cast(image[..., :-1], tf.float32) - 255))

    colours = tf.cond(size[2] % 2 == 0, composed, lambda: image)
    return tf.broadcast_to(colours, [size[0], size[1], 3])  # grey has one channel


def _rounded(numbers):
    return tf.cast(tf.clip_by_value(tf.round(numbers), 0, 255), tf.uint8)
