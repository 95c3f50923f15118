"""Compiles models for training, translators without materializing their logits."""

from typing import Any

import keras

from zoo.backend import Tensor
from zoo.tasks.translator import Seq2SeqTask
from zoo.training.fast.traced_steps import trace_steps
from zoo.training.fast.updates import prepare_optimizer
from zoo.training.losses import SmoothedCrossEntropy


class LogitFreeTrainer(keras.Model):
    """Trains a translator or captioner by what its output layer reads, `(B, T, d)`.

    `SmoothedCrossEntropy.projected` has loss and gradient of the output layer in one
    pass. All weights are the task's, which is what is saved. It takes ids.
    """

    def __init__(self, task: Any, **kwargs: Any) -> None:
        super().__init__(**{"name": task.name, **kwargs})
        self.task = task
        self.built = True

    @staticmethod
    def serves(model: Any, loss: Any) -> bool:
        """Whether a model can be trained with a loss without its logits.

        Not in float16: the gradient would be made before the loss is scaled up, and
        vanish.
        """
        return (
            isinstance(model, Seq2SeqTask)
            and hasattr(loss, "projected")
            and model.backbone.compute_dtype != "float16"
            and model.backbone.has_plain_output
        )

    @property
    def backbone(self) -> Any:
        return self.task.backbone

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
        return sum(self.losses, self.projected_loss(y_pred, y, sample_weight))

    def projected_loss(
        self, features: Any, y: Any, sample_weight: Tensor | None
    ) -> Tensor:
        return self.task.projected_loss(self.loss, features, y, sample_weight)


def compile_for_training(
    model: Any,
    optimizer: Any,
    distribution: Any = None,
    loss: Any = None,
    **smoothing: Any,
) -> keras.Model:
    """Compiles a model as the recipes train it, and returns the model to `fit`.

    That is a `LogitFreeTrainer` of a translator where it serves, else the model. Under
    TensorFlow the step is compiled by XLA, on a CPU too, once for each shape: `fit`
    should get batches of few shapes (`zoo.training.PairBatches`).

    Args:
        model: a `zoo.models.Translator`, or another built Keras model.
        optimizer: a Keras optimizer that has not been built; see `prepare_optimizer`.
        distribution: a `zoo.training.distribute.Distribution` of several devices.
        loss: what `compile` takes; by default a `SmoothedCrossEntropy`.
        **smoothing: arguments of that one, `smoothing` and `normalize`.

    Returns:
        A compiled Keras model, whose weights are the model's.

    Raises:
        TypeError: if further arguments are given besides a loss.

    Example:
        >>> import keras
        >>> from zoo.models import Luong, LuongTranslator
        >>> model = LuongTranslator(Luong(20, num_layers=1, hidden_dim=8,
        ...                               embedding_dim=8))
        >>> trained = compile_for_training(model, keras.optimizers.Adam(),
        ...                                smoothing=0.1)
        >>> trained.loss.smoothing
        0.1
    """
    if loss is not None and smoothing:
        raise TypeError(
            f"A given loss takes no further arguments. Received: {smoothing}"
        )
    loss = SmoothedCrossEntropy(**smoothing) if loss is None else loss
    if LogitFreeTrainer.serves(model, loss):
        model = LogitFreeTrainer(model)
    if distribution is not None:
        loss = distribution.loss(loss)
    backend = keras.backend.backend()
    jit_compile = True if backend == "tensorflow" else "auto"
    optimizer = prepare_optimizer(optimizer)
    model.compile(optimizer, loss, weighted_metrics=[], jit_compile=jit_compile)
    if backend == "tensorflow":
        _compile_by_shape(model)
    alone = distribution is None or distribution.devices == 1
    # Other models may carry states along.
    if backend == "torch" and alone and type(model) is LogitFreeTrainer:
        trace_steps(model)
    # Now, so that a checkpoint finds the optimizer's variables; and the model's, since
    # for mixed_float16 Keras wraps what was given into one that scales the loss.
    model.optimizer.build(model.trainable_variables)
    return model


def _compile_by_shape(model):
    """Lets TensorFlow compile the training step for each shape of a batch.

    Keras's own training function reads the batch inside the graph, where its shape is
    unknown: XLA then makes slower code, and loops that can't be unrolled or hoisted.
    """
    import tensorflow as tf

    def make_train_function(force=False):
        plain = model.run_eagerly or model.jit_compile is not True
        if plain or model.steps_per_execution > 1:  # compiled anew, in another way
            return type(model).make_train_function(model, force)
        if model.train_function is None or force:
            step = tf.function(model.train_step, jit_compile=True, autograph=False)
            model.train_function = lambda iterator: step(next(iterator))
        return model.train_function

    model.make_train_function = make_train_function
