"""`check_translator`: the contract of a translator, in one call.

It asks what KerasHub's `run_backbone_test` and `run_task_test` ask, and the contract of
`zoo.models.seq2seq` on top.
"""

import json
import os
import subprocess
import sys

import keras
import keras_hub
import numpy as np
import pytest
from keras import ops

from tests.harness import (
    BACKENDS,
    HALF,
    ROOT,
    close,
    compiled,
    gradients,
    randomize,
    same_config,
    snake,
    to_numpy,
)
from tests.marks import QUICK
from zoo import models

SOURCE = np.array(
    [
        [4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14],
        [5, 6, 7, 0, 0, 0, 0, 0, 0, 0, 0],
        [9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],  # an empty source
        [7, 7, 4, 12, 5, 6, 0, 0, 0, 0, 0],
    ],
    "int32",
)
TARGET = np.array(
    [
        [2, 4, 5, 6, 7, 8, 9],
        [2, 6, 7, 8, 0, 0, 0],
        [2, 9, 0, 0, 0, 0, 0],
        [2, 13, 4, 0, 0, 0, 0],
        [2, 5, 5, 4, 10, 11, 0],
    ],
    "int32",
)
VOCABULARY = 15
INPUTS = {"source_ids": SOURCE, "target_ids": TARGET}


def check_translator(task_cls, options, whole=True, seed=0):
    """Proves the contract of `zoo.models.seq2seq` for a model.

    Args:
        task_cls: a subclass of `zoo.models.Translator`.
        options: small sizes for its backbone; the vocabulary's is `VOCABULARY`.
        whole: False leaves out what does not depend on the options that differ
            between two models of one class: precision, symbolic calls and training.

    Returns:
        The backbone, with random weights.
    """
    backbone_cls = task_cls.backbone_cls
    options = {"vocabulary_size": VOCABULARY, **options}
    backbone = randomize(backbone_cls(**options), seed=seed)
    same_config(backbone)
    assert backbone.name.startswith(snake(backbone_cls.__name__))
    assert isinstance(backbone.token_embedding, keras.layers.Embedding)
    check_inference(backbone)
    check_gradients(backbone)
    check_unknown_lengths(backbone)
    if whole:
        check_symbolic(backbone)
        check_half(backbone_cls, options)
        check_training(task_cls, options)
    return backbone


def check_inference(backbone):
    call, encode, step = map(compiled, (backbone, backbone.encode, backbone.step))
    logits = to_numpy(call({"source_ids": SOURCE, "target_ids": TARGET}))
    assert logits.shape == (*TARGET.shape, VOCABULARY)
    assert np.isfinite(logits).all()
    check_steps(backbone, encode, step, logits)
    check_padding(call, logits)
    check_beam_rows(backbone, encode, step)


def check_steps(backbone, encode, step, logits):
    """`call` equals the scan of `step`, `align` the weights that it returns."""
    memory = encode(SOURCE)
    state, stepped, weights = backbone.start(memory), [], []
    for t in range(TARGET.shape[1]):
        out, state, attention = step(TARGET[:, t], state, memory)
        stepped.append(to_numpy(out))
        weights.append(to_numpy(attention))
    close(np.stack(stepped, 1), logits)
    weights = np.stack(weights, 1)
    close(compiled(backbone.align)(SOURCE, TARGET), weights)
    assert (weights[SOURCE[:, None].repeat(TARGET.shape[1], 1) == 0] == 0).all()


def check_padding(call, logits):
    """More pads, another batch, another place in the batch: the same result."""
    wider = np.pad(SOURCE, ((0, 0), (0, 30)))
    longer = np.pad(TARGET, ((0, 0), (0, 4)))

    def same(rows, source_ids, target_ids):
        found = call({"source_ids": source_ids, "target_ids": target_ids})
        close(to_numpy(found)[:, : TARGET.shape[1]], logits[rows])

    if QUICK:  # all of it in one other shape
        for rows in ([3, 1, 4], [2, 0, 1]):
            same(rows, wider[rows], longer[rows])
        return
    same(slice(None), wider, longer)
    order = [4, 2, 0, 3, 1]
    same(order, SOURCE[order], TARGET[order])
    for row in ([1], [3]):  # a short source and an empty one
        same(row, SOURCE[row, : (SOURCE[1] > 0).sum()], TARGET[row])


def check_beam_rows(backbone, encode, step, beams=3):
    """K rows of state for each row of memory give what each gives by itself."""
    memory = encode(SOURCE)
    first = backbone.start(memory)
    state = keras.tree.map_structure(lambda x: ops.repeat(x, beams, axis=0), first)
    tokens = np.arange(len(SOURCE) * beams, dtype="int32") % 10 + 4
    shared, _, weights = step(tokens, state, memory)
    shared, weights = to_numpy((shared, weights))
    for k in range(beams):
        own = step(tokens[k::beams], first, memory)
        close(shared[k::beams], own[0])
        close(weights[k::beams], own[2])


def check_unknown_lengths(backbone):
    """As `translate` compiles under TensorFlow, for sentences of any length: the search
    and the alignments of what it found."""
    if keras.backend.backend() != "tensorflow":
        return
    import tensorflow as tf

    from zoo.decoding import BeamSearch

    search, ids = BeamSearch(beam_size=2), tf.TensorSpec([None, None], "int32")

    @tf.function(input_signature=[ids], autograph=False)
    def run(source_ids):
        found, _ = search(backbone, source_ids, ops.full((len(SOURCE),), 5), steps=5)
        return found, backbone.align(source_ids, found[:, 0])

    wider = np.pad(SOURCE, ((0, 0), (0, 3)))
    (found, weights), (again, _) = run(SOURCE), run(wider)
    close(found, again)
    close(backbone.align(SOURCE, to_numpy(found)[:, 0]), weights)


def check_symbolic(backbone):
    symbols = {
        "source_ids": keras.KerasTensor((None, 9), dtype="int32"),
        "target_ids": keras.KerasTensor((None, 6), dtype="int32"),
    }
    output = type(backbone).from_config(backbone.get_config())(symbols)
    assert tuple(output.shape)[1:] == (6, VOCABULARY)


def check_half(backbone_cls, options):
    for policy in HALF:
        half = backbone_cls(**options, dtype=policy)
        output = compiled(half)({"source_ids": SOURCE, "target_ids": TARGET})
        kind = keras.backend.standardize_dtype(output.dtype)
        assert kind == policy.removeprefix("mixed_")
        assert np.isfinite(to_numpy(ops.cast(output, "float32"))).all()


def check_gradients(backbone, inputs=INPUTS):
    """In training every gradient is that of inference, taken another way round: the
    loops hoist products, the loss does without logits."""
    from zoo.training import SmoothedCrossEntropy

    config = backbone.get_config()
    steady = {name: 0.0 for name in config if "dropout" in name}
    model = randomize(type(backbone).from_config({**config, **steady}))
    labels = np.roll(inputs["target_ids"], -1, axis=1)
    weights = (labels > 0).astype("float32")
    loss = SmoothedCrossEntropy(0.1)

    def plain():
        return loss(labels, model(inputs, training=False), sample_weight=weights)

    def trained():
        features = model.features(inputs, training=True)
        return loss.projected(features, *model.output_weights(), labels, weights)

    value, expected = gradients(model.trainable_variables, plain)
    same, found = gradients(model.trainable_variables, trained)
    assert same == pytest.approx(value, rel=1e-5)
    for variable, wanted, got in zip(
        model.trainable_variables, expected, found, strict=True
    ):
        close(got, wanted, atol=1e-5 * max(1.0, np.abs(wanted).max()), rtol=1e-4)
        assert np.abs(wanted).max() > 0, f"no gradient reached {variable.path}"


def check_training(task_cls, options):
    """`fit`, compiled (by XLA too under TensorFlow): every variable learns."""
    from zoo.training import PairBatches, compile_for_training
    from zoo.training.fit.padded_batches import as_dataset

    task = task_cls(randomize(task_cls.backbone_cls(**options)))
    assert task.name.startswith(snake(task_cls.__name__))
    trained = compile_for_training(task, keras.optimizers.SGD(1.0), smoothing=0.1)
    before = [to_numpy(v.value) for v in task.trainable_variables]
    rows = [[i for i in row.tolist() if i] for row in SOURCE]
    words = [[i for i in row.tolist()[1:] if i] for row in TARGET]
    # Where it is compiled each shape is a program of its own, and one is enough.
    buckets = [(4, 8), (12, 8)][keras.backend.backend() != "torch" :]
    batches = PairBatches(rows, words, batch_size=2, buckets=buckets)
    history = trained.fit(as_dataset(batches), epochs=1, shuffle=False, verbose=0)
    assert np.isfinite(history.history["loss"]).all()
    for old, variable in zip(before, task.trainable_variables, strict=True):
        moved = np.abs(to_numpy(variable.value) - old).max()
        assert moved > 0, f"no gradient reached {variable.path}"


_OTHER = """
import sys
from pathlib import Path
from tests.translators import load_presets
folder, here, there = Path(sys.argv[1]), *sys.argv[2:]
for name, task in load_presets(folder, here).items():
    task.save_to_preset(str(folder / there / name))
"""


def load_presets(folder, backend):
    """Tasks by name, as a backend has saved them, after a look at their outputs."""
    tasks = {}
    for name, (cls, base) in json.loads((folder / "kinds.json").read_text()).items():
        home = keras_hub.models if hasattr(keras_hub.models, base) else models
        tasks[name] = getattr(home, base).from_preset(str(folder / backend / name))
        assert type(tasks[name]).__name__ == cls
        with np.load(folder / f"{name}.npz") as file:
            inputs = dict(file)
        wanted = inputs.pop("outputs")
        got = compiled(tasks[name].backbone)(inputs)
        np.testing.assert_allclose(
            to_numpy(got), wanted, 0, 1e-5, err_msg=f"{name}, saved under {backend}"
        )
    return tasks


def check_other_backends(tasks, folder):
    """Loads presets saved here under each other backend, and what that saves here.

    Args:
        tasks: dict of name to (task with a preprocessor, inputs of its backbone,
            KerasHub's class of such tasks, or zoo's own where that has none).
        folder: an empty folder, a `pathlib.Path`.
    """
    here, kinds = keras.backend.backend(), {}
    for name, (task, inputs, base) in tasks.items():
        kinds[name] = type(task).__name__, base
        outputs = to_numpy(compiled(task.backbone)(inputs))
        np.savez(folder / f"{name}.npz", outputs=outputs, **inputs)
        task.save_to_preset(str(folder / here / name))
    (folder / "kinds.json").write_text(json.dumps(kinds))
    for backend in BACKENDS:
        if backend != here:
            command = [sys.executable, "-c", _OTHER, str(folder), here, backend]
            env = {**os.environ, "KERAS_BACKEND": backend, "PYTHONPATH": ROOT}
            done = subprocess.run(command, env=env, capture_output=True, text=True)
            assert done.returncode == 0, f"under {backend}: {done.stderr[-2000:]}"
            load_presets(folder, backend)
