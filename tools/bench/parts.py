"""The parts of a step of beam search: where its time goes, by the backend's profiler.

    KERAS_BACKEND=jax python -m tools.bench.parts [--model transformer] [--beam 1]

The models are those of `tools.bench.decode`, not trained; a batch of 64 sentences of 15
words is translated to 15 words and the end token. Each operation belongs to the part of
the search that called it: the model's products or the rest of the model's step; the
choice of words (softmax, the k best); the order of the state (rows of the hypotheses
that are kept); bookkeeping (scores, ids and finished hypotheses). Under torch, whose
steps are recorded ones, what no operation took is the framework's. A fusion of JAX's
compiler counts where its last operation belongs. The profiler itself takes time: shares
are what to read.
"""

import argparse
import collections
import contextlib
import os
import re
import tempfile
import time
from pathlib import Path
from unittest import mock

import keras
import numpy as np

from tools.bench.workers.train import make_model
from tools.markdown import table
from zoo.decoding import BeamSearch, beam_state, search, traced
from zoo.training import tune_process

WORDS, BATCH, VOCABULARY = 15, 64, 6000
SCOPES = {
    "part_model": "the model, but products",
    "part_choice": "softmax and the k best",
    "part_order": "rows of the state",
    "part_step": "bookkeeping",
}
PRODUCTS = "the model's products"
OUTSIDE = "the framework, between operations"
# JAX's, TensorFlow's and torch's products.
_PRODUCT = re.compile(r"ynn_fusion|dot|(Batch)?MatMul|aten::(mm|addmm|bmm|baddbmm)$")


def scoped(scope, name, function):
    """The function, whose operations a profiler finds in the scope."""

    def run(*args, **kwargs):
        with scope(name):
            return function(*args, **kwargs)

    return run


@contextlib.contextmanager
def in_parts(scope, model):
    """Names the parts of each step while a search is compiled or recorded."""
    patches = (
        (type(model), "step", "part_model"),
        (beam_state, "extend", "part_choice"),
        (beam_state, "_pick_rows", "part_order"),
        (search, "step", "part_step"),
        (traced, "step", "part_step"),
    )
    with contextlib.ExitStack() as stack:
        for place, name, part in patches:
            new = scoped(scope, part, getattr(place, name))
            stack.enter_context(mock.patch.object(place, name, new))
        yield


def part_of(path, operation):
    """The part of an operation: that of its innermost scope, or None."""
    scopes = re.findall("|".join(SCOPES), path)
    if not scopes:
        return None
    if scopes[-1] == "part_model" and _PRODUCT.match(operation):
        return PRODUCTS
    return SCOPES[scopes[-1]]


def by_jax(translate, model, dump):
    """Milliseconds of each part of all steps, from XLA's own events."""
    import jax

    # A program that is kept already would not be dumped.
    jax.config.update("jax_enable_compilation_cache", False)
    with in_parts(jax.named_scope, model):
        translate()
    named = re.compile(r"%(\S+) = .*?op_name=\"([^\"]*)\"")
    paths = {}
    for file in Path(dump).glob("*jit_graph*after_optimizations.txt"):
        paths |= dict(named.findall(file.read_text()))
    with jax.profiler.trace(dump):
        began = time.perf_counter()
        translate()
        took = 1000 * (time.perf_counter() - began)
    [trace] = Path(dump).rglob("*.xplane.pb")
    found = collections.Counter()
    for plane in jax.profiler.ProfileData.from_file(str(trace)).planes:
        for line in plane.lines:
            for event in line.events:
                stats = dict(event.stats)
                if "hlo_op" in stats and not event.name.startswith(("while", "call")):
                    part = part_of(paths.get(event.name, ""), event.name)
                    found[part] += event.duration_ns / 1e6
    return found, took


def by_tensorflow(translate, model, dump):
    """Milliseconds of each part of all steps, from TensorFlow's own events."""
    import tensorflow as tf
    from jax.profiler import ProfileData

    with in_parts(tf.name_scope, model):
        translate()
    tf.profiler.experimental.start(dump)
    began = time.perf_counter()
    translate()
    took = 1000 * (time.perf_counter() - began)
    tf.profiler.experimental.stop()
    [trace] = Path(dump).rglob("*.xplane.pb")
    found = collections.Counter()
    for plane in ProfileData.from_file(str(trace)).planes:
        for line in plane.lines:
            for event in line.events:
                path, colon, operation = event.name.rpartition(":")
                if colon and "/" in path and "While" not in operation:
                    found[part_of(path, operation)] += event.duration_ns / 1e6
    return found, took


def by_torch(translate, model, dump):
    """Milliseconds of each part of all steps, from torch's profiler."""
    import torch

    with in_parts(torch.profiler.record_function, model):
        translate()
    with torch.profiler.profile() as profile:
        began = time.perf_counter()
        translate()
        took = 1000 * (time.perf_counter() - began)
    found = collections.Counter()
    for event in profile.events():
        if event.name.startswith("aten::"):
            path, above = "", event
            while above is not None:
                path, above = f"{above.name}/{path}", above.cpu_parent
            found[part_of(path, event.name)] += event.self_cpu_time_total / 1000
    found[OUTSIDE] = took - sum(found.values())
    return found, took


READERS = {"jax": by_jax, "tensorflow": by_tensorflow, "torch": by_torch}


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", choices=("luong", "transformer"), default="luong")
    parser.add_argument("--beam", type=int, default=5)
    args = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as dump:
        os.environ["XLA_FLAGS"] = (
            f"{os.environ.get('XLA_FLAGS', '')} --xla_dump_to={dump} "
            "--xla_dump_hlo_as_text --xla_dump_hlo_module_re=jit_graph"
        )
        tune_process()
        keras.utils.set_random_seed(1)
        model = make_model(args.model, VOCABULARY, VOCABULARY)
        ids = np.random.default_rng(1).integers(4, VOCABULARY, (BATCH, WORDS))
        limits = np.full(BATCH, WORDS + 1, "int32")
        beam = BeamSearch(args.beam, min_length=WORDS + 1)

        def translate():
            beam.program(model, WORDS + 1)(ids.astype("int32"), limits)

        backend = keras.backend.backend()
        found, took = READERS[backend](translate, model, dump)
    found.pop(None, None)  # the source's encoding, and what is done once
    total = sum(found.values())
    rows = [
        [part, f"{ms / (WORDS + 1):.2f}", f"{ms / total:.0%}"]
        for part, ms in found.most_common()
    ]
    print(f"{args.model}, beam {args.beam}, {backend}: the call took {took:.0f} ms\n")
    print(table(["part", "ms a step", "share"], rows))


if __name__ == "__main__":
    main()
