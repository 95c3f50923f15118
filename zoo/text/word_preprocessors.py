"""Words as tokens, for language models and classifiers of sentences."""

import reprlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import keras
import keras_hub

from zoo.backend import Tensor
from zoo.checks import integer
from zoo.ids import END_ID
from zoo.strings import read_texts
from zoo.text.graph import mappable
from zoo.text.rows import cut_rows, framed, pad_rows, python_ids
from zoo.text.tokenizer import TokenizerByBackbone
from zoo.text.vocabulary import WORDS_FILE, PromptText, WordText, WordVocabulary


@keras.saving.register_keras_serializable(package="zoo")
class WordTokenizer(WordVocabulary, keras_hub.tokenizers.Tokenizer):
    """Converts strings to ids and back, one id per white-space-separated word.

    The special ids are those of the whole zoo: 0 `pad_token_id`, 1 `unk_token_id`, 2
    `start_token_id`, 3 `end_token_id`. Words that are not in the vocabulary, special
    ones included, are unknown. A preset keeps the vocabulary in `vocabulary.txt`, a
    word a line, the special ones first.

    Args:
        vocabulary: the words after the special ones, as from `count_words`; None if a
            preset provides it later.
        lowercase: whether a word that is not in the vocabulary is read in lower case.
        **kwargs: arguments of `keras_hub.tokenizers.Tokenizer`.

    Raises:
        ValueError: for a vocabulary with an empty, special or repeated word, or one
            with white space.

    Example:
        >>> tokenizer = WordTokenizer(["a", "dog", "runs"])
        >>> tokenizer(["a dog runs", "a cat"])
        [[4, 5, 6], [4, 1]]
        >>> tokenizer.detokenize([[4, 5], [4, 1]])
        ['a dog', 'a <unk>']
    """

    def __init__(
        self,
        vocabulary: Iterable[str] | None = None,
        lowercase: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.lowercase = bool(lowercase)
        self.file_assets = [WORDS_FILE]
        self.set_vocabulary(vocabulary)
        self.built = True  # there are no weights

    def call(self, inputs: Any) -> Any:
        """Calls `tokenize`."""
        return self.tokenize(inputs)

    def save_assets(self, dir_path: str) -> None:
        """Writes the vocabulary into a folder."""
        text = "".join(f"{word}\n" for word in self._ready())
        Path(dir_path, WORDS_FILE).write_text(text, encoding="utf-8")

    def load_assets(self, dir_path: str) -> None:
        """Reads the vocabulary from a folder.

        Raises:
            ValueError: if the file does not begin with the special words.
        """
        path = Path(dir_path, WORDS_FILE)
        self.read_vocabulary(path.read_bytes(), path)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments, without the vocabulary."""
        return {**super().get_config(), "lowercase": self.lowercase}


class _OfWords(TokenizerByBackbone, keras_hub.models.Preprocessor):
    """A preprocessor with a `WordTokenizer` and a length from `least`."""

    tokenizer_cls = WordTokenizer
    least = 1

    def __init__(self, tokenizer: Any, sequence_length: int, **kwargs: Any) -> None:
        if not isinstance(tokenizer, WordTokenizer):
            raise TypeError(
                "tokenizer must be a zoo.text.WordTokenizer. "
                f"Received: {type(tokenizer).__name__}"
            )
        length = integer("sequence_length", sequence_length, self.least)
        super().__init__(tokenizer, sequence_length=length, **kwargs)
        self.built = True  # there are no weights

    def build(self, input_shape: Any = None) -> None:
        """Does nothing: there are no weights."""
        self.built = True


@keras.saving.register_keras_serializable(package="zoo")
class WordPreprocessor(_OfWords, PromptText, keras_hub.models.CausalLMPreprocessor):
    """Converts strings to ids for a language model, and ids back to strings.

    Called with strings, it returns `(x, y, sample_weight)`, NumPy arrays for `fit`:
    `x["token_ids"]` int32 `(B, T)`, the end token of the previous text and then the
    words; `y` `(B, T)`, the words and the end token; `sample_weight`, 1 where `y` is
    real. They are padded with 0 to `sequence_length`; longer texts are cut, with one
    warning per call.

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

    least = 2

    def __init__(
        self, tokenizer: WordTokenizer, sequence_length: int = 128, **kwargs: Any
    ) -> None:
        super().__init__(tokenizer, sequence_length, **kwargs)

    @mappable
    def call(self, x: Any, y: None = None, sample_weight: None = None) -> Any:
        """Returns `(x, y, sample_weight)` for `fit`; see the class."""
        texts, single = read_texts(x, "x")
        rows = cut_rows(self.encode(texts), self.sequence_length - 1)
        ids, *labels = framed(rows, END_ID, END_ID, self.sequence_length)
        arrays = {"token_ids": ids}, *labels
        return keras.tree.map_structure(lambda x: x[0], arrays) if single else arrays

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


@keras.saving.register_keras_serializable(package="zoo")
class SentimentPreprocessor(
    _OfWords, WordText, keras_hub.models.TextClassifierPreprocessor
):
    """Converts strings to word ids, padded with 0.

    Called with strings, and optionally labels, it returns `{"token_ids"}`, int32
    `(B, sequence_length)`, or `(x, y, sample_weight)` for `fit`. Longer texts are cut,
    with one warning per call.

    Args:
        tokenizer: a `WordTokenizer`.
        sequence_length: maximum words of a text.
        **kwargs: arguments of `keras_hub.models.TextClassifierPreprocessor`.

    Raises:
        TypeError: for another tokenizer.
        ValueError: for a length below 1.

    Example:
        >>> tokenizer = WordTokenizer(["a", "good", "film"])
        >>> preprocessor = SentimentPreprocessor(tokenizer, sequence_length=4)
        >>> preprocessor(["a film"])["token_ids"].tolist()
        [[4, 6, 0, 0]]
    """

    def __init__(
        self, tokenizer: WordTokenizer, sequence_length: int = 64, **kwargs: Any
    ) -> None:
        super().__init__(tokenizer, sequence_length, **kwargs)

    @mappable
    def call(self, x: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Returns inputs, or `(x, y, sample_weight)` for `fit`; see the class."""
        labels = y if isinstance(y, (list, tuple)) else [y]
        if any(isinstance(label, str) for label in labels):
            raise ValueError(
                f"Labels must be class numbers. Received: {reprlib.repr(y)}"
            )
        texts, single = read_texts(x, "x")
        rows = cut_rows(self.encode(texts), self.sequence_length)
        ids = pad_rows(rows, self.sequence_length)
        inputs = {"token_ids": ids[0] if single else ids}
        return keras.utils.pack_x_y_sample_weight(inputs, y, sample_weight)
