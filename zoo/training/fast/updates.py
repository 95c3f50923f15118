"""Updates of weights: statistics of the gradients, a fused Adam, averages, RPROP."""

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras
from keras import ops

from zoo.checks import positive
from zoo.files import atomic_write


def prepare_optimizer(optimizer: Any) -> Any:
    """Copies an unbuilt optimizer, adding statistics and, under torch, a faster Adam.

    The statistics (see `read_statistics`) are summed up in variables of the optimizer,
    inside the compiled step: nothing is fetched from the device until they are read,
    and checkpoints have them. Under torch on a CPU, Keras's Adam takes a dozen passes
    over all weights; torch's fused kernel, used here unless `amsgrad` is set, reads and
    writes each weight once.
    """
    cls: Any = type(optimizer)
    # On a GPU, Keras's own update takes few passes over all weights at once.
    cpu = keras.backend.backend() == "torch" and ops.zeros(()).device.type == "cpu"
    if cpu and cls is type(keras.optimizers.Adam()) and not optimizer.amsgrad:
        cls = _fused_adam()
    return _tracked(cls).from_config(optimizer.get_config())


@functools.cache
def _tracked(cls: Any) -> Any:
    return cls if issubclass(cls, _Tracked) else type(cls.__name__, (_Tracked, cls), {})


class _Tracked:
    """Statistics of the gradients, kept inside the compiled step."""

    built: bool

    def build(self, variables):
        # Sum, maximum and number of the norms, and the last learning rate.
        self.statistics = self.add_variable((4,), name="statistics")
        super().build(variables)

    def apply(self, grads, trainable_variables=None):
        if not self.built:
            self.build(list(trainable_variables))
        if keras.backend.backend() == "tensorflow":
            import tensorflow as tf

            # A sparse one has a row for each occurrence of a word, and Keras's norm
            # would take them for different rows.
            grads = [g if g is None else tf.convert_to_tensor(g) for g in grads]
        flat = [
            ops.reshape(ops.cast(g, "float32"), (-1,)) for g in grads if g is not None
        ]
        # A product is twice as fast as XLA's reductions on a CPU.
        norm = ops.stop_gradient(ops.sqrt(sum(ops.dot(x, x) for x in flat)))
        total, highest, count, _ = ops.unstack(self.statistics.value)
        # Not `maximum`: XLA's, on a CPU, passes over NaN.
        highest = ops.where(norm <= highest, highest, norm)
        rate = ops.cast(self.learning_rate, "float32")
        self.statistics.assign(ops.stack([total + norm, highest, count + 1.0, rate]))
        return super().apply(grads, trainable_variables)


def read_statistics(optimizer: Any, reset: bool = True) -> dict[str, float]:
    """Reads the statistics of an optimizer, which then start anew unless not `reset`.

    They are `gradient_norm` and `gradient_norm_max`, the mean and the highest norm of
    the batches' gradients before clipping, and the last batch's `learning_rate`; none
    for other optimizers and before the first batch.
    """
    optimizer = getattr(optimizer, "inner_optimizer", optimizer)
    if not isinstance(optimizer, _Tracked) or not optimizer.built:
        return {}
    total, highest, count, rate = ops.convert_to_numpy(optimizer.statistics).tolist()
    if not count:
        return {}
    if reset:
        optimizer.statistics.assign(ops.zeros(4))
    norms = {"gradient_norm": total / count, "gradient_norm_max": highest}
    return {**norms, "learning_rate": rate}


@functools.cache
def _fused_adam():
    import torch
    from torch.optim.adam import adam

    # For a subclass, Keras calls `update_step` for each variable.
    class Adam(keras.optimizers.Adam):
        def update_step(self, gradient, variable, learning_rate):
            """Keras's update: ε is added to the root of the uncorrected v."""
            index = self._get_variable_index(variable)
            done = int(ops.convert_to_numpy(self.iterations))
            correction = (1.0 - self.beta_2 ** (done + 1)) ** 0.5
            adam(
                [variable.value.detach()],
                [gradient.contiguous()],  # the kernel reads it as if it were
                [self._momentums[index].value],
                [self._velocities[index].value],
                [],
                [torch.tensor(float(done))],
                fused=True,
                amsgrad=False,
                beta1=self.beta_1,
                beta2=self.beta_2,
                lr=float(learning_rate),
                weight_decay=0.0,
                eps=self.epsilon / correction,
                maximize=False,
            )

    return Adam


# === Averages of weights ===


class EpochWeights(keras.callbacks.Callback):
    """Keeps the weights of the last epochs, for `average_weights`.

    Writes a file after each epoch, then removes the one that is no longer needed: there
    are never more than `keep` + 1. A resumed run needs nothing but the files.

    Args:
        folder: the folder of the files; it is made.
        backbone: the model whose weights are kept.
        keep: number of epochs.

    Raises:
        ValueError: if `keep` is below 1.
    """

    def __init__(self, folder: str | Path, backbone: Any, keep: int = 5):
        super().__init__()
        self.folder, self.backbone = Path(folder), backbone
        self.keep = positive("keep", keep)

    def paths(self) -> list[Path]:
        """Returns the files kept, by epoch."""
        return sorted(self.folder.glob("epoch-?????.weights.h5"))

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        new = self.folder / f"epoch-{epoch + 1:05d}.weights.h5"
        atomic_write(new, self.backbone.save_weights)
        # A run that was killed before its checkpoint left files of epochs to come.
        kept = [path for path in self.paths() if path <= new][-self.keep :]
        for path in set(self.paths()).difference(kept):
            path.unlink()


def average_weights(model: Any, paths: Sequence[str | Path]) -> None:
    """Sets a model's weights to the mean of several weights files.

    Args:
        model: a Keras model.
        paths: its `.weights.h5` files.

    Raises:
        ValueError: without a path.
    """
    if not paths:
        raise ValueError("`paths` must name at least one file. Received: none")
    totals: list[Any] = [0.0] * len(model.weights)
    for path in paths:
        model.load_weights(path)
        for index, weight in enumerate(model.weights):
            totals[index] += ops.convert_to_numpy(weight).astype("float64")
    for weight, total in zip(model.weights, totals, strict=True):
        if "float" in weight.dtype:  # counts stay those of the last file
            weight.assign(total / len(paths))


# === RPROP ===


@keras.saving.register_keras_serializable(package="zoo")
class Rprop(keras.optimizers.Optimizer):
    """Resilient propagation (Riedmiller & Braun 1993): only the gradient's sign counts.

    Each weight has its own step. It grows while the gradient keeps its sign; when the
    sign changes, the step shrinks and the weight stays for one update:

        step = min(step * increase, most)      the sign is that of the last update
        step = max(step * decrease, least)     it has changed: the weight stays
        w   -= learning_rate * step * sign(gradient)

    So gradients must be those of the whole training set: one batch an epoch. This
    form, which takes no step back, is iRPROP- (Igel & Hüsken 2003). Schuster & Paliwal
    call theirs modified, without saying how.

    Args:
        learning_rate: the first step.
        increase, decrease: factors on the step.
        least, most: bounds of the step, as multiples of the first.
        name: see `keras.optimizers.Optimizer`.
        **kwargs: see `keras.optimizers.Optimizer`.

    Example:
        >>> weight = keras.Variable([1.0, 1.0])
        >>> optimizer = Rprop(0.1)
        >>> for _ in range(2):  # a step of 0.1, then one of 0.12
        ...     optimizer.apply([ops.convert_to_tensor([3.0, -0.01])], [weight])
        >>> [round(float(w), 2) for w in weight.value]
        [0.78, 1.22]
    """

    def __init__(
        self,
        learning_rate: Any = 0.01,
        increase: float = 1.2,
        decrease: float = 0.5,
        least: float = 1e-4,
        most: float = 5000.0,
        name: str = "rprop",
        **kwargs: Any,
    ):
        super().__init__(learning_rate=learning_rate, name=name, **kwargs)
        self.increase, self.decrease = increase, decrease
        self.least, self.most = least, most

    def build(self, variables: list[Any]) -> None:
        if self.built:
            return
        super().build(variables)
        self._steps, self._signs = (
            [
                self.add_variable_from_reference(v, name, initializer=initializer)
                for v in variables
            ]
            for name, initializer in (("step", "ones"), ("sign", "zeros"))
        )

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        index = self._get_variable_index(variable)
        last, sign = self._signs[index], ops.sign(ops.cast(gradient, variable.dtype))
        agreed = sign * last
        factor = ops.where(agreed < 0, self.decrease, 1.0)
        factor = ops.where(agreed > 0, self.increase, factor)
        step = ops.cast(factor, variable.dtype) * self._steps[index]
        step = ops.clip(step, self.least, self.most)
        sign = ops.where(agreed < 0, ops.zeros_like(sign), sign)
        self.assign(self._steps[index], step)
        self.assign(last, sign)
        rate = ops.cast(learning_rate, variable.dtype)
        self.assign_sub(variable, rate * step * sign)

    def get_config(self) -> dict[str, Any]:
        names = ("increase", "decrease", "least", "most")
        return {**super().get_config(), **{name: getattr(self, name) for name in names}}
