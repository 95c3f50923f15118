"""Functions of tensors as ONNX graphs, by tf2onnx."""

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from keras import tree

from zoo.serving.export.graph_export import Function, Spec

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


def write_graphs(
    functions: Mapping[str, Function], folder: Path, quantize: str | None
) -> dict[str, Any]:
    """Writes functions as NAME.onnx, quantized to "int8" or "float16" if asked.

    Returns:
        The inputs and outputs of each graph: names, dtypes, and shapes with letters for
        dynamic sizes.

    Raises:
        ValueError: if a function has operations that ONNX lacks, or ONNX Runtime cannot
            convert a graph to float16.
    """
    import onnx

    described = {}
    for name, function in functions.items():
        model = _convert(*function)
        _remove_unused_inputs(model)
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
            _quantize(path, quantize)
        described[name] = {
            "inputs": _describe(model.graph.input),
            "outputs": _describe(model.graph.output),
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
    read = {tensor.name for tensor in model.graph.output}
    for graph in every_graph(model.graph):
        read |= {name for node in graph.node for name in node.input}
    kept = [tensor for tensor in model.graph.input if tensor.name in read]
    del model.graph.input[:]
    model.graph.input.extend(kept)


def every_graph(graph: Any) -> Iterator[Any]:
    """Yields an ONNX graph and those within its nodes, as of loops."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from every_graph(attribute.g)


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
    import onnxruntime

    if kind == "float16":
        from onnxruntime.transformers.float16 import convert_float_to_float16

        model = convert_float_to_float16(onnx.load(str(path)), keep_io_types=True)
        onnx.save(model, str(path))
        try:
            onnxruntime.InferenceSession(str(path))
        except Exception as error:  # it spoils loops with weights of their own
            raise ValueError(
                "This model cannot be exported in float16: ONNX Runtime's converter "
                f"gives a wrong {path.name}; use int8 or float32"
            ) from error
        return
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.quantization.registry import IntegerOpsRegistry

    with tempfile.TemporaryDirectory() as folder:
        source = shutil.copy(path, folder)
        quantize_dynamic(
            source,
            path,
            weight_type=QuantType.QInt8,
            # Convolutions of int8 weights have no kernel on a CPU.
            op_types_to_quantize=sorted(set(IntegerOpsRegistry) - {"Conv"}),
            # The weights in loops too; of products, only those with a weight.
            extra_options={"EnableSubgraph": True, "MatMulConstBOnly": True},
        )
