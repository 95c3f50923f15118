"""Weights of `tfa.seq2seq` programs, against what those programs computed.

tools/tfa/record.py wrote the checkpoints and results under tensorflow-addons 0.21,
at commit 5301bd9.
"""

import shutil

import keras
import numpy as np
import pytest
from keras import ops

from tests.harness import close, compiled
from tests.marks import once
from tests.presets.tfa_programs import EMBEDDING, FOLDER, PROGRAMS, UNITS, make
from zoo.layers import AttentionDecoder, RecurrentStack
from zoo.presets import load_tfa
from zoo.training import SmoothedCrossEntropy


@pytest.fixture(scope="module")
def recorded():
    with np.load(FOLDER / "recorded.npz") as file:
        return dict(file)


def read_source(name, layers, source):
    """The memory, its mask and the decoder's first states."""
    mask = source != 0
    words = layers["encoder/embedding"](source)
    memory, *states = layers["encoder/rnn"](words, mask=mask)
    zeros = ops.zeros((len(source), 5))
    if name == "stacked":
        states = [zeros, zeros, *states]
    return memory, mask, None if name == "bahdanau" else states


def equal(got, wanted):
    """Equal to 1e-5, whatever the size."""
    close(got, wanted, atol=1e-5, rtol=0)


@pytest.mark.parametrize(
    "name", [name if name == "stacked" else once(name) for name in PROGRAMS]
)
def test_a_loaded_program_computes_what_the_old_one_did(name, recorded):
    found = {
        k.partition("/")[2]: v for k, v in recorded.items() if k.startswith(name + "/")
    }
    layers = make(name)
    load_tfa(FOLDER / name, layers)
    cell = layers["decoder/rnn"]
    source, target = found["source"], found["target"]
    assert len({*(source != 0).sum(1)}) > 2  # real padding

    @compiled
    def run():
        memory, mask, states = read_source(name, layers, source)
        words = layers["decoder/embedding"](target[:, :-1])
        outputs, states, alignments = AttentionDecoder(cell)(
            words, memory, mask=mask, initial_states=states
        )
        return layers["decoder/output_layer"](outputs), outputs, states, alignments

    logits, outputs, states, alignments = run()
    equal(logits, found["logits"])
    equal(alignments, found["alignments"])
    equal(outputs[:, -1], found["attention"])
    wanted = [found[f"state_{place}"] for place in range(sum(cell.counts))]
    for got, state in zip(states, wanted, strict=False):
        equal(got, state)
    loss = SmoothedCrossEntropy()(target[:, 1:], logits, target[:, 1:] != 0)
    equal(loss, found["loss"])

    # One step of the cell by itself is the first of them.
    @compiled
    def step():
        memory, mask, states = read_source(name, layers, source)
        words = layers["decoder/embedding"](target[:, 0])
        states = cell.get_initial_state(len(source), states)
        return cell(words, states, memory, mask=mask)[:2]

    first, alignment = step()
    equal(layers["decoder/output_layer"](first), found["logits"][:, 0])
    equal(alignment, found["alignments"][:, 0])


@pytest.mark.once
def test_a_cell_of_a_stack_is_loaded():
    stack = RecurrentStack(UNITS)
    stack.build((None, None, EMBEDDING))
    wanted = make("luong")
    load_tfa(FOLDER / "luong", wanted)
    [[cell]] = stack.cells
    with pytest.warns(UserWarning, match="names no layer for"):
        load_tfa(FOLDER / "luong", {"encoder/rnn/cell": cell})
    for got, variable in zip(
        cell.weights, wanted["encoder/rnn"].cell.weights, strict=True
    ):
        close(got, variable)


@pytest.mark.once
def test_a_folder_gives_its_last_checkpoint_and_a_saved_model_its_variables(tmp_path):
    for suffix in (".index", ".data-00000-of-00001"):
        shutil.copy(FOLDER / f"luong{suffix}", tmp_path / f"ckpt-3{suffix}")
        (tmp_path / "saved" / "variables").mkdir(parents=True, exist_ok=True)
        shutil.copy(
            FOLDER / f"luong{suffix}", tmp_path / f"saved/variables/variables{suffix}"
        )
    (tmp_path / "checkpoint").write_text('model_checkpoint_path: "ckpt-3"\n')
    wanted = make("luong")
    load_tfa(FOLDER / "luong", wanted)
    for path in (tmp_path, tmp_path / "saved", str(tmp_path / "ckpt-3")):
        layers = make("luong")
        load_tfa(path, layers)
        close(layers["decoder/rnn"].W_c, wanted["decoder/rnn"].W_c)


def warned(recwarn):
    return [one for one in recwarn.list if one.category is UserWarning]


@pytest.mark.once
def test_variables_that_nobody_named_are_warned_of(recwarn):
    layers = make("luong")
    load_tfa(FOLDER / "luong", layers)  # the optimizer is in the file, too
    assert not warned(recwarn)
    del layers["encoder/embedding"], layers["decoder/output_layer"]
    load_tfa(FOLDER / "luong", layers)
    [warning] = warned(recwarn)
    assert warning.filename == __file__
    assert str(warning.message).endswith(
        "luong has variables that `layers` names no layer for: "
        "decoder/output_layer/bias, decoder/output_layer/kernel, "
        "encoder/embedding/embeddings"
    )


@pytest.mark.once
def test_optimizers_and_metrics_are_not_warned_of(tmp_path, recwarn):
    import tensorflow as tf

    def module(**parts):
        made = tf.Module()
        for name, part in parts.items():
            setattr(made, name, part)
        return made

    def number():
        return tf.Variable(1.0)

    dense = keras.layers.Dense(3)
    dense.build((None, 4))
    checkpoint = tf.train.Checkpoint(
        dense=module(kernel=tf.Variable(tf.ones((4, 3))), bias=tf.Variable(tf.ones(3))),
        trainer=module(_iterations=tf.Variable(1), _variables=[number()]),
        legacy=module(iter=tf.Variable(1), beta_1=number()),
        keras_api=module(metrics=[module(total=number())]),
        steps=tf.Variable(3),
        iterative=module(weight=number()),
    )
    checkpoint.write(str(tmp_path / "x"))
    load_tfa(tmp_path / "x", {"dense": dense})
    [warning] = warned(recwarn)
    assert str(warning.message).endswith(": iterative/weight")
