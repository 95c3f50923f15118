"""Exports a task as ONNX graphs, by tf2onnx, which run without Keras."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import tree

from zoo.backend import Tensor
from zoo.files import StrPath
from zoo.serving.export.manifest import (
    GRAPH_TASKS,
    check_export,
    check_weights,
    translator_settings,
    write_export,
)

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


class Function(NamedTuple):
    """A function of tensors that becomes a graph."""

    function: Callable[..., Any]
    inputs: Sequence[Spec]  # of its arguments
    outputs: Sequence[str]  # the names of the result's leaves


def export_onnx(
    task: Any, path: StrPath, quantize: str | None = None, preset: str | None = None
) -> Path:
    """Writes the next version of a task as ONNX graphs.

    The folder `path/N` has the task's graphs, whose batches and lengths are dynamic,
    its vocabulary, and `manifest.json`: names, dtypes and shapes of inputs and outputs,
    settings, and the sha256 of each file. The graphs are:

    - of a translator `encode`, `start` and `step` of the contract
      (`zoo.models.Seq2SeqBackbone`);
    - of a tagger `tag`, of a classifier `classify`.

    In shapes B is the number of sentences, R a multiple of it (K hypotheses each), S
    the source's length, T that of another sequence, L the room for what is written.

    Args:
        task: a translator, tagger or classifier of `zoo.models` with its preprocessor,
            float32, under the TensorFlow backend.
        path: the model's folder.
        quantize: "int8" for the weights of products and word vectors, with activations
            quantized as they come; inputs and outputs stay float32.
        preset: as in `zoo.serving.export_savedmodel`.

    Returns:
        The version's folder.

    Raises:
        TypeError: for another task: a language model, a captioner.
        ValueError: for another precision or quantization, a model with an operation
            that ONNX lacks, or without a preprocessor.
        RuntimeError: under another backend; `zoo export` selects TensorFlow itself.
        ImportError: if a package is missing; the message names the extra.

    Example:
        ```python
        model = zoo.load("luong_local")
        zoo.serving.export_onnx(model, "exports/onnx/luong_local")
        ```
    """
    check_export(task, "onnx")
    if task.task_name not in GRAPH_TASKS:
        raise TypeError(
            f"ONNX graphs are of models for the tasks {[*GRAPH_TASKS]}; a SavedModel "
            f"can be of any. Received: {type(task).__name__}"
        )
    check_weights(task, quantize)
    kind = TranslatorFunctions if task.task_name == "translate" else _Labeller
    model = kind(task)

    def write(part):
        graphs = write_graphs(model.functions(), part, quantize)
        model.vocabulary.save_assets(str(part))
        return {"quantize": quantize, **model.described, "graphs": graphs}

    return write_export(task, "onnx", path, preset, write)


# === Tasks ===
def _specs_of(name, found, letters):
    """Returns the specs of a structure's leaves, which are name.0, name.1, ….

    `found` is the structure, then for each letter one in which that size is another.
    """
    specs = []
    for place, leaves in enumerate(zip(*map(tree.flatten, found), strict=True)):
        first, *others = leaves
        shape: list[Any] = list(first.shape)
        for letter, other in zip(letters, others, strict=True):
            for axis, size in enumerate(other.shape):
                shape[axis] = letter if size != first.shape[axis] else shape[axis]
        dtype = keras.backend.standardize_dtype(first.dtype)
        specs.append((f"{name}.{place}", tuple(shape), dtype))
    return specs


class TranslatorFunctions:
    """The contract of a `Seq2SeqBackbone` as functions of flat lists of tensors.

    `vocabulary` writes the vocabulary's file, `described` is for the manifest.
    """

    def __init__(self, task: Any) -> None:
        self.backbone, self.vocabulary = task.backbone, task.preprocessor.tokenizer
        self.described: dict[str, Any] = {"settings": translator_settings(task)}
        sizes = {"": (2, 5, 11), "B": (3, 5, 11), "S": (2, 7, 11), "L": (2, 5, 13)}
        found = {letter: self.run(*size) for letter, size in sizes.items()}
        self.memory_like, self.state_like = found[""]
        self.memory = _specs_of("memory", [found[x][0] for x in sizes], "BSL")
        self.state = _specs_of("state", [found[x][1] for x in sizes], "RSL")

    def run(self, batch: int, length: int, room: int) -> tuple[Any, Any]:
        """Returns a memory and a state of these sizes."""
        memory = self.backbone.encode(np.full((batch, length), 7, "int32"))
        return memory, self.backbone.start_for(memory, room)

    def functions(self) -> dict[str, Function]:
        """Name -> `Function`."""
        names = [spec[0] for spec in self.memory]
        states = [spec[0] for spec in self.state]
        source: Spec = ("source_ids", ("B", "S"), "int32")
        length: Spec = ("length", (), "int32")
        tokens: Spec = ("token_ids", ("R",), "int32")
        return {
            "encode": Function(self.backbone.encode, [source], names),
            "start": Function(self.start, [length, *self.memory], states),
            "step": Function(
                self.step,
                [tokens, *self.state, *self.memory],
                ["logits", "weights", *(f"new_{name}" for name in states)],
            ),
        }

    def start(self, length: Tensor, *memory: Tensor) -> Any:
        """`start_for` of flat arguments."""
        memory = tree.pack_sequence_as(self.memory_like, memory)
        return self.backbone.start_for(memory, length)

    def step(self, token_ids: Tensor, *leaves: Tensor) -> Any:
        """The backbone's `step` of flat arguments: logits, weights, state."""
        logits, state, weights = self.backbone.step(token_ids, *self.packed(leaves))
        return logits, weights, state

    def packed(self, leaves: Sequence[Tensor]) -> tuple[Any, Any]:
        """Returns state and memory in the backbone's structures."""
        count = len(self.state)
        return (
            tree.pack_sequence_as(self.state_like, leaves[:count]),
            tree.pack_sequence_as(self.memory_like, leaves[count:]),
        )


class _Labeller:
    """The function of a `BiRNNTagger` or `SentimentClassifier`: its logits."""

    def __init__(self, task):
        self.task, self.backbone = task, task.backbone
        words: Spec = ("token_ids", ("B", "T"), "int32")
        if task.task_name == "classify":
            self.vocabulary, self.inputs = task.preprocessor.tokenizer, [words]
            settings = {"lowercase": self.vocabulary.lowercase}
            settings["classes"] = self.backbone.classes
        else:
            self.vocabulary = task.preprocessor
            length = self.vocabulary.word_length
            settings = {"word_length": length}
            self.inputs = [
                ("word_ids", *words[1:]),
                ("character_ids", ("B", "T", length), "int32"),
            ]
        self.described = {"settings": settings}

    def functions(self):
        """Name -> `Function`."""
        return {self.task.task_name: Function(self.label, self.inputs, ["logits"])}

    def label(self, *arrays):
        names = (name for name, *_ in self.inputs)
        return self.backbone(dict(zip(names, arrays, strict=True)))


# === Graphs ===
def write_graphs(
    functions: Mapping[str, Function], folder: Path, quantize: str | None
) -> dict[str, Any]:
    """Writes functions as NAME.onnx, quantized to "int8" if asked.

    Returns each graph's inputs and outputs: names, dtypes, and shapes with letters for
    dynamic sizes. An operation that ONNX lacks is a ValueError.
    """
    import onnx

    described = {}
    for name, function in functions.items():
        model = _convert(*function)
        path = folder / f"{name}.onnx"
        onnx.save(model, str(path))
        try:
            onnx.checker.check_model(str(path))
        except onnx.checker.ValidationError as error:  # tf2onnx let it through
            reason = str(error).partition("\n")[0]
            raise ValueError(
                f"This model cannot be exported to ONNX: its graph {name!r} has an "
                f"operation that ONNX lacks: {reason}"
            ) from error
        if quantize:
            _quantize(path)
        described[name] = {
            "inputs": list(map(_describe, model.graph.input)),
            "outputs": list(map(_describe, model.graph.output)),
        }
    return described


def _convert(function: Callable[..., Any], specs: Sequence[Spec], names: Any) -> Any:
    """Returns the ONNX model of a `Function`."""
    import tensorflow as tf
    from tf2onnx import optimizer, tf_loader, tfonnx

    signature = [
        tf.TensorSpec([None if isinstance(n, str) else n for n in shape], dtype, name)
        for name, shape, dtype in specs
    ]

    def flat(*arguments):
        return [tf.identity(leaf) for leaf in tree.flatten(function(*arguments))]

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
        for place, size in enumerate(shape):
            if isinstance(size, str):
                tensor.type.tensor_type.shape.dim[place].dim_param = size
    return model


def every_graph(graph: Any) -> Iterator[Any]:
    """Yields an ONNX graph and those within its nodes, as of loops."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from every_graph(attribute.g)


def _describe(tensor):
    import onnx

    kind = tensor.type.tensor_type
    return {
        "name": tensor.name,
        "dtype": onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type).name,
        "shape": [d.dim_param or d.dim_value or None for d in kind.shape.dim],
    }


def _quantize(path):
    """Replaces a graph's file by its version in int8."""
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.quantization.registry import IntegerOpsRegistry

    quantize_dynamic(
        onnx.load(str(path)),
        path,
        weight_type=QuantType.QInt8,
        # Convolutions of int8 weights have no kernel on a CPU.
        op_types_to_quantize=sorted(set(IntegerOpsRegistry) - {"Conv"}),
        # The weights in loops too; of products, only those with a weight.
        extra_options={"EnableSubgraph": True, "MatMulConstBOnly": True},
    )
