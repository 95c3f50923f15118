"""`load_tfa` refuses what it can't load whole, and then changes no layer."""

import keras
import numpy as np
import pytest

from tests.harness import close, to_numpy
from tests.presets.tfa_programs import FOLDER, UNITS, make
from zoo.layers import (
    AdditiveAttention,
    ConcatAttention,
    GRUCell,
    HardAttention,
    LocalPredictiveAttention,
    LSTMCell,
    MultiplicativeAttention,
)
from zoo.presets import PresetError, load_tfa

pytestmark = pytest.mark.once


def refused(path, layers, error, match):
    """Loading fails with this error and changes no layer."""
    before = {
        name: [to_numpy(v.value) for v in layer.variables]
        for name, layer in layers.items()
    }
    with pytest.raises(error, match=match):
        load_tfa(path, layers)
    for name, layer in layers.items():
        for old, variable in zip(before[name], layer.variables, strict=True):
            np.testing.assert_array_equal(old, to_numpy(variable.value))


def attention(cls, *arguments, **options):
    return {"attention": lambda: cls(*arguments, **options)}


GENERAL = MultiplicativeAttention("general")
WIDER = {"units": 8, "vector": "linear"}


@pytest.mark.parametrize(
    "name, changed, match",
    [
        ("luong", {"units": 8}, r"_cell/kernel.*\(13, 24\).*\(14, 24\)"),
        ("luong", {"input_feeding": False}, r"\(5, 24\).*Received: \(14, 24\)"),
        ("luong", {"cells": lambda: GRUCell(UNITS)}, r"_cell/kernel.*\(14, 18\)"),
        ("luong", {"cells": lambda: LSTMCell(6, use_bias=False)}, "lacks.*_cell/bias"),
        ("luong", {"cells": lambda: [LSTMCell(6), LSTMCell(6)]}, "_cell .* no 'cells'"),
        ("luong", attention(AdditiveAttention, 7), "Received: AdditiveAttention"),
        ("luong", attention(MultiplicativeAttention, "dot"), "general.*'dot'"),
        ("luong", attention(HardAttention, GENERAL), "Received: HardAttention$"),
        ("luong", attention(LocalPredictiveAttention), "LocalPred.*'general'"),
        ("luong_scaled", {"cells": lambda: GRUCell(UNITS)}, r"_cell/bias.*\(18,\)"),
        ("stacked", {"cells": lambda: LSTMCell(UNITS)}, "1 cells. Received: 2"),
        ("bahdanau", attention(MultiplicativeAttention, "general"), "needs Additive"),
        ("bahdanau", attention(ConcatAttention, 7), "Received: ConcatAttention"),
        ("bahdanau", attention(AdditiveAttention, 7, use_bias=True), "'attention_b'"),
        ("bahdanau", WIDER, 'no attention layer.*vector="context"'),
        ("bahdanau_normalized", attention(AdditiveAttention, 7), "lacks.*attention_b"),
        ("bahdanau_normalized", {"units": 8}, r"0/kernel.*\(12, 8\).*\(12, 10\)"),
        (
            "bahdanau_normalized",
            {"units": UNITS, "vector": "context"},
            "decoder/rnn of .* AttentionCell lacks.*_attention_layers",
        ),
    ],
)
def test_other_layers_than_the_checkpoints_are_refused(name, changed, match):
    refused(FOLDER / name, make(name, **changed), PresetError, match)


def test_layers_of_other_kinds_and_places_are_refused():
    layers, path = make("luong"), FOLDER / "luong"
    cell = layers["decoder/rnn"]
    refused(path, {}, ValueError, r"a layer for each place.*Received: \{\}")
    refused(path, {**layers, "decoder/rnm": cell}, PresetError, "did you mean rnn")
    for name in ("decoder", ""):
        refused(path, {**layers, name: cell}, PresetError, "must be an AttentionW")
    refused(path, {**layers, "encoder": keras.layers.LSTMCell(3)}, ValueError, "built")
    drop = keras.layers.Dropout(0.1)
    drop.build((None, 3))
    wanted = "Received: 'encoder': Dropout"
    refused(path, {**layers, "encoder": drop}, ValueError, wanted)
    for name in ("encoder/embedding", "decoder/rnn/_cell/kernel"):
        dense = keras.layers.Dense(3)
        dense.build((None, 4))
        refused(path, {**layers, name: dense}, PresetError, "no 'kernel'")
    gru_cell = GRUCell(UNITS, reset_after=True, update="replace")
    changed = make("luong_scaled", cells=lambda: gru_cell)
    refused(FOLDER / "luong_scaled", changed, ValueError, "update='replace'")
    cell.enable_lora(2)
    refused(path, layers, ValueError, "before LoRA is added.*LoRA for decoder")


@pytest.mark.parametrize("name", ["decoder/output_layer", "decoder/embedding"])
@pytest.mark.parametrize("mode", ["int8", "int4"])
def test_quantized_layers_are_refused(name, mode):
    layers = make("luong")
    layers[name].quantize(mode)
    wanted = f"before quantization.* Received: .*int8 for {name}/(kernel|embeddings)"
    refused(FOLDER / "luong", layers, ValueError, wanted)


def test_damaged_and_foreign_files_are_refused(tmp_path):
    index, data = (
        (FOLDER / f"luong{end}").read_bytes()
        for end in (".index", ".data-00000-of-00001")
    )
    layers = make("luong")

    def write(index, data):
        (tmp_path / "x.index").write_bytes(index)
        (tmp_path / "x.data-00000-of-00001").write_bytes(data)

    refused(tmp_path / "x", layers, FileNotFoundError, "no checkpoint at .*x")
    refused(tmp_path, layers, FileNotFoundError, "no checkpoint")
    for cut_index, cut_data in (
        (index[: len(index) // 2], data),
        (b"", data),
        (b"PK\x03\x04" + index, data),
        (index, data[: len(data) // 2]),
        (index, b""),
        (index, bytes(len(data))),
        (index, bytes(byte ^ 1 for byte in data)),
    ):
        write(cut_index, cut_data)
        refused(tmp_path / "x", layers, PresetError, "damaged or not a checkpoint")
    write(index, data)
    (tmp_path / "x.data-00000-of-00001").unlink()
    refused(tmp_path / "x", layers, PresetError, "damaged or not a checkpoint")


def write_checkpoint(path, tree):
    """A TensorFlow checkpoint of nested dictionaries of arrays."""
    import tensorflow as tf

    def tracked(item):
        if isinstance(item, dict):
            module = tf.Module()
            for name, part in item.items():
                setattr(module, name, tracked(part))
            return module
        if isinstance(item, list):
            return [tracked(part) for part in item]
        return tf.Variable(item)

    tf.train.Checkpoint(root=tracked(tree)).write(str(path))


def wrapper(**changed):
    """The tree of an AttentionWrapper of a LuongAttention."""
    rng = np.random.default_rng(3)

    def array(*shape):
        return rng.normal(size=shape).astype("float32")

    return {
        "_cell": {
            "kernel": array(14, 24),
            "recurrent_kernel": array(6, 24),
            "bias": array(24),
        },
        "_attention_mechanisms": [{"memory_layer": {"kernel": array(6, 6)}}],
        "_attention_layers": [{"kernel": array(12, 9)}],
        **changed,
    }


ONES = np.ones((12, 9), "float32")


@pytest.mark.parametrize(
    "changed, match",
    [
        (
            {"_attention_mechanisms": [{"memory_layer": {}}] * 2},
            "one attention mechanism. Received: 2",
        ),
        (
            {"_attention_mechanisms": [{"attention_score_bias": np.float32(0)}]},
            "monotonic attention, which zoo lacks",
        ),
        ({"_attention_layers": [{}]}, "no 'kernel'"),
        (
            {"_attention_layers": [{"kernel": ONES, "bias": ONES[0]}]},
            "lacks: root/_attention_layers/0/bias",
        ),
        ({"_attention_layers": [{"kernel": {}}]}, "kernel of .* has no value"),
        (
            {"_attention_layers": [{"kernel": ONES.astype("int32")}]},
            "must hold floats",
        ),
        (
            {"_attention_layers": [{"kernel": ONES * np.nan}]},
            "kernel of .*finite in float32.* Received: 108 that",
        ),
    ],
)
def test_wrappers_that_no_cell_can_be_are_refused(changed, match, tmp_path):
    cell = make("luong")["decoder/rnn"]
    write_checkpoint(tmp_path / "right", wrapper())
    load_tfa(tmp_path / "right", {"root": cell})
    write_checkpoint(tmp_path / "wrong", wrapper(**changed))
    refused(tmp_path / "wrong", {"root": cell}, PresetError, match)


def bahdanau(v, g):
    """The tree of a `BahdanauAttention(7, normalize=True)`."""
    rng = np.random.default_rng(4)
    return {
        "query_layer": {"kernel": rng.normal(size=(6, 7)).astype("float32")},
        "memory_layer": {"kernel": rng.normal(size=(6, 7)).astype("float32")},
        "attention_v": np.asarray(v, "float32"),
        "attention_g": np.float32(g),
        "attention_b": np.zeros(7, "float32"),
    }


V = np.array([3, 0, 0, 4, 0, 0, 0], "float32")


@pytest.mark.parametrize(
    "mechanism, dtype, match",
    [
        (bahdanau(0 * V, 2), "float32", "attention_v of .*finite in float32.*: 7 that"),
        (bahdanau(V, np.inf), "float32", "attention_v of .*finite.*: 7 that"),
        (bahdanau(V, 1e6), "float16", "attention_v of .*finite in float16.*: 2 that"),
        (
            {
                "memory_layer": {"kernel": np.full((6, 6), 1e20, "float32")},
                "attention_g": np.float32(1e20),
            },
            "float32",
            "memory_layer/kernel of .*finite.*: 36 that",
        ),
    ],
    ids=["zero", "infinite", "float16", "overflow"],
)
def test_factors_that_give_no_finite_weights_are_refused(
    mechanism, dtype, match, tmp_path
):
    if "attention_v" in mechanism:
        attention = AdditiveAttention(7, use_bias=True, dtype=dtype)
    else:
        attention = MultiplicativeAttention("general", dtype=dtype)
    cell = make("luong", attention=lambda: attention)["decoder/rnn"]
    tree = wrapper(_attention_mechanisms=[mechanism])
    write_checkpoint(tmp_path / "x", tree)
    refused(tmp_path / "x", {"root": cell}, PresetError, match)


@pytest.mark.parametrize("size", [1, 1e25, 1e-25])
def test_a_vector_of_any_size_is_normalized(size, tmp_path):
    attention = AdditiveAttention(7, use_bias=True)
    cell = make("luong", attention=lambda: attention)["decoder/rnn"]
    tree = wrapper(_attention_mechanisms=[bahdanau(size * V, 2)])
    write_checkpoint(tmp_path / "x", tree)
    load_tfa(tmp_path / "x", {"root": cell})
    close(attention.score_layer.v_a, [1.2, 0, 0, 1.6, 0, 0, 0])


def test_a_checkpoint_without_a_tree_is_refused(tmp_path):
    import tensorflow as tf

    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        variable = tf.compat.v1.get_variable("decoder/kernel", (2, 3))
        session.run(variable.initializer)
        tf.compat.v1.train.Saver().save(session, str(tmp_path / "old"))
    refused(
        tmp_path / "old", make("luong"), PresetError, "no tree of objects.*decoder/k"
    )
