"""How a task is compiled for training, by the trainer and by the benchmark alike."""

from zoo.training.losses import SmoothedCrossEntropy
from zoo.training.updates import prepare_optimizer


def compile_for_training(
    model, optimizer, distribution=None, accumulation=1, ema=None, **loss
):
    """Compiles a task the way that every recipe is trained.

    Args:
        model: a `zoo.models.Translator`.
        optimizer: a Keras optimizer.
        distribution: a `zoo.training.distribute.Distribution` of several devices.
        accumulation, ema: see `prepare_optimizer`.
        **loss: arguments of `SmoothedCrossEntropy`.

    Example:
        >>> import keras
        >>> from zoo.models import Luong, LuongTranslator
        >>> model = LuongTranslator(Luong(20, num_layers=1, hidden_dim=8,
        ...                               embedding_dim=8))
        >>> compile_for_training(model, keras.optimizers.Adam(), smoothing=0.1)
        >>> model.loss.smoothing
        0.1
    """
    loss = SmoothedCrossEntropy(**loss)
    optimizer = prepare_optimizer(optimizer, accumulation, ema)
    if distribution is not None:
        optimizer, loss = distribution.optimizer(optimizer), distribution.loss(loss)
    model.compile(optimizer=optimizer, loss=loss, weighted_metrics=[])
    # Now, so that a checkpoint finds the optimizer's variables.
    optimizer.build(model.trainable_variables)
