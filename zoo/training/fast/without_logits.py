"""Trains a translator or a captioner without materializing its logits."""

from typing import Any

import keras

from zoo.backend import Shape, Tensor
from zoo.models.backbone import RestoreOnError
from zoo.tasks.translator import Seq2SeqTask


class WithoutLogits(RestoreOnError, keras.Model):
    """Trains a task by what its output layer reads.

    `SmoothedCrossEntropy.projected` has loss and gradient of the output layer in one
    pass, a slice of time after another: `zoo.training.fast.projection`. All weights are
    the task's, which is what is saved. It takes ids: strings go through
    `task.preprocessor` first.

    Args:
        task: a `zoo.models.Translator` or a captioner.

    Call arguments: the task's.

    Returns:
        `(B, T, d)`, the task's `features`.

    Example:
        >>> import numpy as np
        >>> from zoo.models import Luong, LuongTranslator
        >>> task = LuongTranslator(Luong(20, num_layers=1, hidden_dim=8,
        ...                              embedding_dim=8))
        >>> ids = np.array([[4, 5, 6, 0], [7, 8, 0, 0]])
        >>> WithoutLogits(task)({"source_ids": ids, "target_ids": ids}).shape
        (2, 4, 8)
    """

    def __init__(self, task: Any, **kwargs: Any) -> None:
        super().__init__(**{"name": task.name, **kwargs})
        self.task = task
        self.built = True

    @staticmethod
    def serves(model: Any, loss: Any) -> bool:
        """Whether a model can be trained with a loss without its logits.

        That is a translator or a captioner whose output layer is a plain matrix
        product, but not in float16: the gradient would be made before the loss is
        scaled up, and vanish.
        """
        return (
            isinstance(model, Seq2SeqTask)
            and hasattr(loss, "projected")
            and model.backbone.compute_dtype != "float16"
            and model.backbone.has_plain_output
        )

    def build(self, input_shape: Shape | None = None) -> None:
        self.built = True

    def check_trainable(self) -> None:
        """See `RestoreOnError`; what is quantized is named before what is frozen by it.

        Raises:
            ValueError: if the output layer has been quantized since, or any layer to
                float8, or if layers have been frozen or freed.
        """
        self.task.backbone.check_plain_output()
        super().check_trainable()

    def call(self, inputs: Tensor, training: bool = False) -> Tensor:
        return self.task.features(inputs, training=training)

    def compute_loss(
        self,
        x: Tensor | None = None,
        y: Tensor | None = None,
        y_pred: Tensor | None = None,
        sample_weight: Tensor | None = None,
        training: bool = True,
    ) -> Tensor:
        loss = self.task.projected_loss(self.loss, y_pred, y, sample_weight)
        return sum(self.losses, loss)
