"""Compiles models for training, those that write text without their logits."""

from typing import Any

import keras
from keras import ops

from zoo.backend import Tensor
from zoo.checks import positive
from zoo.layers.functional import cast_weights
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


@keras.saving.register_keras_serializable(package="zoo")
class CarriedState(LogitFreeTrainer):
    """A language model in training, whose state goes on from batch to batch.

    The state is in variables that are not trained; no gradient passes from one
    batch into the one before. Called, it gives what the output layer reads,
    `(B, T, hidden_dim)`; `fit` it on `StreamBatches`, in their order, with a
    `SmoothedCrossEntropy`, which does without the logits of a whole batch. (`evaluate`
    would start from what training left: `RecurrentCausalLM.perplexity` doesn't.)

    Args:
        backbone: a `zoo.models.RecurrentLM`; what is learned is in it.
        batch_size: streams.

    Example:
        >>> from zoo.models import RecurrentLM
        >>> from zoo.training import StreamBatches
        >>> backbone = RecurrentLM(9, embedding_dim=4, hidden_dim=4)
        >>> batches = StreamBatches([[4, 5, 6], [7, 8]], batch_size=2, length=2)
        >>> CarriedState(backbone, 2)(batches[0][0]).shape
        (2, 2, 4)
    """

    def __init__(self, backbone: Any, batch_size: int, **kwargs: Any) -> None:
        super().__init__(backbone, **kwargs)
        self.batch_size = positive("batch_size", batch_size)
        states = keras.tree.flatten(backbone.initial_states(batch_size))
        options = {"initializer": "zeros", "trainable": False}
        self.carried = [
            self.add_weight(tuple(state.shape), name=f"state_{number}", **options)
            for number, state in enumerate(states)
        ]
        self.built = True

    @property
    def backbone(self) -> Any:
        return self.task

    def call(self, inputs: Tensor, training: bool = False) -> Tensor:
        dtype = self.backbone.compute_dtype
        keep = ops.cast(inputs["keep"], dtype)[:, None]
        states = keras.tree.pack_sequence_as(
            self.backbone.initial_states(self.batch_size),
            [keep * cast_weights(state, dtype) for state in self.carried],
        )
        features, states = self.backbone.read(inputs["token_ids"], states, training)
        if training:
            states = keras.tree.flatten(states)
            for variable, state in zip(self.carried, states, strict=True):
                variable.assign(ops.stop_gradient(ops.cast(state, variable.dtype)))
        return features

    def projected_loss(
        self, features: Tensor, y: Tensor, sample_weight: Tensor | None
    ) -> Tensor:
        weights = self.backbone.output_weights()
        return self.loss.projected(features, *weights, y, sample_weight)


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
    """Compiles TensorFlow's step by shape: in Keras's own, XLA knows no shapes."""
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
