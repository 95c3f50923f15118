"""Every public layer in a functional model, and under KerasHub's `run_layer_test`."""

import keras
import numpy as np
import pytest

from tests.everyday import SIZE, check_in_a_model, kerashub_layer_test
from tests.marks import once
from zoo import layers


def of_memory(make):
    """Connects a layer called as `layer(x, memory)`; the first output counts."""

    def connect(x, memory, mask):
        return make()(x, memory, **mask)[0]

    connect.reads = "memory"
    return connect


def of_sequence(make, first=lambda outputs: outputs):
    """Connects a layer that is called as `layer(x)`."""

    def connect(x, memory, mask):
        return first(make()(x, **mask))

    connect.reads = "sequence"
    return connect


def attention_decoder():
    attention = layers.MultiplicativeAttention("general")
    return layers.AttentionDecoder(
        layers.AttentionCell([layers.LSTMCell(SIZE)], attention)
    )


def context_decoder():
    cell = layers.ContextCell(layers.GRUCell(SIZE), layers.AdditiveAttention(3))
    return layers.ContextDecoder(cell)


def fixed_context(x, memory, mask):
    _, [[context, _]] = layers.RecurrentStack(SIZE)(memory, **mask)
    decoder = layers.FixedContextDecoder(layers.GRUCell(SIZE))
    return decoder(x, context, keras.layers.Dense(SIZE)(context))[0]


def readout(x, memory, mask):
    context = layers.MultiplicativeAttention("dot")(x, memory, **mask)[0]
    return layers.MaxoutReadout(SIZE)(x, x, context)


fixed_context.reads = readout.reads = "memory"


def first(outputs):
    return outputs[0]


CONNECTED = {
    "AdditiveAttention": of_memory(lambda: layers.AdditiveAttention(3)),
    "ConcatAttention": of_memory(lambda: layers.ConcatAttention(3)),
    "MultiplicativeAttention": of_memory(lambda: layers.MultiplicativeAttention("dot")),
    "LocationAttention": of_memory(lambda: layers.LocationAttention(6)),
    "LocalMonotonicAttention": of_memory(
        lambda: layers.LocalMonotonicAttention("general", window=1)
    ),
    "LocalPredictiveAttention": of_memory(
        lambda: layers.LocalPredictiveAttention("concat", window=1)
    ),
    "HardAttention": of_memory(
        lambda: layers.HardAttention(layers.AdditiveAttention(3))
    ),
    "MultiHeadAttention": of_memory(lambda: layers.MultiHeadAttention(2)),
    "TransformerDecoderLayer": of_memory(lambda: layers.TransformerDecoderLayer(2, 6)),
    "AttentionDecoder": of_memory(attention_decoder),
    "ContextDecoder": of_memory(context_decoder),
    "FixedContextDecoder": fixed_context,
    "MaxoutReadout": readout,
    "TransformerEncoderLayer": of_sequence(
        lambda: layers.TransformerEncoderLayer(2, 6)
    ),
    "RecurrentStack": of_sequence(lambda: layers.RecurrentStack(SIZE), first),
    "RecurrentStack, bidirectional": of_sequence(
        lambda: layers.RecurrentStack(SIZE, bidirectional=True, cell="gru"), first
    ),
    "LSTMN": of_sequence(lambda: layers.LSTMN(SIZE), first),
    **{
        name: of_sequence(
            lambda name=name: keras.layers.RNN(
                getattr(layers, name)(SIZE), return_sequences=True
            )
        )
        for name in ("LSTMCell", "GRUCell", "SimpleRNNCell")
    },
}
# Parts of the layers above, called by them alone, and functions.
PARTS = {"Attention", "AttentionCell", "ContextCell", "LSTMNCell", "PerGate", "Score"}
PARTS |= {f"{kind}Score" for kind in ("Additive", "Concat", "Dot", "General")}
PARTS |= {"ScaledDotScore", "logistic_1", "logistic_2", "sinusoids"}
IMAGES = {"ImageEncoder"}  # which reads no sequence; tests/layers/test_image_encoder.py


def test_no_layer_is_left_out():
    named = {name.split(",")[0] for name in CONNECTED}
    public = {name for name, value in vars(layers).items() if callable(value)}
    assert named | PARTS | IMAGES == public


# A model's contract trains the others under each backend, too.
EACH = ("AdditiveAttention", "HardAttention", "RecurrentStack")


@pytest.mark.parametrize(
    "name", [name if name in EACH else once(name) for name in CONNECTED]
)
def test_a_layer_in_a_functional_model(name):
    check_in_a_model(CONNECTED[name])


@pytest.mark.once
@pytest.mark.parametrize(
    "make", [lambda: layers.RecurrentStack(SIZE), lambda: layers.LSTMN(SIZE)]
)
def test_the_keras_mask_counts_beside_initial_states_too(make):
    layer, embedding = make(), keras.layers.Embedding(9, SIZE, mask_zero=True)
    states = [[np.full((1, SIZE), 0.5, "float32")] * 2]
    alone, padded = (embedding(np.array([ids])) for ids in ([3, 4], [3, 4, 0, 0]))
    wanted, final = layer(alone, initial_states=states)
    found, last = layer(padded, initial_states=states)
    as_numpy = keras.ops.convert_to_numpy
    np.testing.assert_allclose(as_numpy(found)[:, :2], as_numpy(wanted), atol=1e-6)
    for got, own in zip(last[0], final[0], strict=True):
        np.testing.assert_allclose(as_numpy(got), as_numpy(own), atol=1e-6)


rng = np.random.default_rng(3)
QUERY, MEMORY = (rng.normal(size=(2, n, SIZE)).astype("float32") for n in (3, 5))
BOTH = {"query": QUERY, "memory": MEMORY}
STEPS = {"inputs": QUERY, "memory": MEMORY}
LAYER_TESTS = {
    "AdditiveAttention": ({"units": 3}, BOTH),
    "ConcatAttention": ({"units": 3}, BOTH),
    "MultiplicativeAttention": ({"score": "general"}, BOTH),
    "LocationAttention": ({"max_length": 6}, BOTH),
    "LocalMonotonicAttention": ({"window": 1}, BOTH),
    "LocalPredictiveAttention": ({"window": 1}, BOTH),
    "HardAttention": ({"attention": layers.AdditiveAttention(3)}, BOTH),
    "MultiHeadAttention": ({"num_heads": 2}, BOTH),
    "TransformerEncoderLayer": ({"num_heads": 2, "ff_dim": 6}, {"inputs": QUERY}),
    "TransformerDecoderLayer": ({"num_heads": 2, "ff_dim": 6}, STEPS),
    "MaxoutReadout": (
        {"units": 3},
        {"state": QUERY, "embedding": QUERY, "context": QUERY},
    ),
    "RecurrentStack": ({"units": SIZE, "num_layers": 2}, {"inputs": QUERY}),
    "LSTMN": ({"units": SIZE, "num_layers": 2}, {"inputs": QUERY}),
}


@pytest.mark.parametrize("name", LAYER_TESTS)
@pytest.mark.parametrize(
    "dtype, options",
    [("mixed_float16", {}), once("bfloat16", {"kernel_initializer": "orthogonal"})],
)
def test_large_inputs_and_any_initializer_in_half_precision(name, dtype, options):
    own, inputs = LAYER_TESTS[name]
    if name == "HardAttention":
        own = {"attention": layers.AdditiveAttention(3, dtype=dtype, **options)}
    if name in ("HardAttention", "LocalPredictiveAttention"):  # no orthogonal v_p
        options = {}
    keras.utils.set_random_seed(1)
    for steps in (1, 3):
        large = {
            key: 1e4 * np.tile(np.sign(x), (1, 1, 16)) for key, x in inputs.items()
        }
        for key, x in large.items():  # a memory longer than two windows
            large[key] = np.tile(x, (1, 2, 1)) if key == "memory" else x[:, :steps]
        layer = getattr(layers, name)(**own, **options, dtype=dtype)
        for output in keras.tree.flatten(layer(**large)):
            output = keras.ops.convert_to_numpy(keras.ops.cast(output, "float32"))
            assert np.isfinite(output).all()


# It trains each layer once more: what it alone asks, a backend hardly changes.
@pytest.mark.once
@pytest.mark.parametrize("name", LAYER_TESTS)
def test_kerashub_finds_no_fault(name):
    options, inputs = LAYER_TESTS[name]
    # No gradient passes through hard attention.
    trains = name != "HardAttention"
    cls = getattr(layers, name)
    kerashub_layer_test(cls, options, inputs, run_training_check=trains)
