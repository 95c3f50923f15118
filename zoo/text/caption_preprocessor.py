"""Preprocessing for captioners: images to arrays, captions to ids and back."""

from typing import Any

import keras
import keras_hub

from zoo.checks import integer, positive
from zoo.strings import describe
from zoo.text.rows import pad_rows
from zoo.text.tokenizer import Tokenizer, TokenizerByBackbone, read_texts
from zoo.text.translation_arrays import CaptionText
from zoo.text.translator_preprocessor import check_tokenizer


@keras.saving.register_keras_serializable(package="zoo")
class CaptionPreprocessor(
    TokenizerByBackbone, CaptionText, keras_hub.models.Preprocessor
):
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
        if not isinstance(image_shape, (tuple, list)) or len(image_shape) != 3:
            raise ValueError(
                "`image_shape` must be (height, width, channels). "
                f"Received: image_shape={image_shape!r}"
            )
        height, width, channels = (positive("image_shape", n) for n in image_shape)
        self.image_shape = (height, width, channels)
        self.target_length = integer("target_length", target_length, 2)
        self.built = True  # there are no weights

    def call(
        self, x: dict[str, Any], y: None = None, sample_weight: None = None
    ) -> Any:
        """Returns `(x, y, sample_weight)` for `fit`; see the class."""
        if not isinstance(x, dict) or not {"image", "caption"} <= set(x):
            raise ValueError(
                'x must be a dict with the keys "image" and "caption". '
                f"Received: {describe(x)}"
            )
        images, single = self.images(x["image"])
        texts, _ = read_texts(x["caption"], "caption")
        if len(texts) != len(images):
            raise ValueError(
                "image and caption must hold equally many. "
                f"Received: {len(images)} and {len(texts)}"
            )
        rows, length = self.encode_targets(texts), self.target_length
        start, end = self.tokenizer.start_token_id, self.tokenizer.end_token_id
        inputs = pad_rows([[start, *row] for row in rows], length)
        labels = pad_rows([[*row, end] for row in rows], length)
        weights = (labels != self.tokenizer.pad_token_id).astype("float32")
        outputs = {"images": images, "target_ids": inputs}, labels, weights
        if single:
            return keras.tree.map_structure(lambda batch: batch[0], outputs)
        return outputs

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments, without the tokenizer."""
        return {
            **super().get_config(),
            "image_shape": list(self.image_shape),
            "target_length": self.target_length,
        }
