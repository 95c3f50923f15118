"""Preprocessing for language models over words: strings to ids and back."""

from typing import Any

import keras
import keras_hub

from zoo.backend import Tensor
from zoo.checks import integer
from zoo.ids import END_ID
from zoo.text import graph
from zoo.text.prompts import PromptText
from zoo.text.rows import cut_rows, pad_rows, python_ids
from zoo.text.tokenizer import TokenizerByBackbone, read_texts
from zoo.text.word_tokenizer import WordTokenizer, check_words


@keras.saving.register_keras_serializable(package="zoo")
class WordPreprocessor(
    TokenizerByBackbone, PromptText, keras_hub.models.CausalLMPreprocessor
):
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

    # === KerasHub's generate ===
    def generate_preprocess(
        self, x: Any, sequence_length: int | None = None
    ) -> dict[str, Tensor]:
        """Returns `{"token_ids", "padding_mask"}` of prompts, for `generate_step`.

        The ids are the end token of the previous text and the words, padded to
        `sequence_length`.
        """
        texts, single = read_texts(x, "inputs")
        return {
            name: keras.ops.convert_to_tensor(array[0] if single else array)
            for name, array in self.prompts(texts, sequence_length).items()
        }

    def generate_postprocess(self, x: dict[str, Tensor]) -> str | list[str]:
        """Converts the output of `generate_step` to one str or a list of str.

        Only words where `padding_mask` is true are kept.
        """
        ids, mask = python_ids(x["token_ids"]), python_ids(x["padding_mask"])
        if ids and isinstance(ids[0], int):
            return self.written(ids, mask)
        return [self.written(*row) for row in zip(ids, mask, strict=True)]

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        config = super().get_config()
        # The class fixes these.
        return {k: v for k, v in config.items() if not k.startswith("add_")}
