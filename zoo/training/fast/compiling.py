"""Compiles models for training, for runs and benchmarks alike."""

from typing import Any

import keras

from zoo.models.backbone import RestoreOnError
from zoo.training.fast.process import give_back_large_buffers
from zoo.training.fast.recorded import record_steps
from zoo.training.fast.updates import prepare_optimizer
from zoo.training.fast.without_logits import WithoutLogits
from zoo.training.losses import SmoothedCrossEntropy


def compile_for_training(
    model: Any,
    optimizer: Any,
    distribution: Any = None,
    accumulation: int = 1,
    ema: Any = None,
    **loss: Any,
) -> keras.Model:
    """Compiles a translator as the recipes train it, and returns the model to `fit`.

    That is a `WithoutLogits` of the translator where it serves, else the translator.
    Under TensorFlow on one device the step is compiled by XLA, on a CPU too, once for
    each shape: `fit` should get batches of few shapes (`zoo.training.PairBatches`).

    Args:
        model: a `zoo.models.Translator`.
        optimizer: a Keras optimizer.
        distribution: a `zoo.training.distribute.Distribution` of several devices.
        accumulation, ema: see `prepare_optimizer`.
        **loss: arguments of `SmoothedCrossEntropy`.

    Returns:
        A compiled Keras model, whose weights are the translator's.

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
    loss = SmoothedCrossEntropy(**loss)
    return compile_with(model, optimizer, loss, distribution, accumulation, ema)


def compile_with(
    model: Any,
    optimizer: Any,
    loss: Any,
    distribution: Any = None,
    accumulation: int = 1,
    ema: Any = None,
) -> keras.Model:
    """`compile_for_training` for any model and any loss.

    Args:
        model: a built Keras model.
        optimizer, distribution, accumulation, ema: see `compile_for_training`.
        loss: a `keras.losses.Loss`, or what `compile` takes for it.

    Returns:
        The model to `fit`.
    """
    if WithoutLogits.serves(model, loss):
        model = WithoutLogits(model)
    give_back_large_buffers(model)
    optimizer = prepare_optimizer(optimizer, accumulation, ema)
    if distribution is not None:
        optimizer, loss = distribution.optimizer(optimizer), distribution.loss(loss)
    alone = distribution is None or distribution.devices == 1
    by_shape = keras.backend.backend() == "tensorflow" and alone
    model.compile(
        optimizer=optimizer,
        loss=loss,
        weighted_metrics=[],
        jit_compile=True if by_shape else "auto",
    )
    if by_shape:
        _compile_by_shape(model)
    recorded = keras.backend.backend() == "torch" and alone
    if recorded and isinstance(model, WithoutLogits):  # others may carry states along
        record_steps(model)
    # Now, so that a checkpoint finds the optimizer's variables; and the model's, since
    # for mixed_float16 Keras wraps what was given into one that scales the loss.
    model.optimizer.build(model.trainable_variables)
    if isinstance(model, RestoreOnError):
        model.check_trainable()  # from now on
    return model


def _compile_by_shape(model):
    """Lets TensorFlow compile the training step for each shape of a batch.

    Keras's own training function reads the batch inside the graph, where its shape is
    unknown: XLA then makes slower code, and loops that can't be unrolled or hoisted.
    """
    import tensorflow as tf

    def make_train_function(force=False):
        if isinstance(model, RestoreOnError):
            model.check_trainable()
        plain = model.run_eagerly or model.jit_compile is not True
        if plain or model.steps_per_execution > 1:  # compiled anew, in another way
            return type(model).make_train_function(model, force)
        if model.train_function is None or force:
            step = tf.function(model.train_step, jit_compile=True, autograph=False)
            model.train_function = lambda iterator: step(next(iterator))
        return model.train_function

    model.make_train_function = make_train_function
