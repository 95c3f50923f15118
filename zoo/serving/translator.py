"""The signatures of a translator: functions of raw strings in a TensorFlow graph."""

from collections.abc import Callable
from typing import Any

from zoo.backend import Tensor
from zoo.decoding.beam_state import LOW
from zoo.decoding.keras_engine import label_log_probs
from zoo.decoding.search import longest_translation
from zoo.serving.limits import Limits
from zoo.text import graph
from zoo.text.tokenizer import END_ID, PAD_ID, START_ID

# Logits in memory at once when scoring texts: 40 MB for 10,000 words.
SCORED_TOGETHER = 1024


class TranslatorSignatures:
    """The signatures of a `zoo.models.Translator`.

    Each takes tf.string tensors `(B,)` and returns a dict of tensors with B rows. A
    text without pieces (empty or blank) has an empty translation with score 0. Padding
    is the empty string, or 0.

    Args:
        task: a translator with a preprocessor, under the TensorFlow backend.
        limits: the limits of all requests.
    """

    task_name = "translate"
    default = "translate"
    # Signature -> the names of its inputs.
    inputs = {
        "translate": ("text",),
        "translate_n_best": ("text",),
        "greedy": ("text",),
        "align": ("text",),
        "score": ("source", "target"),
    }

    def __init__(self, task: Any, limits: Limits) -> None:
        self.model, self.limits = task, limits
        preprocessor = task.preprocessor
        self.tokenizer, self.source_end = (
            preprocessor.tokenizer,
            preprocessor.source_end,
        )
        self.source_length = limits.max_source_length or preprocessor.source_length
        self.target_length = limits.max_length or preprocessor.target_length
        self.resources = [preprocessor.tokenizer]

    def limits_used(self) -> dict[str, Any]:
        """Returns the effective limits, for the metadata."""
        limits = self.limits
        return {
            "max_source_length": self.source_length,
            "max_length": limits.max_length or "2 * source pieces + 10",
            "max_target_length": self.target_length,
            "beam_size": limits.beam_size,
            "length_penalty": limits.length_penalty,
            "coverage_penalty": limits.coverage_penalty,
            "n_best": limits.n_best,
        }

    # === Signatures ===
    def translate(self, text: Tensor) -> dict[str, Tensor]:
        """Returns `translation` and `score`, the best of the beam."""
        return self._best(self._read(text), self.limits.beam_size)

    def greedy(self, text: Tensor) -> dict[str, Tensor]:
        """Returns the same with a beam of one, the fastest."""
        return self._best(self._read(text), 1)

    def translate_n_best(self, text: Tensor) -> dict[str, Tensor]:
        """Returns `translations` and `scores` `(B, n_best)`, best first.

        Missing translations have the score -1e9.
        """
        import tensorflow as tf

        limits = self.limits
        ids, scores = self._search(self._read(text), limits.beam_size, limits.n_best)
        batch = tf.shape(scores)[0]
        flat = tf.reshape(ids, tf.stack([batch * limits.n_best, tf.shape(ids)[2]]))
        texts = graph.detokenize(self.tokenizer, flat)
        return {
            "translations": tf.reshape(texts, tf.shape(scores)),
            "scores": scores,
        }

    def align(self, text: Tensor) -> dict[str, Tensor]:
        """Returns the best translation with its attention weights.

        Returns:
            `translation`, `score`, `tokens` `(B, T)`, `source_tokens` `(B, S)` and
            `alignment` `(B, T, S)`.
        """
        import tensorflow as tf

        source = self._read(text)
        ids, scores = self._search(source, self.limits.beam_size, 1)
        ids = tf.where(graph.before_end(ids[:, 0], END_ID), ids[:, 0], PAD_ID)
        width = tf.maximum(tf.reduce_max(_lengths(ids)), 1)
        ids = ids[:, :width]
        # Weights made while reading token t belong to token t + 1.
        start = tf.fill([tf.shape(ids)[0], 1], START_ID)
        shifted = tf.concat([start, ids[:, :-1]], axis=1)
        weights = self.model.backbone.align_details(source, shifted)[0]
        real = (ids != PAD_ID)[:, :, None] & (source != PAD_ID)[:, None]
        piece, size = self.tokenizer.id_to_token, self.tokenizer.vocabulary_size()
        pieces = tf.constant(["" if i == PAD_ID else piece(i) for i in range(size)])
        return {
            "translation": graph.detokenize(self.tokenizer, ids),
            "score": scores[:, 0],
            "tokens": tf.gather(pieces, ids),
            "source_tokens": tf.gather(pieces, source),
            "alignment": tf.where(real, tf.cast(weights, "float32"), 0.0),
        }

    def score(self, source: Tensor, target: Tensor) -> dict[str, Tensor]:
        """Returns `log_probability` of each target, its end token included."""
        import tensorflow as tf

        same = tf.debugging.assert_equal(
            tf.size(source),
            tf.size(target),
            "source and target must hold equally many texts",
        )
        with tf.control_dependencies([same]):
            ids = self._read(source)
        rows = graph.tokenize(self.tokenizer, target, self.target_length - 1)
        backbone, (inputs, labels) = self.model.backbone, padded_frame(rows, START_ID)
        features = backbone.features({"source_ids": ids, "target_ids": inputs})
        return {"log_probability": log_probability(features, labels, backbone.logits)}

    # === Parts ===
    def _read(self, text):
        limit = self.source_length - bool(self.source_end)
        rows = graph.tokenize(self.tokenizer, text, limit)
        if self.source_end:
            rows = graph.append_end(rows, END_ID)
        return graph.pad_to_longest(rows)

    def _search(self, source, beam_size, n_best):
        """Returns ids `(B, n_best, T)` and scores `(B, n_best)`."""
        import tensorflow as tf

        lengths = _lengths(source)
        # As in `zoo.decoding.translation`, other rows do not change a row's limit.
        longest = longest_translation(lengths)
        if self.limits.max_length:
            longest = tf.fill(tf.shape(lengths), self.limits.max_length)
        longest = tf.where(lengths > 0, longest, 1)
        steps = tf.maximum(tf.reduce_max(longest), 1)  # there may be no row
        search = self.limits.search(beam_size, n_best)
        ids, scores = search(self.model, source, longest, steps)
        ids, scores = ids[:, :n_best], scores[:, :n_best]
        empty = (lengths == 0)[:, None]
        nothing = tf.where(tf.range(n_best) == 0, 0.0, LOW)[None]
        scores = tf.where(empty, nothing, scores)
        return tf.where(empty[..., None], PAD_ID, ids), scores

    def _best(self, source, beam_size):
        ids, scores = self._search(source, beam_size, 1)
        translation = graph.detokenize(self.tokenizer, ids[:, 0])
        return {"translation": translation, "score": scores[:, 0]}


def _lengths(ids):
    import tensorflow as tf

    return tf.math.count_nonzero(ids, axis=1, dtype="int32")


def padded_frame(rows: Tensor, start_id: int) -> tuple[Tensor, Tensor]:
    """Returns `zoo.text.graph.frame`, padded: `(inputs, labels)` `(B, T)`."""
    inputs, labels = graph.frame(rows, start_id, END_ID)
    return graph.pad_to_longest(inputs), graph.pad_to_longest(labels)


def log_probability(
    features: Tensor, labels: Tensor, logits: Callable[[Tensor], Tensor]
) -> Tensor:
    """Sums the labels' log-probabilities, `(B,)`, for features `(B, T, d)`.

    Logits are computed for real positions only, and some at a time: all at once, they
    would be the largest tensor of the graph, gigabytes for 512 long texts.
    """
    import tensorflow as tf

    place = tf.where(labels != PAD_ID)  # (N, 2)
    batch = tf.shape(labels, out_type="int64")[0]

    def unfinished(start, total):
        return start < tf.shape(place)[0]

    def body(start, total):
        part = place[start : start + SCORED_TOGETHER]
        scores = logits(tf.gather_nd(features, part))  # (N, V)
        gold = label_log_probs(scores, tf.gather_nd(labels, part))
        total += tf.math.unsorted_segment_sum(gold, part[:, 0], batch)
        return start + SCORED_TOGETHER, total

    loop = tf.constant(0), tf.zeros(batch[None])
    return tf.while_loop(unfinished, body, loop, parallel_iterations=1)[1]
