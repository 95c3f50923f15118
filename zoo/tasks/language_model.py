"""Continues and scores text with a recurrent language model."""

from typing import Any

import keras
import keras_hub
import numpy as np
from keras import ops

from zoo.backend import Tensor
from zoo.checks import positive
from zoo.decoding.batch_decoding import perplexity_from
from zoo.decoding.compiled import compiled, label_log_probs
from zoo.ids import END_ID, PAD_ID
from zoo.models.recurrent_lm import RecurrentLM
from zoo.strings import plain_texts, warn_caller
from zoo.tasks.task_base import Generating, TextTask
from zoo.text import WordPreprocessor
from zoo.text.rows import LONGEST, Rows, by_length, pad_batch
from zoo.text.translation_arrays import needed_preprocessor
from zoo.text.vocabulary import lay_out

SEGMENT = 35  # words read at once if the state is carried over


@keras.saving.register_keras_serializable(package="zoo")
class RecurrentLMPreprocessor(WordPreprocessor):
    """Strings to ids and back for `RecurrentLM`."""

    backbone_cls = RecurrentLM


@keras.saving.register_keras_serializable(package="zoo")
class RecurrentCausalLM(Generating, TextTask, keras_hub.models.CausalLM):
    """Continues and scores text with a `RecurrentLM`.

    A sentence begins behind the end token of the one before, which is what the model
    reads first. `generate` writes words of the vocabulary, `<unk>` never: it is left
    out at each step.

    Args:
        backbone: a `RecurrentLM`.
        preprocessor: a `RecurrentLMPreprocessor`, or None to work on ids.

    Raises:
        ValueError: if the preprocessor's vocabulary is not the backbone's.

    Example:
        >>> from zoo.text import WordTokenizer
        >>> tokenizer = WordTokenizer(["a", "dog", "runs"])
        >>> model = RecurrentCausalLM(
        ...     RecurrentLM(7, embedding_dim=4, hidden_dim=4),
        ...     RecurrentLMPreprocessor(tokenizer, sequence_length=8),
        ... )
        >>> model.generate("a dog", max_length=5).startswith("a dog")
        True
        >>> model.perplexity(["a dog runs"]) > 1
        True
    """

    backbone_cls = RecurrentLM
    preprocessor_cls = RecurrentLMPreprocessor
    task_name = "generate"

    def next_word(self, token_ids: Tensor, states: Any) -> Any:
        """The `backbone.step` of `generate`: `(logits (B, V), states)`.

        It writes no unknown word, and of the special tokens the end alone.
        """
        logits, states = self.backbone.step(token_ids, states)
        places = ops.arange(logits.shape[-1], dtype="int32")
        return ops.where(places < END_ID, -3e4, logits), states

    def generate_step(
        self, inputs: Tensor, stop_token_ids: list[int] | None = None
    ) -> Any:
        """One batch of `generate`, by the sampler that `compile` was given.

        Args:
            inputs: dict of `token_ids` int (B, T), the prompts, and `padding_mask`
                (B, T), true where they are.
            stop_token_ids: ids that end a text; None for none.

        Returns:
            The same dict, filled up; the mask is true up to each row's first stop
            token.
        """
        token_ids = ops.cast(inputs["token_ids"], "int32")
        token_ids, counts = self._sample(
            self.next_word,
            token_ids,
            ops.cast(inputs["padding_mask"], "bool"),
            self.backbone.start(*ops.shape(token_ids)),
            stop_token_ids,
        )
        return {"token_ids": token_ids, "padding_mask": counts}

    def label_sums(self, inputs: Tensor, labels: Tensor, states: Any) -> Any:
        """`segment` of tensors, from states as `backbone.initial_states` gives them."""
        logits, states = self.backbone(
            {"token_ids": inputs, "states": states}, return_states=True
        )
        real = ops.cast(ops.not_equal(labels, PAD_ID), "float32")
        return ops.sum(label_log_probs(logits, labels) * real, axis=-1), states

    def segment(self, inputs: Any, labels: Any, states: Any = None) -> tuple[Any, Any]:
        """Sums the log-probabilities of the real labels of each row.

        Args:
            inputs: word ids int `(B, T)`, padded with 0.
            labels: the words that follow them, likewise.
            states: those that the segment before returned; None at the beginning.

        Returns:
            Sums `(B,)` and the states behind the segment, arrays both.
        """
        if states is None:
            states = self.backbone.initial_states(len(inputs))
            states = keras.tree.map_structure(ops.convert_to_numpy, states)

        def function(inputs, labels, *leaves):
            given = keras.tree.pack_sequence_as(states, leaves)
            sums, after = self.label_sums(inputs, labels, given)
            return sums, *keras.tree.flatten(after)

        run = compiled(self, "segment", function)
        sums, *leaves = run(inputs, labels, *keras.tree.flatten(states))
        return sums, keras.tree.pack_sequence_as(states, leaves)

    def score(self, texts: str | list[str], batch_size: int = 32) -> Any:
        """Log-probability of each text, its end token included, each by itself.

        A text of more than 511 words is read in parts, the state going on from one to
        the next. That changes an LSTMN's result alone, whose tapes start anew with each
        part, with a warning.

        Args:
            texts: a str or a list of str.
            batch_size: texts scored together. It never changes a result.

        Returns:
            A float for a str, a list of floats for a list.

        Raises:
            TypeError: for a text that is not a str.
            ValueError: without a preprocessor.
        """
        texts = plain_texts(texts)
        rows = needed_preprocessor(self, "Reading text").encode(texts)
        totals = score_rows(self, rows, batch_size).tolist()
        return totals[0] if isinstance(texts, str) else totals

    def perplexity(
        self, texts: str | list[str], batch_size: int = 32, carry_over: bool = False
    ) -> Any:
        """Returns exp of the mean negative log-likelihood of words and end tokens.

        Args:
            texts: a list of str.
            batch_size: texts scored together.
            carry_over: whether each text is read with the state that the one before
                left. They are cut into `batch_size` parts of equal length, read at the
                same time, each of which starts from the state zero. They are read 35
                words at a time; each such segment starts an LSTMN's tapes anew, too.

        Raises:
            TypeError: for a text that is not a str.
            ValueError: without texts or a preprocessor.
        """
        rows = needed_preprocessor(self, "Reading text").encode(texts)
        return perplexity_of(self, rows, batch_size, carry_over)


def score_rows(task: Any, rows: Rows, batch_size: int = 32) -> np.ndarray:
    """Computes the log-probability of each row of ids; see `score`."""
    positive("batch_size", batch_size)
    read = [[END_ID, *row] for row in rows]
    long = sum(len(row) >= LONGEST for row in rows)  # an end token precedes each
    if long and task.backbone.cell == "lstmn":
        warn_caller(
            f"{long} of {len(rows)} texts have more than {LONGEST - 1} words and were "
            "read in parts: an LSTMN's tapes start anew with each"
        )
    totals = np.zeros(len(rows))
    for chosen in by_length(read, batch_size):
        inputs = pad_batch([read[i] for i in chosen], batch_size)
        labels = pad_batch([[*rows[i], END_ID] for i in chosen], batch_size)
        sums = _segment_sums(task, inputs, labels, min(LONGEST, inputs.shape[1]))
        totals[chosen] = np.sum(sums, axis=0)[: len(chosen)]
    return totals


def perplexity_of(
    task: Any,
    rows: Rows,
    batch_size: int = 32,
    carry_over: bool = False,
    length: int = SEGMENT,
) -> float:
    """`perplexity` of rows of ids, in segments of a length if carried over."""
    if not rows:
        raise ValueError("There must be a text. Received: none")
    if carry_over:
        scores = document_scores(task, rows, positive("batch_size", batch_size), length)
    else:
        scores = score_rows(task, rows, batch_size)
    return perplexity_from(np.sum(scores), sum(len(row) + 1 for row in rows))


def document_scores(
    task: Any, rows: Rows, streams: int = 1, length: int = SEGMENT
) -> np.ndarray:
    """Computes log-probabilities of rows that form one text, carrying the state over.

    The text is read in segments of `length` words, in so many equal parts (`streams`)
    in parallel, each from a zero state: floats `(segments, streams)`.
    """
    return _segment_sums(task, *lay_out(rows, streams, length), length)


def _segment_sums(task, inputs, labels, length):
    """Computes log-probabilities of labels `(B, n * length)` by segment, `(n, B)`."""
    scores, states = [], None
    for place in range(0, inputs.shape[1], length):
        part = slice(place, place + length)
        sums, states = task.segment(inputs[:, part], labels[:, part], states)
        scores.append(np.asarray(sums, "float64"))
    return np.stack(scores)
