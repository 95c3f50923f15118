import keras
import numpy as np
import pytest
from keras import ops

from tests.harness import both_close, build_randomized, close, compiled, to_numpy
from tests.layers import reference
from tests.marks import once
from zoo.layers import (
    AdditiveAttention,
    ConcatAttention,
    HardAttention,
    LocalMonotonicAttention,
    LocalPredictiveAttention,
    LocationAttention,
    MultiplicativeAttention,
)

RNG = np.random.default_rng(3)
LENGTHS = [7, 3, 1, 0]
QUERY = RNG.normal(size=(4, 5, 6)).astype("float32")
MEMORY = RNG.normal(size=(4, 7, 8)).astype("float32")
EQUAL = RNG.normal(size=(4, 7, 6)).astype("float32")  # memory of the query's size
MASK = np.arange(7)[None] < np.array(LENGTHS)[:, None]

GLOBAL = [
    ("additive", lambda **k: AdditiveAttention(9, **k), ["U_a", "W_a", "v_a"]),
    ("concat", lambda **k: ConcatAttention(9, **k), ["W_a", "v_a"]),
    ("general", lambda **k: MultiplicativeAttention("general", **k), ["W_a"]),
    ("dot", lambda **k: MultiplicativeAttention("dot", **k), []),
    ("scaled_dot", lambda **k: MultiplicativeAttention("scaled_dot", **k), []),
]
DEFAULT = ("additive", "concat", "general")  # the others under PyTorch
# What all of them share: by two scores and one window under each backend.
EVERY = [
    *[make if kind in DEFAULT[::2] else once(make) for kind, make, _ in GLOBAL],
    once(lambda **k: LocationAttention(5, **k)),
    once(lambda **k: LocalMonotonicAttention("general", 2, **k)),
    lambda **k: LocalPredictiveAttention("general", 2, **k),
]
HARD = [*EVERY, lambda **k: HardAttention(AdditiveAttention(3), **k)]


def built_of(layer, query, memory):
    """A layer, built for these arrays."""
    layer.build(query.shape, memory.shape)
    return layer


def memory_for(kind):
    return EQUAL if "dot" in kind else MEMORY


@pytest.mark.parametrize(
    "kind, make, names",
    [case if case[0] in DEFAULT else once(*case) for case in GLOBAL],
)
def test_global_attention_is_the_papers(kind, make, names):
    memory = memory_for(kind)
    layer = build_randomized(make(), QUERY.shape, memory.shape)
    assert sorted(v.name for v in layer.trainable_variables) == names
    context, weights = to_numpy(layer(QUERY, memory, mask=MASK))
    for b, length in enumerate(LENGTHS):
        for t in range(QUERY.shape[1]):
            c, a = reference.attend(
                kind,
                QUERY[b, t].astype("float64"),
                memory[b, :length].astype("float64"),
                reference.named(layer),
            )
            np.testing.assert_allclose(weights[b, t, :length], a, atol=1e-5)
            np.testing.assert_allclose(context[b, t], c, atol=1e-5)
    assert (weights[~MASK[:, None].repeat(5, 1)] == 0).all()
    assert (context[3] == 0).all()  # nothing to attend to


def test_location_attention_is_equation_8():
    layer = build_randomized(LocationAttention(5), QUERY.shape, MEMORY.shape)
    context, weights = to_numpy(layer(QUERY, MEMORY, mask=MASK))
    W_a = reference.named(layer)["W_a"]
    for b, length in enumerate(LENGTHS):
        seen = min(length, 5)  # words beyond the vector's end are ignored
        for t in range(QUERY.shape[1]):
            a = np.zeros(7)
            if seen:
                a[:seen] = reference.softmax((QUERY[b, t] @ W_a)[:seen])
            np.testing.assert_allclose(weights[b, t], a, atol=1e-5)
            np.testing.assert_allclose(context[b, t], a @ MEMORY[b], atol=1e-5)


@pytest.mark.parametrize("make", EVERY)
def test_one_step_equals_the_whole_sequence(make):
    layer = make()
    context, weights = to_numpy(layer(QUERY, EQUAL, mask=MASK))
    step = compiled(layer)
    for t in range(QUERY.shape[1]):
        one = step(QUERY[:, t], EQUAL, mask=MASK, position=t)
        both_close(one, (context[:, t], weights[:, t]))


@pytest.mark.parametrize("make", EVERY)
@pytest.mark.parametrize("mask", [MASK[:, ::-1], RNG.random((4, 7)) < 0.6])
def test_what_is_masked_is_as_if_absent(make, mask):
    """Padding on the left, and holes."""
    layer = make()
    order = np.argsort(~mask, axis=1, kind="stable")
    front = [
        np.take_along_axis(x, i, 1)
        for x, i in ((EQUAL, order[..., None]), (mask, order))
    ]
    wanted, weights = to_numpy(layer(QUERY, front[0], mask=front[1]))
    found = to_numpy(compiled(layer)(QUERY, EQUAL, mask=mask))
    close(found[0], wanted)
    close(np.take_along_axis(found[1], order[:, None], 2), weights)
    assert (found[1][~mask[:, None].repeat(5, 1)] == 0).all()


@pytest.mark.parametrize("make", EVERY)
@pytest.mark.parametrize(
    "policy", [once("float16"), "mixed_float16", once("mixed_bfloat16")]
)
def test_half_precision_keeps_weights_zero_on_pads(make, policy):
    layer = make(dtype=policy)
    memory = 30 * EQUAL  # large scores, as trained nets have
    context, weights = layer(30 * QUERY, memory, mask=MASK)
    kind = policy.removeprefix("mixed_")
    assert keras.backend.standardize_dtype(context.dtype) == kind
    assert keras.backend.standardize_dtype(weights.dtype) == kind
    weights = to_numpy(ops.cast(weights, "float32"))
    assert np.isfinite(weights).all()
    assert np.isfinite(to_numpy(ops.cast(context, "float32"))).all()
    assert (weights[~MASK[:, None].repeat(5, 1)] == 0).all()
    assert (weights[3] == 0).all()


@pytest.mark.parametrize("policy", ["float16", "mixed_float16"])
@pytest.mark.parametrize("steps", [1, 3])
def test_terms_too_large_for_float16_that_cancel_are_no_nan(policy, steps):
    query = np.full((1, steps, 16), 300.0, "float32")
    key = np.array([300.0] * 8 + [-300.0] * 8, "float32")
    memory = np.stack([key, 0 * key])[None]
    layer = built_of(MultiplicativeAttention("dot", dtype=policy), query, memory)
    _, weights = compiled(layer)(query, memory)
    close(ops.cast(weights, "float32"), np.full((1, steps, 2), 0.5))


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: MultiplicativeAttention("dot")(QUERY, MEMORY), "query size 6.*8"),
        (lambda: AdditiveAttention(3)(QUERY, MEMORY[:, 0]), r"memory.*\(4, 8\)"),
        (
            lambda: LocalMonotonicAttention()(QUERY[:, 0], MEMORY),
            r"needs `position=`.*\(4, 6\)",
        ),
        (
            lambda: AdditiveAttention(3)(QUERY, MEMORY, noise=MASK),
            "Only HardAttention takes `noise`.*for AdditiveAttention",
        ),
        *(
            (
                lambda wrong=wrong: AdditiveAttention(3)(QUERY, MEMORY, mask=wrong),
                r"the shape \(B, S\).*Received: mask \(",
            )
            for wrong in (MASK[:, :6], MASK[:3], MASK[:, None])
        ),
    ],
)
def test_bad_arguments(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("make", HARD)
def test_nan_behind_the_mask_reaches_nothing(make):
    layer = make()
    wanted = to_numpy(layer(QUERY, EQUAL, mask=MASK))
    spoiled = np.where(MASK[..., None], EQUAL, np.nan)
    both_close(layer(QUERY, spoiled, mask=MASK), wanted)
