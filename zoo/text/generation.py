"""Preprocessing for language models over words: strings to ids and back."""

from collections.abc import Sequence
from typing import Any

import keras
import keras_hub
import numpy as np

from zoo.backend import Tensor
from zoo.checks import integer
from zoo.strings import check_texts
from zoo.text import graph
from zoo.text.rows import END_ID, PAD_ID, cut_rows, pad_rows, python_ids
from zoo.text.tokenizer import read_texts
from zoo.text.words import SPECIAL_WORDS, WordTokenizer, check_words


@keras.saving.register_keras_serializable(package="zoo")
class WordPreprocessor(keras_hub.models.CausalLMPreprocessor):
    """Converts strings to ids for a language model, and ids back to strings.

    Called with strings, it returns `(x, y, sample_weight)`, NumPy arrays for `fit`:
    `x["token_ids"]` int32 `(B, T)`, the end token of the previous text and then the
    words; `y` `(B, T)`, the words and the end token; `sample_weight`, 1 where `y` is
    real. They are padded with 0 to `sequence_length`; longer texts are cut, with one
    warning per call. Inside a `tf.data` map they are TensorFlow tensors.

    Args:
        tokenizer: a `WordTokenizer`.
        sequence_length: T, also the default maximum length of `generate`.
        **kwargs: arguments of `keras_hub.models.CausalLMPreprocessor`.

    Raises:
        TypeError: for another tokenizer.
        ValueError: for a length below 2.

    Example:
        >>> tokenizer = WordTokenizer(["a", "dog"])
        >>> preprocessor = WordPreprocessor(tokenizer, sequence_length=4)
        >>> x, y, weights = preprocessor(["a dog"])
        >>> x["token_ids"].tolist(), y.tolist()
        ([[3, 4, 5, 0]], [[4, 5, 3, 0]])
    """

    tokenizer_cls = WordTokenizer

    def __init__(
        self, tokenizer: WordTokenizer, sequence_length: int = 128, **kwargs: Any
    ) -> None:
        check_words(tokenizer)
        sequence_length = integer("sequence_length", sequence_length, 2)
        super().__init__(tokenizer, sequence_length=sequence_length, **kwargs)
        self.built = True  # there are no weights

    def build(self, input_shape: Any = None) -> None:
        """Does nothing: there are no weights."""
        self.built = True

    def call(
        self,
        x: Any,
        y: Any = None,
        sample_weight: Any = None,
        sequence_length: int | None = None,
    ) -> Any:
        """Returns `(x, y, sample_weight)` for `fit`; see the class."""
        length = self.sequence_length if sequence_length is None else sequence_length
        if graph.in_graph():
            import tensorflow as tf

            shape = (length,) if x.shape.rank == 0 else (None, length)
            ids, weights = (tf.TensorSpec(shape, t) for t in ("int32", "float32"))
            shapes = {"token_ids": ids}, ids, weights
            return graph.by_python(lambda x: self._arrays(x, length), [x], shapes)
        return self._arrays(x, length)

    def _arrays(self, x, length):
        texts, single = read_texts(x, "x")
        rows = cut_rows(self.encode(texts), length - 1)
        ids = pad_rows([[END_ID, *row] for row in rows], length)
        y = pad_rows([[*row, END_ID] for row in rows], length)
        outputs = {"token_ids": ids}, y, (y != 0).astype("float32")
        if single:
            return keras.tree.map_structure(lambda batch: batch[0], outputs)
        return outputs

    def encode(self, texts: Any) -> list[list[int]]:
        """Returns the word ids of each text, uncut.

        Raises:
            TypeError: for a text that is not a str; the message gives its position.
        """
        return self.tokenizer.tokenize(check_texts(texts))

    # === KerasHub's generate ===
    def generate_preprocess(
        self, x: Any, sequence_length: int | None = None
    ) -> dict[str, Tensor]:
        """Returns `{"token_ids", "padding_mask"}` of prompts, for `generate_step`.

        The ids are the end token of the previous text and the words, padded to
        `sequence_length`.
        """
        length = self.sequence_length if sequence_length is None else sequence_length
        integer("max_length", length, 2)
        texts, single = read_texts(x, "inputs")
        rows = [[END_ID, *row] for row in cut_rows(self.encode(texts), length - 1)]
        mask = np.arange(length)[None] < np.array([len(row) for row in rows])[:, None]
        outputs = {"token_ids": pad_rows(rows, length), "padding_mask": mask}
        return {
            name: keras.ops.convert_to_tensor(array[0] if single else array)
            for name, array in outputs.items()
        }

    def generate_postprocess(self, x: dict[str, Tensor]) -> str | list[str]:
        """Converts the output of `generate_step` to one str or a list of str.

        Only words where `padding_mask` is true are kept.
        """
        ids, mask = python_ids(x["token_ids"]), python_ids(x["padding_mask"])
        if ids and isinstance(ids[0], int):
            return self._text(ids, mask)
        return [self._text(*row) for row in zip(ids, mask, strict=True)]

    def _text(self, ids, mask):
        first, unknown = len(SPECIAL_WORDS), self.tokenizer.unk_token_id
        written = [i for i, counts in zip(ids, mask, strict=True) if counts]
        words = [i for i in written if i >= first or i == unknown]
        return self.tokenizer.detokenize(words)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        config = super().get_config()
        # The class fixes these.
        return {k: v for k, v in config.items() if not k.startswith("add_")}


def lay_out(
    rows: Sequence[Sequence[int]], streams: int, length: int
) -> tuple[np.ndarray, np.ndarray]:
    """Lays out one text, sentence after sentence, as streams that are read in parallel.

    Args:
        rows: word ids of each sentence; an end token is appended to each.
        streams: number of streams, all of one length.
        length: the streams' length is a multiple of it.

    Returns:
        `(inputs, labels)`, int32 `(streams, n)`: the words to read and those that
        follow them, padded with 0.

    Raises:
        ValueError: without rows.

    Example:
        >>> inputs, labels = lay_out([[4, 5, 6], [7, 8]], streams=2, length=4)
        >>> inputs.tolist(), labels.tolist()
        ([[3, 4, 5, 6], [3, 7, 8, 0]], [[4, 5, 6, 3], [7, 8, 3, 0]])
    """
    text = [word for row in rows for word in [*row, END_ID]]
    if not text:
        raise ValueError("There must be a sentence. Received: no rows")
    columns = -(-len(text) // streams)

    def shaped(ids):
        ids = np.array(ids, "int32")
        ids = np.pad(ids, (0, streams * columns - len(ids)), constant_values=PAD_ID)
        more = -columns % length
        return np.pad(ids.reshape(streams, columns), ((0, 0), (0, more)))

    return shaped([END_ID, *text[:-1]]), shaped(text)
