"""Preprocessing for translators and captioners, over SentencePiece's pieces."""

from typing import Any

import keras
import keras_hub

from zoo.backend import Tensor
from zoo.checks import check_image_shape, integer
from zoo.ids import END_ID, START_ID
from zoo.images import read_images
from zoo.strings import describe, read_texts
from zoo.text.graph import mappable
from zoo.text.rows import bucket, framed, pad_rows, python_ids
from zoo.text.tokenizer import Tokenizer
from zoo.text.translation_arrays import TargetText, TranslationText


@keras.saving.register_keras_serializable(package="zoo")
class TranslatorPreprocessor(TranslationText, keras_hub.models.Seq2SeqLMPreprocessor):
    """Converts strings to the ids that a translator reads, and ids back to strings.

    Called with `{"source": strings, "target": strings}`, it returns `(x, y,
    sample_weight)` for `fit`:

    - `x["source_ids"]`, int32 `(B, source_length)`: the source's pieces;
    - `x["target_ids"]`, int32 `(B, target_length)`: the start token, then the target's
      pieces;
    - `y`, int32 `(B, target_length)`: the target's pieces, then the end token;
    - `sample_weight`, float32 `(B, target_length)`: 1 where `y` is real, 0 on padding.

    They are NumPy arrays (in a `tf.data` map, tensors), padded with 0. A single string
    each gives no batch axis.

    The other methods serve translation (`encode`, `decode`, `pieces`) and KerasHub's
    `generate`.

    A text that is too long is cut, with one warning per call. A source without pieces,
    empty or blank, gives only padding, without an end token: there is nothing to
    translate.

    Args:
        tokenizer: a `Tokenizer` with the default `dtype`, `sequence_length`, `add_bos`
            and `add_eos`, so that it returns plain ids.
        source_length: maximum pieces of a source, its end token included.
        target_length: maximum pieces of a target, its start or end token included.
        source_end: whether the source gets an end token.
        **kwargs: arguments of `keras_hub.models.Seq2SeqLMPreprocessor`.

    Raises:
        TypeError: for another tokenizer.
        ValueError: for other settings of the tokenizer, or a length out of range.

    Example:
        >>> from zoo.text import Tokenizer, train_tokenizer
        >>> texts = ["a dog runs", "ein hund rennt", "a cat", "die katze schläft"]
        >>> tokenizer = Tokenizer(proto=train_tokenizer(texts, vocabulary_size=26))
        >>> preprocessor = TranslatorPreprocessor(tokenizer, target_length=16)
        >>> x, y, weight = preprocessor({"source": texts[:1], "target": texts[1:2]})
        >>> x["source_ids"].shape, y.shape
        ((1, 128), (1, 16))
        >>> preprocessor.decode(y)
        ['ein hund rennt']
    """

    tokenizer_cls = Tokenizer
    # KerasHub's names and zoo's.
    source_length = keras_hub.models.Seq2SeqLMPreprocessor.encoder_sequence_length
    target_length = keras_hub.models.Seq2SeqLMPreprocessor.decoder_sequence_length

    def __init__(
        self,
        tokenizer: Tokenizer,
        source_length: int = 128,
        target_length: int = 128,
        source_end: bool = False,
        **kwargs: Any,
    ) -> None:
        check_tokenizer(tokenizer)
        source_length = integer("source_length", source_length, 1 + bool(source_end))
        target_length = integer("target_length", target_length, 2)
        super().__init__(tokenizer, source_length, target_length, **kwargs)
        self.source_end = source_end
        self.built = True  # there are no weights

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments, without the tokenizer."""
        return {
            **super().get_config(),
            "source_length": self.source_length,
            "target_length": self.target_length,
            "source_end": self.source_end,
        }

    # === Training ===
    @mappable
    def call(
        self, x: dict[str, Any], y: None = None, sample_weight: None = None
    ) -> Any:
        """Returns `(x, y, sample_weight)` for `fit`; see the class."""
        source, target = _columns(x, "source", "target", y, sample_weight)
        source, single = read_texts(source, "source")
        target, _ = read_texts(target, "target")
        ids = pad_rows(self.encode(source), self.source_length)
        return _training_arrays({"source_ids": ids}, self, target, single)

    # === KerasHub's generate ===
    def generate_preprocess(
        self, x: Any, sequence_length: int | None = None
    ) -> dict[str, Tensor]:
        """Returns source ids as tensors, for a task's `generate_step`.

        Args:
            x: a list of str, or `{"source": ...}` with one.
            sequence_length: `generate`'s `max_length`. Default: `target_length`.

        Returns:
            `{"source_ids": int32 (B, S)}`, S the longest row's length bucket, at most
            `source_length`, and `"target_ids"` `(B, sequence_length)`: the start token,
            then padding.
        """
        rows = self.encode(x["source"] if isinstance(x, dict) else x)
        width = min(bucket(max(map(len, rows), default=0)), self.source_length)
        length = self.target_length if sequence_length is None else sequence_length
        outputs = {"source_ids": pad_rows(rows, width)}
        outputs["target_ids"] = pad_rows([[START_ID]] * len(rows), length)
        return keras.tree.map_structure(keras.ops.convert_to_tensor, outputs)

    def generate_postprocess(self, x: dict[str, Tensor]) -> list[str]:
        """Converts the output of `generate_step` to strings.

        Args:
            x: `{"token_ids": int (B, T)}`. End tokens and padding are removed; tokens
                after an end token are kept.

        Returns:
            B strings.
        """
        rows, end = python_ids(x["token_ids"]), self.tokenizer.end_token_id
        return self.decode([[i for i in row if i != end] for row in rows])


def check_tokenizer(tokenizer: Any) -> None:
    """Raises a TypeError or ValueError for a tokenizer that gives no plain ids."""
    if not isinstance(tokenizer, Tokenizer):
        raise TypeError(
            f"tokenizer must be a zoo.text.Tokenizer. Received: {describe(tokenizer)}"
        )
    extras = tokenizer.sequence_length, tokenizer.add_bos, tokenizer.add_eos
    if tokenizer.compute_dtype != "int32" or any(extras):
        raise ValueError(
            "tokenizer must have dtype int32, no sequence_length, add_bos or add_eos. "
            f"Received: {tokenizer.compute_dtype} and {extras}"
        )


def _columns(x, first, second, y, sample_weight):
    """The two columns of a preprocessor's x, from which it makes the rest."""
    alone = y is None and sample_weight is None
    if not alone or not isinstance(x, dict) or not {first, second} <= set(x):
        raise ValueError(
            f'x must be a dict with "{first}" and "{second}", from which y and '
            f"sample_weight are made. Received: x={describe(x)}, y={describe(y)}, "
            f"sample_weight={describe(sample_weight)}"
        )
    return x[first], x[second]


def _training_arrays(inputs, preprocessor, targets, single):
    """`(x, y, sample_weight)`, without a batch axis for a single text."""
    [count] = map(len, inputs.values())
    if count != len(targets):
        raise ValueError(
            f"Both columns must hold equally many. Received: {count} and {len(targets)}"
        )
    rows = preprocessor.encode_targets(targets)
    target_ids, y, weights = framed(rows, START_ID, END_ID, preprocessor.target_length)
    arrays = {**inputs, "target_ids": target_ids}, y, weights
    return keras.tree.map_structure(lambda x: x[0], arrays) if single else arrays


@keras.saving.register_keras_serializable(package="zoo")
class CaptionPreprocessor(TargetText, keras_hub.models.Preprocessor):
    """Converts images and captions to what a captioner reads, and ids to captions.

    Called with `{"image": images, "caption": strings}`, it returns `(x, y,
    sample_weight)` for `fit`: `x["images"]`, uint8 `(B, *image_shape)`, and
    `x["target_ids"]`, `y` and `sample_weight` as a `TranslatorPreprocessor` has them.

    Args:
        tokenizer: a `Tokenizer`, as for a `TranslatorPreprocessor`.
        image_shape: height, width and channels.
        target_length: maximum pieces of a caption, its start or end token included.
        **kwargs: arguments of `keras_hub.models.Preprocessor`.

    Raises:
        TypeError: for another tokenizer.
        ValueError: for a shape or a length out of range.

    Example:
        >>> import numpy as np
        >>> from zoo.text import Tokenizer, train_tokenizer
        >>> proto = train_tokenizer(["a red ring"], 7, model_type="word")
        >>> preprocessor = CaptionPreprocessor(Tokenizer(proto), (16, 16, 3), 5)
        >>> images = np.zeros((1, 16, 16, 3), "uint8")
        >>> x, y, weight = preprocessor({"image": images, "caption": ["a red ring"]})
        >>> x["images"].shape, preprocessor.decode(y)
        ((1, 16, 16, 3), ['a red ring'])
    """

    tokenizer_cls = Tokenizer

    def __init__(
        self,
        tokenizer: Tokenizer,
        image_shape: Any = (224, 224, 3),
        target_length: int = 64,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_tokenizer(tokenizer)
        self.tokenizer = tokenizer
        self.image_shape = check_image_shape(image_shape)
        self.target_length = integer("target_length", target_length, 2)
        self.built = True  # there are no weights

    def call(
        self, x: dict[str, Any], y: None = None, sample_weight: None = None
    ) -> Any:
        """Returns `(x, y, sample_weight)` for `fit`; see the class."""
        images, captions = _columns(x, "image", "caption", y, sample_weight)
        images, single = read_images(images, self.image_shape)
        texts, _ = read_texts(captions, "caption")
        return _training_arrays({"images": images}, self, texts, single)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments, without the tokenizer."""
        return {
            **super().get_config(),
            "image_shape": list(self.image_shape),
            "target_length": self.target_length,
        }
