"""Functions of tensors of fixed sizes as the signatures of one LiteRT file."""

import re
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from keras import tree

from zoo.serving.graph_export import Function
from zoo.serving.manifest import LITERT_FILE


def write_signatures(
    functions: Mapping[str, Function],
    weights: Iterable[Any],
    folder: Path,
    quantize: str | None,
) -> dict[str, Any]:
    """Writes functions as the signatures of `LITERT_FILE`, which share their weights.

    Args:
        functions: name -> function; the sizes of its inputs are numbers.
        weights: the variables that the functions read.
        folder: the folder.
        quantize: "int8", "float16" or None.

    Returns:
        The inputs and outputs of each signature: names, dtypes and shapes.

    Raises:
        ValueError: if a function has operations that LiteRT lacks.
    """
    import tensorflow as tf
    from ai_edge_litert.interpreter import Interpreter

    module = tf.Module()
    module.weights = [variable.value for variable in weights]
    traced = {name: _trace(function) for name, function in functions.items()}
    with tempfile.TemporaryDirectory() as saved:
        # As in `zoo.serving.export`: no custom gradients.
        options = tf.saved_model.SaveOptions(experimental_custom_gradients=False)
        tf.saved_model.save(module, saved, signatures=traced, options=options)
        converter = tf.lite.TFLiteConverter.from_saved_model(
            saved, signature_keys=list(traced)
        )
        if quantize:
            converter.optimizations = [tf.lite.Optimize.DEFAULT]
        if quantize == "float16":
            converter.target_spec.supported_types = [tf.float16]
        try:
            content = converter.convert()
        except Exception as error:
            raise _refusal(error) from error
    (folder / LITERT_FILE).write_bytes(content)
    interpreter = Interpreter(model_content=content)
    return {name: _describe(interpreter.get_signature_runner(name)) for name in traced}


def _trace(function):
    import tensorflow as tf

    signature = [
        tf.TensorSpec(shape, dtype, name) for name, shape, dtype in function.inputs
    ]

    def named(*arguments):
        leaves = tree.flatten(function.function(*arguments))
        leaves = [tf.identity(leaf) for leaf in leaves]
        return dict(zip(function.outputs, leaves, strict=True))

    traced = tf.function(named, signature, autograph=False)
    return traced.get_concrete_function()


def _refusal(error):
    """Returns the error for a model that the converter refused."""
    message = str(error)
    found = re.search(r"(?:TF Select|Custom) ops: ([\w, ]+)", message)
    reason = found[1].strip() if found else message.strip().partition("\n")[0]
    return ValueError(
        "This model cannot be exported to LiteRT: it has operations that LiteRT lacks: "
        f"{reason}"
    )


def _describe(runner):
    details = (runner.get_input_details(), runner.get_output_details())
    return {
        key: [
            {
                "name": name,
                "dtype": np.dtype(tensor["dtype"]).name,
                "shape": tensor["shape"].tolist(),
            }
            for name, tensor in found.items()
        ]
        for key, found in zip(("inputs", "outputs"), details, strict=True)
    }
