"""Describes images by Xu et al. 2015's model, with hard attention's loss."""

from typing import Any

import keras
import keras_hub
from keras import ops

from zoo.backend import Shape, Tensor
from zoo.checks import zero_or_above
from zoo.decoding.translating import Captioning
from zoo.ids import PAD_ID
from zoo.layers.hard_attention import reinforce
from zoo.models.xu import ShowAttendTell
from zoo.tasks.translator import Seq2SeqTask
from zoo.text import CaptionPreprocessor


@keras.saving.register_keras_serializable(package="zoo")
class ShowAttendTellCaptionerPreprocessor(CaptionPreprocessor):
    """Images and captions to arrays, and ids back to captions."""

    backbone_cls = ShowAttendTell


@keras.saving.register_keras_serializable(package="zoo")
class ShowAttendTellCaptioner(Captioning, Seq2SeqTask, keras_hub.models.Task):
    """Describes images, with a `ShowAttendTell`.

    `fit(images, captions)` takes what `caption` takes and a str for each. With hard
    attention it is trained by `zoo.training.compile_for_training`, and its loss has
    section 4.1's estimator: places are drawn, the baseline is b ← 0.9 b + 0.1
    log p(y | s, a) (the batch's mean), and `reinforce` is added to the loss, divided by
    the same number. `baseline` is b, a state of training: checkpoints have it, another
    training begins with 0.

    Args:
        backbone: a `ShowAttendTell`.
        preprocessor: a `ShowAttendTellCaptionerPreprocessor`, or None to work on
            arrays.
        augmentation: as in `zoo.models.Translator`.
        reward: λ_r. 1/10 in the authors' code.
        entropy: λ_e. 0.002 there.

    Raises:
        ValueError: for a preprocessor of another vocabulary or image shape, or if λ_r
            or λ_e is below 0.

    Example:
        >>> import numpy as np
        >>> from zoo.text import Tokenizer, train_tokenizer
        >>> proto = train_tokenizer(["a red ring"], 7, model_type="word")
        >>> backbone = ShowAttendTell(7, hidden_dim=8, embedding_dim=6,
        ...                           annotation_dim=4, attention_dim=5,
        ...                           image_shape=(16, 16, 3))
        >>> preprocessor = ShowAttendTellCaptionerPreprocessor(Tokenizer(proto),
        ...                                                    image_shape=(16, 16, 3))
        >>> model = ShowAttendTellCaptioner(backbone, preprocessor)
        >>> image = np.zeros((16, 16, 3), "uint8")
        >>> record = model.caption(image, max_length=4, return_details=True)
        >>> record.alignment.shape == (len(record.tokens), 2, 2)
        True
    """

    backbone_cls = ShowAttendTell
    preprocessor_cls = ShowAttendTellCaptionerPreprocessor
    task_name = "caption"
    text_columns = ("image", "caption")
    text_inputs = 2

    def __init__(
        self,
        backbone: Any,
        preprocessor: Any = None,
        reward: float = 0.1,
        entropy: float = 0.002,
        **kwargs: Any,
    ) -> None:
        received = preprocessor and preprocessor.image_shape
        if received not in (None, backbone.image_shape):
            raise ValueError(
                "The preprocessor's `image_shape` must be that of the backbone, "
                f"{backbone.image_shape}. Received: image_shape={received}"
            )
        super().__init__(backbone, preprocessor, **kwargs)
        self.reward = zero_or_above("reward", reward)
        self.entropy = zero_or_above("entropy", entropy)

    def build(self, input_shape: Shape | None = None) -> None:
        self.baseline = self.add_weight(
            name="baseline", shape=(), initializer="zeros", trainable=False
        )
        self.built = True

    def call(self, inputs: Tensor, training: bool = False) -> Any:
        if training and self.backbone.attention == "hard":
            raise ValueError(
                "Hard attention is trained by the model that zoo.training."
                "compile_for_training returns, in float32 or bfloat16, not quantized, "
                "in one process. "
                f"Received: loss={getattr(self, 'loss', None)!r}, "
                f"dtype={self.backbone.compute_dtype}"
            )
        return super().call(inputs, training=training)

    def features(self, inputs: Tensor, training: bool = False) -> Any:
        """As a translator's; hard attention in training adds its draws.

        Then a dict of `features`, `choices`, the places drawn, and `alphas`, which is
        α.
        """
        if not (training and self.backbone.attention == "hard"):
            return super().features(inputs, training=training)
        inputs = self.augmented(inputs, training)
        noise = self.backbone.draw_noise(inputs)
        features, choices, alphas = self.backbone.run(inputs, True, noise)
        return {"features": features, "choices": choices, "alphas": alphas}

    def projected_loss(
        self, loss: Any, features: Tensor, y: Tensor, sample_weight: Tensor | None
    ) -> Tensor:
        if not isinstance(features, dict):
            return super().projected_loss(loss, features, y, sample_weight)
        drawn, features = features, features["features"]
        total = super().projected_loss(loss, features, y, sample_weight)
        if sample_weight is None:
            sample_weight = ops.not_equal(ops.cast(y, "int32"), PAD_ID)
        weights = ops.cast(sample_weight, "float32")
        # No gradient passes through it: nothing is kept for one.
        logits = self.backbone.logits(ops.stop_gradient(features))
        losses = keras.losses.sparse_categorical_crossentropy(
            y, ops.cast(logits, "float32"), from_logits=True
        )
        log_likelihood = ops.stop_gradient(-ops.sum(losses * weights, axis=-1))
        real = ops.cast(weights > 0, "float32")[..., None]
        added = reinforce(
            log_likelihood,
            ops.cast(drawn["alphas"], "float32") * real,
            ops.cast(drawn["choices"], "float32") * real,
            self.baseline,
            self.reward,
            self.entropy,
        )
        mean = ops.mean(log_likelihood)
        self.baseline.assign(0.9 * self.baseline + 0.1 * mean)
        return total + loss.mean(ops.sum(added), loss.count(weights))

    def get_config(self) -> dict[str, Any]:
        arguments = {"reward": self.reward, "entropy": self.entropy}
        return {**super().get_config(), **arguments}
