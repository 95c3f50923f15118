"""Exports a translator as ONNX graphs, which `zoo.runtime.onnx` runs without Keras."""

import contextlib
import logging
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
from keras import tree

import zoo
from zoo.checks import one_of
from zoo.files import StrPath
from zoo.serving.folder import require_onnx, write_version
from zoo.serving.manifest import TOKENIZER, write_manifest
from zoo.text.translation import needed_preprocessor

QUANTIZE = "int8", "float16"
OPSET = 18
# Those of tf2onnx that the graphs of the zoo need. Not its `ReshapeOptimizer`, which
# gives a wrong Transformer (tf2onnx 1.17).
_OPTIMIZERS = (
    "TransposeOptimizer",
    "ConstFoldOptimizer",
    "LoopOptimizer",
    "MergeDuplicatedNodesOptimizer",
    "IdentityOptimizer",
    "BackToBackOptimizer",
)
Spec = tuple[str, tuple[Any, ...], str]  # name; sizes, a letter if dynamic; dtype


def export_onnx(
    task: Any,
    path: StrPath,
    quantize: str | None = None,
    preset: str | None = None,
    card: dict[str, Any] | None = None,
) -> Path:
    """Writes the next version of a translator as ONNX graphs.

    The folder `path/N` has the graphs `encode`, `start` and `step` of the contract
    (`zoo.models.Seq2SeqBackbone`), whose batches and lengths are dynamic, the
    SentencePiece model, and `manifest.json`: names, dtypes and shapes of inputs and
    outputs, settings, the preset's card, and the sha256 of each file. In shapes B is
    the number of sentences, R a multiple of it (K hypotheses each), S the source's
    length, L the room for the translation. Local attention has the graph `window` for
    its p_t and windows.

    Args:
        task: a translator of `zoo.models` with its preprocessor, float32, under the
            TensorFlow backend.
        path: the model's folder.
        quantize: "int8" for the weights of products and word vectors, with activations
            quantized as they come, "float16" for weights and computation; inputs and
            outputs stay float32.
        preset: as in `zoo.serving.export_savedmodel`.
        card: the preset's card, if any.

    Returns:
        The version's folder.

    Raises:
        TypeError: for another task.
        ValueError: for another precision, quantization, or one that ONNX Runtime cannot
            convert the model to (an LSTMN's float16), without a preprocessor, or for
            a folder with versions of another format.
        RuntimeError: under another backend; `zoo export` selects TensorFlow itself.
        ImportError: if a package is missing; the message names the extra.

    Example:
        ```python
        model = zoo.load("luong_local")
        zoo.serving.export_onnx(model, "exports/onnx/luong_local")
        ```
    """
    if getattr(task, "task_name", None) != "translate":
        raise TypeError(
            "What is exported to ONNX must be a Translator of zoo.models. "
            f"Received: {type(task).__name__}"
        )
    preprocessor = needed_preprocessor(task, "Translating text")
    if quantize is not None:
        one_of("quantize", quantize, QUANTIZE)
    require_onnx()
    if keras.backend.backend() != "tensorflow":
        raise RuntimeError(
            "ONNX graphs are written under the TensorFlow backend. Save the model with "
            "save_to_preset and run `zoo export FOLDER --format onnx`, which selects "
            f"it itself. Received: KERAS_BACKEND={keras.backend.backend()}"
        )
    dtypes = {keras.backend.standardize_dtype(v.dtype) for v in task.backbone.weights}
    if not dtypes <= {"float32"}:
        raise ValueError(
            "The exported model must be float32; `quantize` makes the graphs smaller. "
            f"Received: {sorted(dtypes)}"
        )
    name = Path(path).name

    def write(part):
        graphs = _write_graphs(task.backbone, part, quantize)
        (part / TOKENIZER).write_bytes(preprocessor.tokenizer.proto)
        state = task.backbone.window_state
        described = {
            "name": name,
            "preset": preset,
            "task": task.task_name,
            "architecture": type(task).__name__,
            "parameters": task.count_params(),
            "quantize": quantize,
            "settings": {
                "source_length": preprocessor.source_length,
                "target_length": preprocessor.target_length,
                "source_end": preprocessor.source_end,
            },
            "window_state": None if state is None else f"state.{state}",
            "graphs": graphs,
            "packages": _versions(),
            "card": card,
        }
        write_manifest(part, described)

    return write_version(path, "saved_model.pb", write)


def _versions():
    import onnx
    import tensorflow as tf
    import tf2onnx

    packages = {"keras": keras, "tensorflow": tf, "tf2onnx": tf2onnx, "onnx": onnx}
    return {
        "zoo": zoo.__version__,
        **{name: package.__version__ for name, package in packages.items()},
    }


# === Graphs ===


def _write_graphs(backbone, folder, quantize):
    """Writes the graphs of a backbone; returns their inputs and outputs by name."""
    import onnx

    contract = _Contract(backbone)
    described = {}
    for name, (function, inputs, outputs) in contract.graphs().items():
        model = _convert(function, inputs, outputs)
        _remove_unused_inputs(model)
        path = folder / f"{name}.onnx"
        onnx.save(model, str(path))
        onnx.checker.check_model(str(path))
        if quantize:
            _quantize(path, quantize)
        described[name] = {
            "inputs": _describe(model.graph.input),
            "outputs": _describe(model.graph.output),
        }
    return described


class _Contract:
    """The contract of a `Seq2SeqBackbone` as functions of flat lists of tensors."""

    def __init__(self, backbone):
        self.backbone = backbone
        sizes = {"": (2, 5, 11), "B": (3, 5, 11), "S": (2, 7, 11), "L": (2, 5, 13)}
        found = {letter: self._run(*size) for letter, size in sizes.items()}
        self.memory_like, self.state_like = found[""]
        self.memory = _specs("memory", [found[x][0] for x in sizes], ("B", "S", "L"))
        self.state = _specs("state", [found[x][1] for x in sizes], ("R", "S", "L"))

    def _run(self, batch, length, room):
        memory = self.backbone.encode(np.full((batch, length), 7, "int32"))
        return memory, self.backbone.start_for(memory, room)

    def graphs(self):
        """Name -> (function, specs of its inputs, names of its outputs)."""
        names = [spec[0] for spec in self.memory]
        states = [spec[0] for spec in self.state]
        length: Spec = ("length", (), "int32")
        tokens: Spec = ("token_ids", ("R",), "int32")
        graphs = {
            "encode": (
                self.backbone.encode,
                [("source_ids", ("B", "S"), "int32")],
                names,
            ),
            "start": (self.start, [length, *self.memory], states),
            "step": (
                self.step,
                [tokens, *self.state, *self.memory],
                ["logits", "weights", *(f"new_{name}" for name in states)],
            ),
        }
        place = self.backbone.window_state
        if place is not None:
            size = self.state[place][1][-1]
            graphs["window"] = (
                self.backbone.attention_window,
                [("hidden", ("B", "T", size), "float32"), ("mask", ("B", "S"), "bool")],
                ["focus", "windows"],
            )
        return graphs

    def start(self, length, *memory):
        memory = tree.pack_sequence_as(self.memory_like, memory)
        return self.backbone.start_for(memory, length)

    def step(self, token_ids, *leaves):
        count = len(self.state)
        state = tree.pack_sequence_as(self.state_like, leaves[:count])
        memory = tree.pack_sequence_as(self.memory_like, leaves[count:])
        logits, state, weights = self.backbone.step(token_ids, state, memory)
        return logits, weights, state


def _specs(name: str, found: Sequence[Any], letters: Sequence[str]) -> list[Spec]:
    """Returns the specs of a structure's leaves.

    Args:
        name: of the structure; the leaves are name.0, name.1, ….
        found: the structure, then for each letter one in which that size is another.
        letters: the letters.
    """
    specs = []
    for place, leaves in enumerate(zip(*map(tree.flatten, found), strict=True)):
        first, *others = leaves
        shape: list[Any] = list(first.shape)
        for letter, other in zip(letters, others, strict=True):
            for axis, size in enumerate(other.shape):
                shape[axis] = letter if size != first.shape[axis] else shape[axis]
        if shape[:1] != [letters[0]]:
            raise ValueError(
                f"The first axis of every tensor of the {name} must be the batch. "
                f"Received: {name}.{place} of shape {tuple(first.shape)}"
            )
        dtype = keras.backend.standardize_dtype(first.dtype)
        specs.append((f"{name}.{place}", tuple(shape), dtype))
    return specs


def _convert(function: Callable[..., Any], specs: Sequence[Spec], names: Any) -> Any:
    """Returns a function's ONNX model.

    Args:
        function: function of tensors that returns a structure of tensors.
        specs: of the function's arguments.
        names: of the structure's leaves.
    """
    import tensorflow as tf
    from tf2onnx import optimizer, tf_loader, tfonnx

    signature = [
        tf.TensorSpec([None if isinstance(n, str) else n for n in shape], dtype, name)
        for name, shape, dtype in specs
    ]

    def flat(*arguments):
        leaves = tree.flatten(function(*arguments))
        return [tf.identity(leaf) for leaf in leaves]

    traced = tf.function(flat, signature, autograph=False).get_concrete_function()
    inputs = [x.name for x in traced.inputs if x.dtype != tf.resource]
    outputs = [x.name for x in traced.outputs]
    graph_def = tf_loader.from_function(traced, inputs, outputs)
    renamed = dict(zip(inputs, (spec[0] for spec in specs), strict=True))
    renamed |= zip(outputs, names, strict=True)
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="")
        converted = tfonnx.process_tf_graph(
            graph,
            opset=OPSET,
            input_names=inputs,
            output_names=outputs,
            tensors_to_rename=renamed,
        )
    chosen = {name: getattr(optimizer, name) for name in _OPTIMIZERS}
    converted = optimizer.optimize_graph(converted, False, chosen)
    model = converted.make_model("zoo")
    for tensor, (_, shape, _) in zip(model.graph.input, specs, strict=True):
        for dimension, size in zip(
            tensor.type.tensor_type.shape.dim, shape, strict=True
        ):
            if isinstance(size, str):
                dimension.dim_param = size
    return model


def _remove_unused_inputs(model):
    """Removes inputs that no node reads, as of a state that `step` doesn't need."""
    read = set(_read_names(model.graph))
    kept = [tensor for tensor in model.graph.input if tensor.name in read]
    del model.graph.input[:]
    model.graph.input.extend(kept)


def _read_names(graph):
    """Yields the names of the tensors that nodes read, those in loops too."""
    yield from (tensor.name for tensor in graph.output)
    for node in graph.node:
        yield from node.input
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _read_names(attribute.g)


def _describe(tensors):
    import onnx

    described = []
    for tensor in tensors:
        kind = tensor.type.tensor_type
        described.append(
            {
                "name": tensor.name,
                "dtype": onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type).name,
                "shape": [d.dim_param or d.dim_value or None for d in kind.shape.dim],
            }
        )
    return described


def _quantize(path, kind):
    """Replaces a graph's file by its smaller version."""
    import onnx

    if kind == "float16":
        from onnxruntime.transformers.float16 import convert_float_to_float16

        model = convert_float_to_float16(onnx.load(str(path)), keep_io_types=True)
        onnx.save(model, str(path))
        _check_loads(path)
        return
    from onnxruntime.quantization import QuantType, quantize_dynamic

    with tempfile.TemporaryDirectory() as folder, _quiet():
        source = shutil.copy(path, folder)
        quantize_dynamic(
            source,
            path,
            weight_type=QuantType.QInt8,
            # The weights in loops too; of products, only those with a weight.
            extra_options={"EnableSubgraph": True, "MatMulConstBOnly": True},
        )


def _check_loads(path):
    """Rejects a graph that ONNX Runtime can't load.

    Its converter to float16 spoils loops with weights of their own, an LSTMN's encoder.
    """
    import onnxruntime

    try:
        onnxruntime.InferenceSession(str(path))
    except Exception as error:  # of a dozen classes without a common one
        raise ValueError(
            f"This model cannot be exported in float16: ONNX Runtime's converter gives "
            f"a wrong {path.name}; use int8 or float32"
        ) from error


@contextlib.contextmanager
def _quiet():
    """Leaves out the advice, with every graph, to prepare it for quantization."""
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)
