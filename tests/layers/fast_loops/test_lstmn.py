"""The written gradient against the automatic one of the steps, one after another."""

import keras
import numpy as np
import pytest
from keras import ops

from tests.harness import close, compiled, gradients, randomize
from tests.marks import long, once
from zoo.layers import LSTMNCell
from zoo.layers.fast_loops.lstmn import run_lstmn_cell
from zoo.layers.fast_loops.lstmn_step import Rows
from zoo.layers.functional import scan

RNG = np.random.default_rng(11)
INPUTS = RNG.normal(size=(3, 6, 5)).astype("float32")
FIRST = RNG.normal(size=(2, 3, 4)).astype("float32")
SOURCE = RNG.normal(size=(2, 3, 7, 4)).astype("float32")
# Pads in the middle and before, and a row of nothing else.
MASK = np.array([[1] * 6, [0, 1, 1, 0, 1, 0], [0] * 6], "bool")
SOURCE_MASK = np.arange(7)[None] < np.array([7, 3, 0])[:, None]
# What h, c, the last of each and the weights on the source are multiplied with.
SHAPES = ((3, 6, 4), (3, 6, 4), (3, 4), (3, 4), (3, 6, 7))
FUSIONS = (None, "shallow", "deep")
FACTORS = [RNG.normal(size=shape).astype("float32") for shape in SHAPES]
STARTS = np.array([[0, 0, 1, 1, 0, 0], [1, 1, 0, 0, 1, 0], [0, 1, 0, 0, 0, 0]], "bool")


def stepwise(cell, inputs, mask, first, source, starts=None):
    """The results of `run_lstmn_cell`, step by step with `advance`."""
    states, x = cell.make_states(3, inputs.shape[1], first), cell.project(inputs)
    keep = np.ones((3, inputs.shape[1])) if mask is None else mask
    begins = np.zeros(keep.shape, "bool") if starts is None else starts
    added = ops.cast(np.stack([keep, begins], axis=-1), x.dtype)
    x = ops.concatenate([x, added], axis=-1)

    def step(row, states):
        keep, begins = row[:, -2:-1] > 0, row[:, -1:] > 0
        begins = None if starts is None else begins
        *found, states = cell.advance(row[:, :-2], states, source, keep, begins)
        found = [ops.where(keep, part, 0.0) for part in found if part is not None]
        return ops.concatenate(found, axis=-1), states

    outputs, states = scan(step, x, states)
    h, c, weights = ops.split(outputs, [cell.units, 2 * cell.units], axis=-1)
    return h, c, weights if source else None, states[2:4]


def loss_of(cell, run, given, mask, starts):
    """A number that depends on all that a run of the cell returns."""
    inputs, h, c, gamma, alpha = (ops.convert_to_tensor(x) for x in given)
    fused = cell.fusion is not None
    source = cell.project_source(gamma, alpha, SOURCE_MASK) if fused else None
    h, c, weights, last = run(cell, inputs, mask, [h, c], source, starts)
    total = 0.0
    for x, factor in zip([h, c, *last, weights], FACTORS, strict=True):
        if x is not None:
            factor = ops.convert_to_tensor(factor)
            factor = factor[:, : x.shape[1]] if len(x.shape) == 3 else factor
            total = total + ops.sum(ops.cast(x, "float32") * factor)
    return total


def gradients_of(cell, run, mask=None, starts=None, length=6):
    given = [keras.Variable(x) for x in (INPUTS[:, :length], *FIRST, *SOURCE)]
    # Shallow fusion doesn't read α, the last of them.
    used = {None: 3, "shallow": 4, "deep": 5}[cell.fusion]
    variables = [*cell.trainable_variables, *given[:used]]
    return gradients(variables, lambda: loss_of(cell, run, given, mask, starts))


def made(fusion, dtype=None):
    cell = LSTMNCell(4, 3, fusion, dtype=dtype)
    cell.build((None, 5))
    return randomize(cell)


CASES = [
    (None, MASK, STARTS, 6),
    *(once(fusion, MASK, None, 6) for fusion in FUSIONS[:2]),
    ("deep", MASK, None, 6),
    *(once(fusion, None, None, 6) for fusion in FUSIONS),
    once(None, None, STARTS, 6),
    once("deep", None, None, 1),
]


@pytest.mark.parametrize(("fusion", "mask", "starts", "length"), CASES)
def test_its_gradients_are_the_steps(fusion, mask, starts, length):
    cell, case = made(fusion), (mask, starts, length)
    value, wanted = gradients_of(cell, stepwise, *case)
    again, found = gradients_of(cell, run_lstmn_cell, *case)
    close(again, value)
    for one, two in zip(found, wanted, strict=True):
        assert np.abs(two).max() > 0 or length == 1
        close(one, two)


@pytest.mark.once
@pytest.mark.parametrize("dtype", ["mixed_bfloat16", "mixed_float16"])
def test_half_precision_loses_no_more_than_the_steps(dtype):
    inputs = RNG.normal(size=(3, 40, 8)).astype("float32")

    def made(dtype):
        cell = LSTMNCell(32, dtype=dtype)
        cell.build((None, 8))
        return randomize(cell)

    def gradients_of(cell, run):
        def loss():
            h = run(cell, inputs, None, None, None)[0]
            return ops.sum(ops.square(ops.cast(h, "float32")))

        return gradients(cell.trainable_variables, loss)[1]

    exact, half = gradients_of(made("float32"), stepwise), made(dtype)

    def error(run):
        pairs = zip(gradients_of(half, run), exact, strict=True)
        return sum(np.linalg.norm(a - b) / np.linalg.norm(b) for a, b in pairs)

    assert error(run_lstmn_cell) < 1.25 * error(stepwise)


@pytest.mark.skipif(keras.backend.backend() != "jax", reason="of jax.jit")
@pytest.mark.parametrize("fusion", [None, long("deep")])
def test_its_gradient_from_outside_a_compiled_function(fusion):
    import jax

    cell = made(fusion)
    starts = None if fusion else STARTS

    def loss(inputs, mask, starts):
        own = cell.project_source(*SOURCE, SOURCE_MASK) if fusion else None
        return ops.sum(
            ops.square(run_lstmn_cell(cell, inputs, mask, None, own, starts)[0])
        )

    wanted = jax.jit(jax.grad(loss))(INPUTS, MASK, starts)
    close(jax.grad(jax.jit(loss))(INPUTS, MASK, starts), wanted)
    close(jax.grad(jax.checkpoint(loss))(INPUTS, MASK, starts), wanted)


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="of tf.function")
@pytest.mark.parametrize("fusion", [None, long("deep")])
@pytest.mark.parametrize("jit", [False, True])
def test_unknown_shapes_in_a_graph(jit, fusion):
    import tensorflow as tf

    cell = made(fusion)
    starts = None if fusion else STARTS

    def squares(run, inputs, mask, gamma, alpha, source_mask, starts):
        own = cell.project_source(gamma, alpha, source_mask) if fusion else None
        starts = None if fusion else starts
        return ops.sum(ops.square(run(cell, inputs, mask, None, own, starts)[0]))

    @tf.function(
        input_signature=[
            tf.TensorSpec([None, None, 5]),
            tf.TensorSpec([None, None], tf.bool),
            tf.TensorSpec([None, None, 4]),
            tf.TensorSpec([None, None, 4]),
            tf.TensorSpec([None, None], tf.bool),
            tf.TensorSpec([None, None], tf.bool),
        ],
        jit_compile=jit,
    )
    def graph(*given):
        with tf.GradientTape() as tape:
            loss = squares(run_lstmn_cell, *given)
        return tape.gradient(loss, [v.value for v in cell.trainable_variables])

    given = (INPUTS, MASK, *SOURCE, SOURCE_MASK)
    _, wanted = gradients(
        cell.trainable_variables, lambda: squares(stepwise, *given, starts)
    )
    for one, two in zip(graph(*given, STARTS), wanted, strict=True):
        close(one, two)


@pytest.mark.parametrize("fusion", [None, "deep"])
def test_one_step(fusion):
    cell = LSTMNCell(4, fusion=fusion)
    cell.build((None, 5))
    source = cell.project_source(*SOURCE, SOURCE_MASK) if fusion else None
    randomize(cell)
    found, wanted = (
        compiled(lambda run=run: run(cell, INPUTS[:, :1], None, None, source))()
        for run in (run_lstmn_cell, stepwise)
    )
    close(found[0], wanted[0])
    close(found[3][1], wanted[3][1])


def test_rows():
    rows = Rows(a=2, b=None, c=1)
    parts = {"a": np.ones((3, 2)), "b": np.zeros((3, 4)), "c": np.ones((3, 1))}
    joined = rows.join({name: ops.convert_to_tensor(x) for name, x in parts.items()})
    found = rows.split(joined, b=4)
    assert [tuple(found[name].shape) for name in "abc"] == [(3, 2), (3, 4), (3, 1)]
    close(found["c"], parts["c"])
