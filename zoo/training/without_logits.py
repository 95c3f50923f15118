"""A translator in training, whose logits are never made."""

import keras

from zoo.models.base import KeptValues
from zoo.models.seq2seq import Translator


@keras.saving.register_keras_serializable(package="zoo")
class WithoutLogits(KeptValues, keras.Model):
    """Trains a translator by what its output layer reads.

    `SmoothedCrossEntropy.projected` has loss and gradient of the output layer in one
    pass, a slice of time after another: `zoo.training.projection`. All weights are the
    task's.

    Args:
        task: a `zoo.models.Translator`.

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

    def __init__(self, task, **kwargs):
        super().__init__(**{"name": task.name, **kwargs})
        self.task = task
        self.built = True

    @staticmethod
    def serves(model, loss):
        """Whether a model's training with a loss can do without the logits: a
        translator's, whose output layer is a plain matrix product.

        Not in float16, whose gradient would be made before the loss is scaled up, and
        vanish.
        """
        return (
            isinstance(model, Translator)
            and hasattr(loss, "projected")
            and model.backbone.compute_dtype != "float16"
            and model.backbone.has_plain_output
        )

    def build(self, input_shape=None):
        self.built = True

    def call(self, inputs, training=False):
        return self.task.features(inputs, training=training)

    def compute_loss(
        self, x=None, y=None, y_pred=None, sample_weight=None, training=True
    ):
        loss = self.task.projected_loss(self.loss, y_pred, y, sample_weight)
        return sum(self.losses, loss)
