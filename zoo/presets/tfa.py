"""Loads the trained weights of `tfa.seq2seq` programs from TensorFlow checkpoints.

A checkpoint of TensorFlow 2 holds its program's objects as a tree of attribute names
(`decoder`, `rnn`, `_cell`, …) with a tensor at each variable. It is data: nothing in it
is executed.
"""

import contextlib
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
        checkpoint.find(name)
        if not getattr(layer, "built", False):
            raise ValueError(
                f"Layers must be built before they are loaded. Received: {name!r}: "
                f"{layer!r}"
            )
        assignments += _read(layer, checkpoint, name)
        if unread := checkpoint.unread_below(name):
            raise checkpoint.refused(
                name,
                f"has variables that {type(layer).__name__} lacks: {', '.join(unread)}",
            )
    for variable, array in assignments:
        variable.assign(array)
    if ignored := checkpoint.unread():
        warn_caller(
            f"{path} has variables that `layers` names no layer for: "
            f"{', '.join(ignored)}"
        )


class _Checkpoint:
    """A checkpoint's variables, and the tree of attributes that leads to them."""

    def __init__(self, path):
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
            numbers = range(len(tree.nodes))
            # Of each object its children by name; and the key of its value, if any.
            self.children = [
                {child.local_name: numbers[child.node_id] for child in node.children}
                for node in tree.nodes
            ]
            self.keys = [
                {a.name: a.checkpoint_key for a in node.attributes}.get(_VALUE)
                for node in tree.nodes
            ]
            self.find("")

    @contextlib.contextmanager
    def reading(self):
        try:
            yield
        except Exception as error:  # TensorFlow's, and protobuf's by implementation
            raise PresetError(
                f"{self.path} is damaged or not a checkpoint: {error}"
            ) from error

    def find(self, name):
        """The number of the object to which these attributes lead."""
        number, walked = 0, []
        for part in filter(None, name.split("/")):
            children = self.children[number]
            if part not in children:
                raise self.refused(
                    "/".join(walked),
                    f"has no {part!r}{did_you_mean(part, children)}; it has "
                    f"{', '.join(sorted(children)) or 'nothing'}",
                )
            number = children[part]
            walked.append(part)
        return number

    def has(self, name, child):
        return child in self.children[self.find(name)]

    def items(self, name):
        """The names of a list's objects."""
        children = self.children[self.find(name)]
        return [
            f"{name}/{i}" for i in sorted(map(int, filter(str.isdecimal, children)))
        ]

    def array(self, name, shape):
        """The value of an object, of this shape, as float32."""
        key = self.keys[self.find(name)]
        if key not in self.shapes:
            raise self.refused(name, "has no value")
        # From the index alone: a file that declares too much costs no memory.
        received = tuple(self.shapes[key])
        if received != tuple(shape):
            raise self.refused(
                name, f"must have the shape {tuple(shape)}. Received: {received}"
            )
        if key not in self.floats:
            raise self.refused(name, "must hold floats")
        with self.reading():
            array = np.asarray(self.reader.get_tensor(key))
        self.read.add(key)
        return array.astype("float32")

    def refused(self, name, message):
        return PresetError(f"{name or 'the root'} of {self.path} {message}")

    def unread_below(self, name):
        """Names of the float variables at and below an object that nobody read."""
        found, waiting, seen = [], [(name, self.find(name))], set()
        while waiting:
            name, number = waiting.pop()
            if number not in seen:
                seen.add(number)
                if self.keys[number] in self.floats - self.read:
                    found.append(name)
                children = self.children[number].items()
                waiting += [(f"{name}/{child}", number) for child, number in children]
        return sorted(found)

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


# === Layers ===
def _read(layer, checkpoint, name):
    """Yields the variables of a layer, each with the array for it."""
    from keras import layers

    from zoo.layers import AttentionCell, GRUCell

    cells = (layers.LSTMCell, layers.GRUCell, layers.SimpleRNNCell)
    if isinstance(layer, AttentionCell):
        yield from _read_wrapper(layer, checkpoint, name)
    elif isinstance(layer, layers.Bidirectional):
        for part in ("forward_layer", "backward_layer"):
            yield from _read(getattr(layer, part), checkpoint, f"{name}/{part}")
    elif isinstance(layer, layers.RNN):
        yield from _read(layer.cell, checkpoint, f"{name}/cell")
    elif isinstance(layer, layers.StackedRNNCells):
        yield from _read_cells(layer.cells, checkpoint, name)
    elif isinstance(layer, (layers.Embedding, layers.Dense, *cells)):
        if isinstance(layer, GRUCell) and layer.update != "keep":
            raise ValueError(
                'TensorFlow\'s GRU is update="keep". Received: '
                f"{layer.name} with update={layer.update!r}"
            )
        for part in ("embeddings", "kernel", "recurrent_kernel", "bias"):
            if (variable := getattr(layer, part, None)) is not None:
                yield _assigned(variable, checkpoint, f"{name}/{part}")
    else:
        raise ValueError(
            "A layer must be an AttentionCell, Embedding, Dense, LSTM, GRU, SimpleRNN, "
            "a cell of these, StackedRNNCells or Bidirectional. Received: "
            f"{name!r}: {type(layer).__name__}"
        )


def _assigned(variable, checkpoint, name, change=lambda array: array):
    """The variable, and its array: the checkpoint's after `change`."""
    import keras
    from keras import ops

    dtype = keras.backend.standardize_dtype(variable.dtype)
    floats = keras.backend.is_float_dtype(dtype)
    if not floats or not hasattr(variable, "assign"):
        kind = "LoRA" if floats else dtype
        raise ValueError(
            "Weights are loaded before quantization and before LoRA is added. "
            f"Received: a layer with weights of {kind} for {name}"
        )
    with np.errstate(all="ignore"):
        array = change(checkpoint.array(name, variable.shape)).astype("float32")
    # In the variable's type: float16 ends at 65504.
    finite = ops.convert_to_numpy(ops.isfinite(ops.cast(array, dtype)))
    if not finite.all():
        raise checkpoint.refused(
            name,
            f"must give weights that are finite in {dtype}, factors multiplied in. "
            f"Received: {(~finite).sum()} that are NaN or infinite",
        )
    return variable, array


def _read_cells(cells, checkpoint, name):
    names = checkpoint.items(f"{name}/cells")
    if len(names) != len(cells):
        raise checkpoint.refused(
            name, f"must have {len(cells)} cells. Received: {len(names)}"
        )
    for cell, inner in zip(cells, names, strict=True):
        yield from _read(cell, checkpoint, inner)


def _read_wrapper(cell, checkpoint, name):
    """`AttentionCell` of a `tfa.seq2seq.AttentionWrapper`."""
    if not checkpoint.has(name, "_attention_mechanisms"):
        raise checkpoint.refused(name, "must be an AttentionWrapper")
    inner = f"{name}/_cell"
    if len(cell.cells) > 1 or checkpoint.has(inner, "cells"):
        yield from _read_cells(cell.cells, checkpoint, inner)
    else:
        yield from _read(cell.cells[0], checkpoint, inner)
    mechanisms = checkpoint.items(f"{name}/_attention_mechanisms")
    if len(mechanisms) != 1:
        raise checkpoint.refused(
            name, f"must have one attention mechanism. Received: {len(mechanisms)}"
        )
    yield from _read_mechanism(cell.attention, checkpoint, mechanisms[0])
    if cell.vector == "context":
        return
    if not checkpoint.has(name, "_attention_layers"):
        raise checkpoint.refused(
            name,
            'has no attention layer, its output is the context: vector="context". '
            f"Received: vector={cell.vector!r}",
        )
    size = cell.cells[-1].output_size  # tfa has [h_t; c_t]
    yield _assigned(
        cell.W_c,
        checkpoint,
        f"{name}/_attention_layers/0/kernel",
        lambda W: np.concatenate([W[size:], W[:size]], axis=0),
    )


def _read_mechanism(attention, checkpoint, name):
    """The attention of a `LuongAttention` or a `BahdanauAttention`."""
    from zoo.layers import AdditiveAttention, MultiplicativeAttention

    if checkpoint.has(name, "attention_score_bias"):
        raise checkpoint.refused(name, "is a monotonic attention, which zoo lacks")
    additive = checkpoint.has(name, "attention_v")
    kind = AdditiveAttention if additive else MultiplicativeAttention
    score = getattr(attention, "score", None)
    # A subclass may compute something else, as ConcatAttention does.
    if type(attention) is not kind or score not in (None, "general"):
        raise checkpoint.refused(
            name,
            f"needs {kind.__name__}{'' if additive else '(general)'}. "
            f"Received: {type(attention).__name__}"
            f"{f'(score={score!r})' if score else ''}",
        )
    layer, g = attention.score_layer, np.float32(1)
    if scaled := checkpoint.has(name, "attention_g"):
        g = checkpoint.array(f"{name}/attention_g", ())
    memory = f"{name}/memory_layer/kernel"
    if not additive:
        yield _assigned(layer.W_a, checkpoint, memory, lambda W: g * W)
        return

    def normalize(v):
        return g * (v / np.linalg.norm(v.astype("float64"))) if scaled else v

    yield _assigned(layer.W_a, checkpoint, f"{name}/query_layer/kernel")
    yield _assigned(layer.U_a, checkpoint, memory)
    yield _assigned(layer.v_a, checkpoint, f"{name}/attention_v", normalize)
    if layer.use_bias:
        yield _assigned(layer.b_a, checkpoint, f"{name}/attention_b")
