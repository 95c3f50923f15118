"""Milliseconds of a training step of an LSTMN layer, beside the automatic gradient.

    KERAS_BACKEND=jax python -m tools.bench.lstmn

`run_lstmn_cell`, whose gradient is written out (zoo/layers/fast_loops), against
the same steps one by one through `advance`, whose gradient the backend finds.
56 sequences of 14 steps as in a batch of translations, 20 of 35 as in a language
model's; 256 units. The median of `--runs`, in which both take turns.
"""

import argparse
import functools
import statistics

import keras
import numpy as np
from keras import ops

from tools.bench.core import take_turns
from zoo.cli.common import count
from zoo.layers import LSTMNCell
from zoo.layers.fast_loops.lstmn import run_lstmn_cell
from zoo.layers.functional import scan

UNITS = 256
SHAPES = ((56, 14, "deep"), (56, 14, None), (20, 35, None))


def stepwise(cell, inputs, source):
    """h of all steps, by `advance`."""

    def step(x, states):
        h, _, _, states = cell.advance(x, states, source)
        return h, states

    states = cell.make_states(inputs.shape[0], inputs.shape[1])
    return scan(step, cell.project(inputs), states)[0]


def written(cell, inputs, source):
    return run_lstmn_cell(cell, inputs, source=source)[0]


def gradient_of(cell, run, source):
    """A compiled function of the inputs that computes all gradients."""
    variables, backend = cell.trainable_variables, keras.backend.backend()

    def loss(inputs):
        own = cell.project_source(*source) if source else None
        return ops.sum(ops.square(run(cell, inputs, own)))

    if backend == "jax":
        import jax

        def of_values(values, inputs):
            mapping = list(zip(variables, values, strict=True))
            with keras.StatelessScope(state_mapping=mapping):
                return loss(inputs)

        compiled = jax.jit(jax.grad(of_values))
        values = [variable.value for variable in variables]
        return lambda inputs: jax.block_until_ready(compiled(values, inputs))
    if backend == "tensorflow":
        import tensorflow as tf

        @tf.function
        def compiled(inputs):
            with tf.GradientTape() as tape:
                value = loss(inputs)
            return tape.gradient(value, [variable.value for variable in variables])

        return lambda inputs: [x.numpy() for x in compiled(inputs)]

    def eager(inputs):
        for variable in variables:
            variable.value.grad = None
        loss(inputs).backward()

    return eager


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=count, default=15)
    arguments = parser.parse_args(argv)
    print(f"| rows, steps, fusion | written, ms | {keras.backend.backend()}'s, ms | |")
    print("| --- | --- | --- | --- |")
    for batch, length, fusion in SHAPES:
        keras.utils.set_random_seed(1)
        draw = np.random.default_rng(1).normal
        inputs, *tapes = (
            draw(size=(batch, length, UNITS)).astype("float32") for _ in range(3)
        )
        cell = LSTMNCell(UNITS, fusion=fusion)
        cell.build((None, UNITS))
        source = (*tapes, np.ones((batch, length), "bool")) if fusion else None
        inputs = ops.convert_to_tensor(inputs)
        runs = {
            run: functools.partial(gradient_of(cell, run, source), inputs)
            for run in (written, stepwise)
        }
        take_turns(runs, 1)  # compiles
        times = take_turns(runs, arguments.runs).values()
        one, two = (1000 * statistics.median(seconds) for seconds in times)
        name = f"{batch}, {length}, {fusion or 'none'}"
        print(f"| {name} | {one:.1f} | {two:.1f} | {two / one:.2f} x |", flush=True)


if __name__ == "__main__":
    main()
