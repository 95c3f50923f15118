"""One part of `tools.bench.gpu`, under one backend; the last line printed is JSON.

KERAS_BACKEND=jax python -m tools.bench.workers.gpu train --model luong --size small
"""

import argparse
import contextlib
import functools
import gc
import json
import math
import sys
import time

import keras
import numpy as np
from keras import ops

from tools.bench.core import repeated, timed
from tools.bench.gpu import PEERS, READY
from tools.bench.workers.train import Clock, Done
from zoo import layers
from zoo.decoding import BeamSearch, search_ids
from zoo.models import Luong, LuongTranslator, Transformer, TransformerTranslator
from zoo.training import PairBatches, compile_for_training, tune_process
from zoo.training.config import machine
from zoo.training.fast.traced_steps import trace_steps

ROWS, QUERIES, KEYS, UNITS = 16, 11, 23, 64  # of the layers
QUERY, MEMORY = "query", "memory"

# Sizes of the models: Multi30k's, and the papers'.
SIZES = {
    "luong": {
        "small": {"vocabulary_size": 6000, "num_layers": 2, "hidden_dim": 256},
        "paper": {"vocabulary_size": 50_000, "num_layers": 4, "hidden_dim": 1000},
        "dry": {"vocabulary_size": 50, "num_layers": 1, "hidden_dim": 8},
    },
    "transformer": {
        "small": {"vocabulary_size": 6000, "num_layers": 3, "hidden_dim": 256}
        | {"ff_dim": 1024, "num_heads": 4},
        "paper": {"vocabulary_size": 37_000, "num_layers": 6, "hidden_dim": 512}
        | {"ff_dim": 2048, "num_heads": 8},
        "dry": {"vocabulary_size": 50, "num_layers": 1, "hidden_dim": 8}
        | {"ff_dim": 16, "num_heads": 2},
    },
}
LENGTH = 29  # pieces of each source and target, the end token apart


# === Layers: values and gradients ===


def attention_decoder():
    cells = [layers.LSTMCell(UNITS), layers.LSTMCell(UNITS)]
    attention = layers.MultiplicativeAttention("general")
    return layers.AttentionDecoder(layers.AttentionCell(cells, attention))


def context_decoder():
    cell = layers.ContextCell(layers.GRUCell(UNITS), layers.AdditiveAttention(UNITS))
    return layers.ContextDecoder(cell)


_partial = functools.partial
# What makes each layer, by its name, and the names of its arguments.
BOTH = {
    "AdditiveAttention": _partial(layers.AdditiveAttention, UNITS),
    "ConcatAttention": _partial(layers.ConcatAttention, UNITS),
    "MultiplicativeAttention": _partial(layers.MultiplicativeAttention, "general"),
    "LocationAttention": _partial(layers.LocationAttention, KEYS),
    "LocalMonotonicAttention": _partial(
        layers.LocalMonotonicAttention, "general", window=4
    ),
    "LocalPredictiveAttention": _partial(
        layers.LocalPredictiveAttention, "general", window=4
    ),
    "MultiHeadAttention": _partial(layers.MultiHeadAttention, 4),
    "TransformerDecoderLayer": _partial(layers.TransformerDecoderLayer, 4, 2 * UNITS),
    "AttentionDecoder": attention_decoder,
    "ContextDecoder": context_decoder,
}
ALONE = {
    "TransformerEncoderLayer": _partial(layers.TransformerEncoderLayer, 4, 2 * UNITS),
    "RecurrentStack, LSTM": _partial(
        layers.RecurrentStack, UNITS, num_layers=2, bidirectional=True
    ),
    "RecurrentStack, GRU": _partial(
        layers.RecurrentStack, UNITS, num_layers=2, cell="gru"
    ),
    "LSTMN": _partial(layers.LSTMN, UNITS),
}
LAYERS = {
    **{name: (make, (QUERY, MEMORY)) for name, make in BOTH.items()},
    **{name: (make, (QUERY,)) for name, make in ALONE.items()},
    "MaxoutReadout": (_partial(layers.MaxoutReadout, UNITS), (QUERY, QUERY, QUERY)),
}


def of_layers(args):
    """Writes each layer's outputs and gradients to a file, and returns their times."""
    arrays, seconds = {}, {}
    for name, (make, arguments) in LAYERS.items():
        rng = np.random.default_rng(7)
        given = {
            QUERY: rng.normal(size=(ROWS, QUERIES, UNITS)),
            MEMORY: rng.normal(size=(ROWS, KEYS, UNITS)),
        }
        inputs = [given[key].astype("float32") for key in arguments]
        keras.config.set_dtype_policy(args.precision)
        layer = make()
        layer(*(keras.Input(batch_shape=x.shape) for x in inputs))  # which builds it
        for weight in layer.trainable_variables:
            weight.assign(rng.uniform(-0.2, 0.2, weight.shape).astype("float32"))
        (outputs, gradients), taken = timed(lambda: differentiate(layer, inputs))  # noqa: B023
        arrays[f"{name}/outputs"] = outputs
        for place, gradient in enumerate(gradients):
            arrays[f"{name}/{layer.trainable_variables[place].path}"] = gradient
        seconds[name] = taken
    np.savez(args.file, **arrays)
    return {"seconds": seconds}


def first_of(outputs):
    return outputs[0] if isinstance(outputs, (tuple, list)) else outputs


def differentiate(layer, inputs):
    """Returns a layer's first output, and the gradients of its mean square for the
    trainable weights, as float32 arrays."""
    weights = layer.trainable_variables
    if keras.backend.backend() == "jax":
        import jax

        def loss(values):
            mapping = list(zip(weights, values, strict=True))
            with keras.StatelessScope(state_mapping=mapping):
                outputs = ops.cast(first_of(layer(*inputs)), "float32")
            return ops.mean(ops.square(outputs)), outputs

        function = jax.jit(jax.value_and_grad(loss, has_aux=True))
        (_, outputs), found = function([weight.value for weight in weights])
    else:
        outputs = ops.cast(first_of(layer(*inputs)), "float32")
        ops.mean(ops.square(outputs)).backward()
        found = [weight.value.grad for weight in weights]
    as_numpy = ops.convert_to_numpy
    return as_numpy(outputs), [as_numpy(ops.cast(x, "float32")) for x in found]


# === Models ===


def make_model(args):
    keras.config.set_dtype_policy(args.precision)
    keras.utils.set_random_seed(1)
    sizes = SIZES[args.model][args.size]
    if args.model == "luong":
        sizes = sizes | {"embedding_dim": sizes["hidden_dim"], "dropout": 0.0}
        return LuongTranslator(Luong(**sizes, attention="global")), sizes
    backbone = Transformer(**sizes, dropout=0.0, norm="pre", tie_embeddings=None)
    return TransformerTranslator(backbone), sizes


def operations(model):
    """Returns the multiplications and additions of a step of training, by position.

    Two for each weight of a matrix in the forward pass and four in the backward pass;
    word vectors are looked up. What attention computes without weights is left out.
    """
    count = sum(
        np.prod(weight.shape)
        for weight in model.trainable_variables
        if len(weight.shape) >= 2 and not weight.path.endswith("embeddings")
    )
    return 6 * float(count)


def of_training(args):
    """Target tokens a second, and the share of the GPU's peak."""
    model, sizes = make_model(args)
    rng = np.random.default_rng(5)
    words = rng.integers(4, sizes["vocabulary_size"], (args.batch_size * 8, LENGTH))
    batches = PairBatches(
        words.tolist(),
        words[:, ::-1].tolist(),
        batch_size=args.batch_size,
        buckets=[(LENGTH, LENGTH + 1)],
    )
    trained = compile_for_training(model, keras.optimizers.Adam())
    if keras.backend.backend() == "torch":
        trace_steps(trained, after=0.0)
    _, warmed = timed(lambda: trained.fit(batches, epochs=1, verbose=0))
    args.wait()
    steps = args.steps
    clock = Clock(len(batches), [steps, 2 * steps, 3 * steps])
    with contextlib.suppress(Done):
        epochs = 1 + 3 * steps // len(batches)
        trained.fit(batches, epochs=epochs, callbacks=[clock], verbose=0)
    seconds = min(np.diff(clock.times))
    tokens = steps * args.batch_size * (LENGTH + 1)
    plain = repeated(functools.partial(plain_step, trained, batches), 5)
    return {
        "tokens_per_second": tokens / seconds,
        "teraflops": operations(model) * tokens / seconds / 1e12,
        "parameters": model.count_params(),
        "warm_up_seconds": warmed,
        "losses": clock.losses,
        "plain_step_seconds": min(plain[2]),
        **memory(),
    }


def plain_step(trained, batches):
    """Keras's own step, under torch; elsewhere nothing."""
    if keras.backend.backend() == "torch":
        batch = keras.tree.map_structure(ops.convert_to_tensor, batches[0])
        float(keras.Model.train_step(trained, batch)["loss"])


def of_decoding(args):
    """Seconds for sentences of 15 words, of which as many are written."""
    model, sizes = make_model(args)
    count = 8 if args.size == "dry" else 1000
    rng = np.random.default_rng(5)
    sources = rng.integers(4, sizes["vocabulary_size"], (count, 15)).tolist()
    rest = 16, args.batch_size
    calls = {
        f"beam {beam}": functools.partial(
            search_ids, model, sources, BeamSearch(beam, min_length=16), *rest
        )
        for beam in (1, 5)
    }
    first = {name: timed(call)[1] for name, call in calls.items()}
    args.wait()
    seconds = {name: min(repeated(call, 5)[2]) for name, call in calls.items()}
    return {"sentences": count, "first": first, "seconds": seconds, **memory()}


# === Traced steps beside plain ones, under torch ===

SHAPES = (6, 12, 18, 24)  # words of a sentence, at most


def of_tracing(args):
    """Differences of the losses of traced steps, and of plain ones, from plain ones.

    After each epoch free memory is filled with NaN, which a CUDA graph that reads it
    takes for its constants.

    Raises:
        SystemExit: if steps are not traced, or if losses differ by more than 0.001 and
            by more than ten times what plain steps do.
    """
    plain, _ = losses(args, math.inf)
    again, _ = losses(args, math.inf)
    traced, shapes = losses(args, 0.0)
    difference, usual = np.abs(traced / plain - 1), np.abs(again / plain - 1)
    close = difference.max() <= max(1e-3, 10 * usual.max())  # NaN is not
    if shapes != len(SHAPES) or not close:
        raise SystemExit(f"{shapes} shapes traced: {traced}; plain: {plain}, {again}")
    return {"traced": float(difference.max()), "plain again": float(usual.max())}


def losses(args, after):
    """Trains for six epochs. Returns the losses and the number of shapes traced."""
    model, sizes = make_model(args)
    rng = np.random.default_rng(0)
    lengths = rng.integers(2, SHAPES[-1], 12 * args.batch_size)
    rows = [rng.integers(4, sizes["vocabulary_size"], n).tolist() for n in lengths]
    buckets = [(words, words + 1) for words in SHAPES]
    options = {"batch_size": args.batch_size, "seed": 1, "buckets": buckets}
    batches = PairBatches(rows, rows, **options)
    trained = compile_for_training(model, keras.optimizers.Adam(1e-3))
    trace_steps(trained, after)
    overwrite = keras.callbacks.LambdaCallback(on_epoch_end=overwrite_memory)
    options = {"shuffle": False, "verbose": 0, "callbacks": [overwrite]}
    found = trained.fit(batches, epochs=6, **options)
    return np.array(found.history["loss"]), len(trained.train_step.programs)


def overwrite_memory(*_args, **_kwargs):
    """Fills free memory with NaN, in pieces of 4 bytes to 16 MB."""
    gc.collect()
    _ = [ops.full((2**power,), math.nan) for power in range(23) for _ in range(8)]


def memory():
    """Returns the most memory that the GPU's arrays took, in MB, if there is one."""
    if keras.backend.backend() == "jax":
        import jax

        found = jax.devices()[0].memory_stats() or {}
        peak = found.get("peak_bytes_in_use")
    else:
        import torch

        peak = torch.cuda.is_available() and torch.cuda.max_memory_allocated()
    return {"peak_memory": peak / 2**20 if peak else None}


def of_peer(args):
    """Target tokens a second of a peer at the same sizes."""
    from tools.bench.workers.gpu_peer import train

    return train(args, SIZES[args.model][args.size], LENGTH + 1) | memory()


PARTS = {
    "layers": of_layers,
    "train": of_training,
    "decode": of_decoding,
    "tracing": of_tracing,
    **dict.fromkeys(PEERS, of_peer),
}


def wait():
    print(READY, flush=True)
    sys.stdin.readline()


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--model", choices=SIZES, default="luong")
    parser.add_argument("--size", choices=("small", "paper", "dry"), default="small")
    parser.add_argument("--precision", default="float32")
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--steps", type=int, default=20, help="of a window")
    parser.add_argument(
        "--turn", action="store_true", help="to wait for a line before what is timed"
    )
    parser.add_argument("--file", help="where `layers` writes its arrays")
    args = parser.parse_args(argv)
    args.wait = wait if args.turn else (lambda: None)
    tune_process()
    began = time.perf_counter()
    found = PARTS[args.part](args)
    found["device"] = machine()
    found["all_seconds"] = time.perf_counter() - began
    print(json.dumps(found))


if __name__ == "__main__":
    main()
