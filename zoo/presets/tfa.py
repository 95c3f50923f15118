"""Loads what a `tfa.seq2seq` program learned: TensorFlow checkpoints of its layers.

A checkpoint of TensorFlow 2 holds its program's objects as a tree of attribute names
(`decoder`, `rnn`, `_cell`, …) with a tensor at each variable. It is data: nothing in it
is executed.
"""

from typing import Any

import numpy as np

from zoo.files import StrPath
from zoo.presets.card import PresetError
from zoo.strings import did_you_mean

_TREE = "_CHECKPOINTABLE_OBJECT_GRAPH"
_VALUE = "VARIABLE_VALUE"


def load_tfa(path: StrPath, layers: dict[str, Any]) -> None:
    """Loads a checkpoint of a `tfa.seq2seq` program into Keras 3 layers.

    Each layer then computes what its counterpart did, up to rounding. An
    `AttentionWrapper` becomes a `zoo.layers.AttentionCell`, `LuongAttention` a
    `MultiplicativeAttention("general")`, `BahdanauAttention` an `AdditiveAttention`
    (with `use_bias=True` if it was normalized); factors g are multiplied in. What a
    checkpoint doesn't tell, such as `vector` and `input_feeding`, is said to their
    constructors: docs/from_tfa.md has the arguments.

    Args:
        path: prefix or folder of a checkpoint by `tf.train.Checkpoint` or by
            `model.save_weights` in TensorFlow's format, or a SavedModel's folder; of a
            folder of several checkpoints the last.
        layers: built layers by the attributes that lead to their counterparts, such as
            `"decoder/rnn"`: an `AttentionCell`, or `Embedding`, `Dense`, `LSTM`, `GRU`,
            `SimpleRNN`, their cells (Keras's or the zoo's), `StackedRNNCells` and
            `Bidirectional`.

    Raises:
        FileNotFoundError: if there is no checkpoint.
        PresetError: for a file that is damaged or no such checkpoint, or holds at these
            places something else than the layers have: another kind or size, a variable
            too few or too many, a number that is not finite. No layer is changed then.
        ValueError: for a layer that is not built or of another kind.

    Example:
        >>> from zoo.layers import AttentionCell, LSTMCell, MultiplicativeAttention
        >>> cell = AttentionCell(LSTMCell(6), MultiplicativeAttention("general"))
        >>> cell.build((None, 5), (None, None, 6))
        >>> load_tfa("old/ckpt-7", {"decoder/rnn": cell})
        Traceback (most recent call last):
        FileNotFoundError: no checkpoint at old/ckpt-7
    """
    checkpoint = _Checkpoint(path)
    assignments: list[tuple[Any, np.ndarray]] = []
    for name, layer in layers.items():
        node = checkpoint.root
        for part in filter(None, name.split("/")):
            node = node.child(part)
        if not getattr(layer, "built", False):
            raise ValueError(
                f"Layers must be built before they are loaded. Received: {name}: "
                f"{layer!r}"
            )
        assignments += _read(layer, node)
        if unread := node.unread():
            raise PresetError(
                f"{path} has variables at {name} that {type(layer).__name__} lacks: "
                f"{', '.join(unread)}"
            )
    for variable, array in assignments:
        variable.assign(array)


class _Checkpoint:
    """A checkpoint that is open for reading, and the tree of its objects."""

    def __init__(self, path):
        import tensorflow as tf
        from tensorflow.core.protobuf import trackable_object_graph_pb2

        self.path, self.errors = path, (tf.errors.OpError, RuntimeError, ValueError)
        prefix = str(path)
        if tf.io.gfile.isdir(prefix):
            inside = f"{prefix}/variables/variables"  # of a SavedModel
            saved = tf.io.gfile.exists(f"{inside}.index")
            prefix = inside if saved else tf.train.latest_checkpoint(prefix)
        if prefix is None or not tf.io.gfile.exists(f"{prefix}.index"):
            raise FileNotFoundError(f"no checkpoint at {path}")
        try:
            self.reader = tf.train.load_checkpoint(prefix)
            self.shapes = self.reader.get_variable_to_shape_map()
        except self.errors as error:
            raise self.damaged(error) from error
        if _TREE not in self.shapes:
            raise PresetError(
                f"{path} has no tree of objects: it was not written by "
                "tf.train.Checkpoint or save_weights of TensorFlow 2. "
                f"Received: {', '.join(sorted(self.shapes)[:5]) or 'nothing'}"
            )
        tree = trackable_object_graph_pb2.TrackableObjectGraph()
        try:
            tree.ParseFromString(self.get(_TREE))
        except Exception as error:  # protobuf's own classes differ by implementation
            raise self.damaged(error) from error
        if not tree.nodes:
            raise self.damaged("its tree of objects is empty")
        self.nodes = tree.nodes
        self.read = set()
        self.root = _Node(self, 0, "")

    def get(self, key):
        try:
            return self.reader.get_tensor(key)
        except self.errors as error:
            raise self.damaged(error) from error

    def damaged(self, error):
        return PresetError(f"{self.path} is damaged or not a checkpoint: {error}")


class _Node:
    """An object in a checkpoint: its children by name, its value if it has one."""

    def __init__(self, checkpoint, number, name):
        self.checkpoint, self.number, self.name = checkpoint, number, name
        if not 0 <= number < len(checkpoint.nodes):
            raise checkpoint.damaged(f"its tree has no object {number}")
        node = checkpoint.nodes[number]
        self.children = {child.local_name: child.node_id for child in node.children}
        self.keys = {a.name: a.checkpoint_key for a in node.attributes}

    def __contains__(self, name):
        return name in self.children

    def child(self, name):
        if name not in self.children:
            names = sorted(self.children)
            raise PresetError(
                f"{self.checkpoint.path} has no {name!r} at "
                f"{self.name or 'its root'}{did_you_mean(name, names)}; "
                f"it has {', '.join(names) or 'nothing'} there"
            )
        whole = f"{self.name}/{name}" if self.name else name
        return _Node(self.checkpoint, self.children[name], whole)

    def items(self):
        """The objects of a list."""
        numbers = sorted(map(int, filter(str.isdecimal, self.children)))
        return [self.child(str(number)) for number in numbers]

    def array(self, shape):
        """The value, of this shape, as float32."""
        key, checkpoint = self.keys.get(_VALUE), self.checkpoint
        if key not in checkpoint.shapes:
            raise PresetError(f"{checkpoint.path} has no variable at {self.name}")
        # From the index alone: a file that declares too much costs no memory.
        received = tuple(checkpoint.shapes[key])
        if received != tuple(shape):
            raise PresetError(
                f"{self.name} of {checkpoint.path} must have the shape {tuple(shape)}. "
                f"Received: {received}"
            )
        array = np.asarray(checkpoint.get(key))
        # Half precisions too: bfloat16 is of a kind of its own in NumPy.
        if array.dtype.kind not in "fV":
            raise PresetError(
                f"{self.name} of {checkpoint.path} must hold floats. "
                f"Received: {array.dtype}"
            )
        array = array.astype("float32")
        if not np.isfinite(array).all():
            raise PresetError(
                f"{self.name} of {checkpoint.path} must be finite. Received: "
                f"{int((~np.isfinite(array)).sum())} numbers that are NaN or infinite"
            )
        checkpoint.read.add(self.number)
        return array

    def unread(self):
        """Names of the float variables at and below this object that nobody read."""
        found, waiting, seen = [], [self], set()
        kinds = self.checkpoint.reader.get_variable_to_dtype_map()
        while waiting:
            node = waiting.pop()
            if node.number in seen:
                continue
            seen.add(node.number)
            key = node.keys.get(_VALUE)
            is_float = key in kinds and kinds[key].is_floating
            if is_float and node.number not in self.checkpoint.read:
                found.append(node.name)
            waiting += [node.child(name) for name in node.children]
        return sorted(found)


# === Layers ===
def _read(layer, node):
    """The variables of a layer and the arrays for them."""
    import keras

    from zoo.layers import AttentionCell, GRUCell

    if isinstance(layer, AttentionCell):
        yield from _read_wrapper(layer, node)
    elif isinstance(layer, keras.layers.Bidirectional):
        for name in ("forward_layer", "backward_layer"):
            yield from _read(getattr(layer, name), node.child(name))
    elif isinstance(layer, keras.layers.RNN):
        yield from _read(layer.cell, node.child("cell"))
    elif isinstance(layer, keras.layers.StackedRNNCells):
        yield from _read_cells(layer.cells, node)
    elif isinstance(layer, keras.layers.Embedding):
        yield from _variables(layer, node, ["embeddings"])
    elif isinstance(layer, keras.layers.Dense):
        yield from _variables(layer, node, ["kernel", "bias"])
    elif isinstance(
        layer,
        (keras.layers.LSTMCell, keras.layers.GRUCell, keras.layers.SimpleRNNCell),
    ):
        if isinstance(layer, GRUCell) and layer.update != "keep":
            raise ValueError(
                'TensorFlow\'s GRU is update="keep". Received: '
                f"{layer.name} with update={layer.update!r}"
            )
        yield from _variables(layer, node, ["kernel", "recurrent_kernel", "bias"])
    else:
        raise ValueError(
            "A layer must be an AttentionCell, Embedding, Dense, LSTM, GRU, SimpleRNN, "
            "a cell of these, StackedRNNCells or Bidirectional. Received: "
            f"{node.name}: {type(layer).__name__}"
        )


def _variables(layer, node, names):
    """Variables that have the same name in both."""
    for name in names:
        variable = getattr(layer, name, None)
        if variable is not None:
            yield _assigned(variable, node.child(name))


def _assigned(variable, node, change=lambda array: array):
    if not hasattr(variable, "assign"):
        raise ValueError(
            f"Weights are loaded before LoRA is added. Received: {node.name} with LoRA"
        )
    return variable, change(node.array(variable.shape))


def _read_cells(cells, node):
    nodes = node.child("cells").items()
    if len(nodes) != len(cells):
        raise PresetError(
            f"{node.name} of {node.checkpoint.path} must have {len(cells)} cells. "
            f"Received: {len(nodes)}"
        )
    for cell, inner in zip(cells, nodes, strict=True):
        yield from _read(cell, inner)


def _read_wrapper(cell, node):
    """`AttentionCell` of a `tfa.seq2seq.AttentionWrapper`."""
    if "_attention_mechanisms" not in node or "_cell" not in node:
        raise PresetError(
            f"{node.name} of {node.checkpoint.path} must be an AttentionWrapper. "
            f"Received: an object of {', '.join(sorted(node.children)) or 'nothing'}"
        )
    inner = node.child("_cell")
    if len(cell.cells) > 1 or "cells" in inner:
        yield from _read_cells(cell.cells, inner)
    else:
        yield from _read(cell.cells[0], inner)
    mechanisms = node.child("_attention_mechanisms").items()
    if len(mechanisms) != 1:
        raise PresetError(
            f"{node.name} of {node.checkpoint.path} must have one attention mechanism. "
            f"Received: {len(mechanisms)}"
        )
    yield from _read_mechanism(cell.attention, mechanisms[0])
    if cell.vector == "context":
        return
    if "_attention_layers" not in node:
        raise PresetError(
            f"{node.name} of {node.checkpoint.path} has no attention layer, its output "
            f'is the context: vector="context". Received: vector={cell.vector!r}'
        )
    size = cell.cells[-1].output_size  # tfa has [h_t; c_t]
    layer = node.child("_attention_layers").child("0").child("kernel")
    yield _assigned(
        cell.W_c, layer, lambda W: np.concatenate([W[size:], W[:size]], axis=0)
    )


def _read_mechanism(attention, node):
    """The attention of a `LuongAttention` or a `BahdanauAttention`."""
    from zoo.layers import AdditiveAttention, MultiplicativeAttention

    if "attention_score_bias" in node:
        raise PresetError(
            f"{node.name} of {node.checkpoint.path} is a monotonic attention, which "
            "zoo doesn't have"
        )
    additive = "attention_v" in node
    score = getattr(attention, "score_layer", None)
    if additive and type(attention) is AdditiveAttention:
        yield _assigned(score.W_a, node.child("query_layer").child("kernel"))
        yield _assigned(score.U_a, node.child("memory_layer").child("kernel"))
        scale = node.child("attention_g").array(()) if "attention_g" in node else None

        def normalize(v):
            return v if scale is None else scale * v / np.sqrt(np.sum(np.square(v)))

        yield _assigned(score.v_a, node.child("attention_v"), normalize)
        if score.use_bias:
            yield _assigned(score.b_a, node.child("attention_b"))
    elif (
        not additive
        and isinstance(attention, MultiplicativeAttention)
        and attention.score == "general"
    ):
        scale = node.child("attention_g").array(()) if "attention_g" in node else 1.0
        kernel = node.child("memory_layer").child("kernel")
        yield _assigned(score.W_a, kernel, lambda W: scale * W)
    else:
        raise PresetError(
            f"{node.name} of {node.checkpoint.path} is for "
            f"{'an Additive' if additive else 'a Multiplicative'}Attention"
            f"{'' if additive else '(general)'}. Received: {type(attention).__name__}"
            f"(score={getattr(attention, 'score', 'additive')!r})"
        )
