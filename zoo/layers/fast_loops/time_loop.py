"""A scan over time with loop-invariant work moved out of it."""

import itertools
from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from zoo.backend import Shape, Tensor
from zoo.layers.functional import (
    columns,
    custom_gradient,
    join,
    matmul,
    scan,
    transpose_matmul,
)


class TimeLoop:
    """Collects what the steps of a loop over `(T, B)` read, then runs them.

    Example:
        >>> inputs, U = keras.ops.ones((7, 2, 3)), keras.ops.ones((3, 3))
        >>> loop = TimeLoop((7, 2), "float32", training=True)
        >>> product = loop.product(U, inputs)  # h U + x_t
        >>> def step(slices, states):
        ...     h = keras.ops.tanh(product(slices, states[0]))
        ...     return h, [h]
        >>> outputs, _ = loop.run(step, [keras.ops.zeros((2, 3))])
        >>> outputs.shape
        (2, 7, 3)
    """

    def __init__(self, lead: Shape, dtype: Any, training: bool = False) -> None:
        self.lead, self.dtype, self.training = tuple(lead), dtype, training
        # Under torch, which runs the loop step by step, the wider sequences of
        # `LoopKernel` cost as much as they save.
        self.prepares = training and keras.backend.backend() != "torch"
        self.sequences: list[Tensor] = []

    def add_input(self, sequence: Tensor) -> int:
        """Adds a sequence `(T, B, m)`; returns its place among a step's `slices`."""
        self.sequences.append(sequence)
        return len(self.sequences) - 1

    def term(self, added: Any) -> Callable[[Any], Tensor]:
        """A step's part of `(T, B, m)`, or what is the same at each, by its slices."""
        if len(added.shape) < 3:
            return lambda slices: added
        place = self.add_input(added)
        return lambda slices: slices[place]

    def product(self, kernel: Tensor, added: Tensor | None = None) -> Callable:
        """A function `(slices, x)`: x · kernel plus what is known before the loop.

        `added` is `(T, B, m)`, or `(B, m)` or `(m,)` where it is the same at each step.
        """
        if self.prepares:
            own = LoopKernel(kernel)
            added = ops.zeros((), self.dtype) if added is None else added
            if len(added.shape) < 3:
                added = ops.broadcast_to(added, (*self.lead, own.shape[1]))
            place = self.add_input(own.widen(added))
            return lambda slices, x: own.product(x, slices[place])
        if added is None:
            return lambda slices, x: matmul(x, kernel)
        term = self.term(added)
        return lambda slices, x: matmul(x, kernel) + term(slices)

    def run(
        self, step: Callable, states: Any, reverse: bool = False
    ) -> tuple[Tensor, Any]:
        """Runs `(slices, states) -> (output, states)`, as `scan` does."""
        widths = [sequence.shape[-1] for sequence in self.sequences]
        ends = list(itertools.accumulate(widths[:-1]))

        def cut(x):
            if not ends or widths[-1] is not None:
                return ops.split(x, ends, axis=-1) if ends else [x]
            # Only the last width may be unknown, as that of noise for S places is.
            pairs = itertools.pairwise([0, *ends])
            return [*(columns(x, *pair) for pair in pairs), x[:, ends[-1] :]]

        # Side by side, since Keras's engine takes one sequence; batch first, as it
        # wants it, though it turns it back at once.
        sequence = ops.swapaxes(join(*self.sequences), 0, 1)
        return scan(lambda x, states: step(cut(x), states), sequence, states, reverse)


class _OneStep(TimeLoop):
    """Makes the products of a single step, which reads what it is given."""

    def term(self, added: Any) -> Callable[[Any], Tensor]:
        return lambda slices: added


NO_LOOP = _OneStep((), None)


class LoopKernel:
    """The matrix of a product inside a time loop, made ready for training.

    The gradient of a loop's matrix is a sum over its steps: after the loop one large
    product. `widen` adds columns of zeros to a sequence that the loop reads anyway; the
    steps hand their factors of that product out as the gradient of these columns.
    """

    def __init__(self, kernel: Tensor) -> None:
        self.kernel, self.shape = kernel, kernel.shape
        self.transposed = ops.transpose(kernel)  # here: not at each step

    def widen(self, added: Tensor) -> Tensor:
        """Adds columns for the kernel's gradient: `(T, B, m)` to `(T, B, m + n)`."""
        n, m = self.shape

        @custom_gradient
        def widened(added, kernel):
            def gradient(upstream):
                rows = ops.reshape(upstream, (-1, m + n))
                d_kernel = transpose_matmul(rows[:, m:], rows[:, :m])
                return upstream[..., :m], d_kernel

            room = ops.zeros((*ops.shape(added)[:-1], n), dtype=added.dtype)
            return ops.concatenate([added, room], axis=-1), gradient

        return widened(added, self.kernel)

    def product(self, x: Tensor, added: Tensor) -> Tensor:
        """One step: x · kernel plus this step's slice of the widened sequence."""
        m = self.shape[1]

        @custom_gradient
        def multiply(x, kernel, transposed, added):
            def gradient(upstream):
                rows = ops.concatenate([upstream, x], axis=-1)
                return matmul(upstream, transposed), None, None, rows

            return matmul(x, kernel) + added[:, :m], gradient

        return multiply(x, self.kernel, self.transposed, added)
