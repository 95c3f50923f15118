"""Loads the trained weights of `tfa.seq2seq` programs from TensorFlow checkpoints.

A checkpoint of TensorFlow 2 holds its program's objects as a tree of attribute names
(`decoder`, `rnn`, `_cell`, …) with a tensor at each variable. It is data: nothing in it
is executed.
"""

import contextlib
import importlib.util
from typing import Any

import numpy as np

from zoo.files import StrPath
from zoo.presets.card import PresetError
from zoo.strings import did_you_mean
from zoo.warn import warn_caller

_TREE = "_CHECKPOINTABLE_OBJECT_GRAPH"
_VALUE = "VARIABLE_VALUE"
_KEY = f"/.ATTRIBUTES/{_VALUE}"  # the end of a variable's key


def load_tfa(path: StrPath, layers: dict[str, Any]) -> None:
    """Loads a checkpoint of a `tfa.seq2seq` program into Keras 3 layers.

    Each layer then computes what its counterpart did, up to rounding. An
    `AttentionWrapper` becomes a `zoo.layers.AttentionCell`, `LuongAttention` a
    `MultiplicativeAttention("general")`, `BahdanauAttention` an `AdditiveAttention`
    (with `use_bias=True` if it was normalized); factors g are multiplied in. Pass what
    a checkpoint doesn't record (`vector`, `input_feeding`) to the constructors:
    docs/from_tfa.md has the arguments. Warns of variables that no layer was named for,
    other than an optimizer's and metrics'.

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
        ImportError: without TensorFlow, which reads the checkpoint, whatever Keras's
            backend.
        PresetError: for a file that is damaged or no such checkpoint, or holds at these
            places something else than the layers have: another kind or size, a missing
            or extra variable, a number that is not finite, factors included. No layer
            is changed then.
        ValueError: without layers; for a layer that is not built, is quantized or has
            LoRA, or is of another kind.

    Example:
        >>> from zoo.layers import AttentionCell, LSTMCell, MultiplicativeAttention
        >>> cell = AttentionCell(LSTMCell(6), MultiplicativeAttention("general"))
        >>> cell.build((None, 5), (None, None, 6))
        >>> load_tfa("old/ckpt-7", {"decoder/rnn": cell})
        Traceback (most recent call last):
        FileNotFoundError: no checkpoint at old/ckpt-7
    """
    if not layers:
        raise ValueError(
            "`layers` must have a layer for each place to load, such as "
            f'{{"decoder/rnn": cell}}. Received: {layers!r}'
        )
    checkpoint = _Checkpoint(path)
    assignments: list[tuple[Any, np.ndarray]] = []
    for name, layer in layers.items():
        node = checkpoint.root
        for part in filter(None, name.split("/")):
            node = node.child(part)
        if not getattr(layer, "built", False):
            raise ValueError(
                f"Layers must be built before they are loaded. Received: {name!r}: "
                f"{layer!r}"
            )
        assignments += _read(layer, node)
        if unread := node.unread():
            raise PresetError(
                f"{path} has variables at {node.name or 'its root'} that "
                f"{type(layer).__name__} lacks: {', '.join(unread)}"
            )
    for variable, array in assignments:
        variable.assign(array)
    if ignored := checkpoint.unread():
        warn_caller(
            f"{path} has variables that `layers` names no layer for: "
            f"{', '.join(ignored)}"
        )


class _Checkpoint:
    """A checkpoint that is open for reading, and the tree of its objects."""

    def __init__(self, path):
        if importlib.util.find_spec("tensorflow") is None:
            raise ImportError(
                "reading a checkpoint of tfa.seq2seq needs TensorFlow, under each of "
                "Keras's backends: pip install tensorflow",
                name="tensorflow",
            )
        import tensorflow as tf
        from tensorflow.core.protobuf import trackable_object_graph_pb2

        self.path, self.read = path, set()  # keys
        prefix = str(path)
        if tf.io.gfile.isdir(prefix):
            inside = f"{prefix}/variables/variables"  # of a SavedModel
            saved = tf.io.gfile.exists(f"{inside}.index")
            prefix = inside if saved else tf.train.latest_checkpoint(prefix)
        if prefix is None or not tf.io.gfile.exists(f"{prefix}.index"):
            raise FileNotFoundError(f"no checkpoint at {path}")
        with self.reading():
            self.reader = tf.train.load_checkpoint(prefix)
            self.shapes = self.reader.get_variable_to_shape_map()
            dtypes = self.reader.get_variable_to_dtype_map()
        self.floats = {key for key, dtype in dtypes.items() if dtype.is_floating}
        if _TREE not in self.shapes:
            raise PresetError(
                f"{path} has no tree of objects: it was not written by "
                "tf.train.Checkpoint or save_weights of TensorFlow 2. "
                f"Received: {', '.join(sorted(self.shapes)[:5]) or 'nothing'}"
            )
        tree = trackable_object_graph_pb2.TrackableObjectGraph()
        with self.reading():
            tree.ParseFromString(self.reader.get_tensor(_TREE))
            self.nodes = tree.nodes
            self.root = _Node(self, 0, "")

    @contextlib.contextmanager
    def reading(self):
        try:
            yield
        except Exception as error:  # TensorFlow's, and protobuf's by implementation
            raise PresetError(
                f"{self.path} is damaged or not a checkpoint: {error}"
            ) from error

    def unread(self):
        """Names of the float variables that nobody read, whatever the layer.

        Without those of optimizers (Keras 2's, new and legacy) and of metrics.
        """
        names = [key.removesuffix(_KEY) for key in self.shapes if key.endswith(_KEY)]
        counters = ("/_iterations", "/iter")
        skipped = {n.rpartition("/")[0] for n in names if n.endswith(counters)}
        return sorted(
            name
            for name in names
            if name + _KEY in self.floats - self.read
            and not name.startswith(tuple(f"{place}/" for place in skipped))
            and not {".OPTIMIZER_SLOT", "keras_api"} & set(name.split("/"))
        )


class _Node:
    """An object in a checkpoint: its children by name, its value if it has one."""

    def __init__(self, checkpoint, number, name):
        self.checkpoint, self.number, self.name = checkpoint, number, name
        with checkpoint.reading():
            node = checkpoint.nodes[range(len(checkpoint.nodes)).index(number)]
        self.children = {child.local_name: child.node_id for child in node.children}
        keys = {a.name: a.checkpoint_key for a in node.attributes}
        self.key = keys.get(_VALUE)

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
        checkpoint = self.checkpoint
        if self.key not in checkpoint.shapes:
            raise PresetError(
                f"{checkpoint.path} has no variable at {self.name or 'its root'}"
            )
        # From the index alone: a file that declares too much costs no memory.
        received = tuple(checkpoint.shapes[self.key])
        if received != tuple(shape):
            raise self.refused(
                f"must have the shape {tuple(shape)}. Received: {received}"
            )
        with checkpoint.reading():
            array = np.asarray(checkpoint.reader.get_tensor(self.key))
        # Half precisions too: bfloat16 is of a kind of its own in NumPy.
        if array.dtype.kind not in "fV":
            raise self.refused(f"must hold floats. Received: {array.dtype}")
        checkpoint.read.add(self.key)
        return array.astype("float32")

    def refused(self, message):
        return PresetError(
            f"{self.name or 'the root'} of {self.checkpoint.path} {message}"
        )

    def unread(self):
        """Names of the float variables at and below this object that nobody read."""
        found, waiting, seen = [], [self], set()
        while waiting:
            node = waiting.pop()
            if node.number not in seen:
                seen.add(node.number)
                if node.key in self.checkpoint.floats - self.checkpoint.read:
                    found.append(node.name)
                waiting += map(node.child, node.children)
        return sorted(found)


# === Layers ===
def _read(layer, node):
    """The variables of a layer and the arrays for them."""
    from keras import layers

    from zoo.layers import AttentionCell, GRUCell

    cells = (layers.LSTMCell, layers.GRUCell, layers.SimpleRNNCell)
    if isinstance(layer, AttentionCell):
        yield from _read_wrapper(layer, node)
    elif isinstance(layer, layers.Bidirectional):
        for name in ("forward_layer", "backward_layer"):
            yield from _read(getattr(layer, name), node.child(name))
    elif isinstance(layer, layers.RNN):
        yield from _read(layer.cell, node.child("cell"))
    elif isinstance(layer, layers.StackedRNNCells):
        yield from _read_cells(layer.cells, node)
    elif isinstance(layer, layers.Embedding):
        yield from _variables(layer, node, ["embeddings"])
    elif isinstance(layer, layers.Dense):
        yield from _variables(layer, node, ["kernel", "bias"])
    elif isinstance(layer, cells):
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
            f"{node.name!r}: {type(layer).__name__}"
        )


def _variables(layer, node, names):
    """Variables that have the same name in both."""
    for name in names:
        variable = getattr(layer, name, None)
        if variable is not None:
            yield _assigned(variable, node.child(name))


def _assigned(variable, node, change=lambda array: array):
    """The variable, and its array: the checkpoint's after `change`."""
    import keras
    from keras import ops

    dtype = keras.backend.standardize_dtype(variable.dtype)
    if not keras.backend.is_float_dtype(dtype):
        raise ValueError(
            "Weights are loaded before quantization. Received: a layer with weights of "
            f"{dtype} for {node.name}"
        )
    if not hasattr(variable, "assign"):
        raise ValueError(
            f"Weights are loaded before LoRA is added. Received: {node.name} with LoRA"
        )
    with np.errstate(all="ignore"):
        array = change(node.array(variable.shape)).astype("float32")
    # In the variable's type: float16 ends at 65504.
    finite = ops.convert_to_numpy(ops.isfinite(ops.cast(array, dtype)))
    if not finite.all():
        raise node.refused(
            f"must give weights that are finite in {dtype}, factors multiplied in. "
            f"Received: {(~finite).sum()} that are NaN or infinite"
        )
    return variable, array


def _read_cells(cells, node):
    nodes = node.child("cells").items()
    if len(nodes) != len(cells):
        raise node.refused(f"must have {len(cells)} cells. Received: {len(nodes)}")
    for cell, inner in zip(cells, nodes, strict=True):
        yield from _read(cell, inner)


def _read_wrapper(cell, node):
    """`AttentionCell` of a `tfa.seq2seq.AttentionWrapper`."""
    if "_attention_mechanisms" not in node or "_cell" not in node:
        raise node.refused(
            "must be an AttentionWrapper. Received: an object of "
            f"{', '.join(sorted(node.children)) or 'nothing'}"
        )
    inner = node.child("_cell")
    if len(cell.cells) > 1 or "cells" in inner:
        yield from _read_cells(cell.cells, inner)
    else:
        yield from _read(cell.cells[0], inner)
    mechanisms = node.child("_attention_mechanisms").items()
    if len(mechanisms) != 1:
        raise node.refused(
            f"must have one attention mechanism. Received: {len(mechanisms)}"
        )
    yield from _read_mechanism(cell.attention, mechanisms[0])
    if cell.vector == "context":
        return
    if "_attention_layers" not in node:
        raise node.refused(
            'has no attention layer, its output is the context: vector="context". '
            f"Received: vector={cell.vector!r}"
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
        raise node.refused("is a monotonic attention, which zoo doesn't have")
    additive = "attention_v" in node
    kind = AdditiveAttention if additive else MultiplicativeAttention
    score = getattr(attention, "score", None)
    # A subclass may compute something else, as ConcatAttention does.
    if type(attention) is not kind or score not in (None, "general"):
        raise node.refused(
            f"is for {'an' if additive else 'a'} {kind.__name__}"
            f"{'' if additive else '(general)'}. Received: {type(attention).__name__}"
            f"{f'(score={score!r})' if score else ''}"
        )
    layer = attention.score_layer
    g = node.child("attention_g").array(()) if "attention_g" in node else None
    memory = node.child("memory_layer").child("kernel")
    if not additive:
        yield _assigned(layer.W_a, memory, lambda W: W if g is None else g * W)
        return

    def normalize(v):
        return v if g is None else g * (v / np.linalg.norm(v.astype("float64")))

    yield _assigned(layer.W_a, node.child("query_layer").child("kernel"))
    yield _assigned(layer.U_a, memory)
    yield _assigned(layer.v_a, node.child("attention_v"), normalize)
    if layer.use_bias:
        yield _assigned(layer.b_a, node.child("attention_b"))
