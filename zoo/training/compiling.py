"""How a task is compiled for training, by the trainer and by the benchmark alike."""

from zoo.training.losses import SmoothedCrossEntropy


def compile_for_training(model, optimizer, distribution=None, **loss):
    """Compiles a task the way that every recipe is trained.

    Args:
        model: a `zoo.models.Translator`.
        optimizer: a Keras optimizer.
        distribution: a `zoo.training.distribute.Distribution` of several devices.
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
    if distribution is not None:
        optimizer, loss = distribution.optimizer(optimizer), distribution.loss(loss)
    model.compile(optimizer=optimizer, loss=loss, weighted_metrics=[])
    # Now, so that a checkpoint finds the optimizer's variables.
    optimizer.build(model.trainable_variables)
