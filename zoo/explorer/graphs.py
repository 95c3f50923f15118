"""A translator's ONNX graphs for the explorer, small and without loss."""

from pathlib import Path
from typing import Any

import numpy as np
from keras import ops

from zoo.backend import Tensor
from zoo.explorer import what_if
from zoo.serving.export.manifest import check_export, write_manifest
from zoo.serving.export.onnx_export import (
    Function,
    Spec,
    TranslatorFunctions,
    every_graph,
    write_graphs,
)

_SMALL = 1024  # weights with fewer values stay float32


def write_model(task: Any, folder: Path) -> None:
    """Writes a translator's graphs, vocabulary and manifest.

    The graphs are `encode`, `start` and `step` of `zoo.serving.export_onnx`. Here
    `step` takes two more inputs, the weights of attention as `what_if.step` does (zeros
    for the model's own) and D of local attention (0 for its own), and returns what
    `what_if.step` tells. Weights that float16 holds exactly, as those of bundled
    presets, are stored so, and computed with in float32: nothing is lost.

    Args:
        task: a float32 `zoo.models.Translator` with its preprocessor.
        folder: an empty folder.

    Raises:
        RuntimeError: under another backend than TensorFlow.
        ValueError: for a model with an operation that ONNX lacks.
        ImportError: if a package is missing; the message names the extra.
    """
    check_export(task, "onnx")
    model = _Functions(task)
    graphs = write_graphs(model.functions(), folder, None)
    halves = [store_halves(folder / f"{name}.onnx") for name in graphs]
    model.vocabulary.save_assets(str(folder))
    local = what_if.has_window(task.backbone)
    described = {
        "task": "translate",
        "heads": what_if.heads_of(task.backbone) or None,
        "window": task.backbone.window if local else None,
        **model.described,
        "dtype": "float16" if any(halves) else "float32",
        "graphs": graphs,
    }
    write_manifest(folder, described)


class _Functions(TranslatorFunctions):
    """The functions of an explorer's graphs."""

    def functions(self) -> dict[str, Function]:
        """Name -> `Function`."""
        functions = super().functions()
        heads = what_if.heads_of(self.backbone)
        attention: Spec = ("attention", ("B", *heads, "S"), "float32")
        window: Spec = ("window", (), "int32")
        tokens, *leaves = functions["step"].inputs
        logits, weights, *states = functions["step"].outputs
        functions["step"] = Function(
            self.explore,
            [tokens, attention, window, *leaves],
            [logits, weights, *self._names(), *states],
        )
        return functions

    def explore(
        self, token_ids: Tensor, attention: Tensor, window: Tensor, *leaves: Tensor
    ) -> Any:
        """`what_if.step` of flat arguments: logits, weights, details, state."""
        if what_if.has_window(self.backbone):
            window = ops.where(window > 0, window, self.backbone.window)
        logits, state, weights, details = what_if.step(
            self.backbone, token_ids, *self.packed(leaves), attention, window
        )
        return logits, weights, list(details.values()), state

    def _names(self):
        """The names of the details that a step of this model has."""
        own = np.zeros((2, *what_if.heads_of(self.backbone), 5), "float32")
        given = np.ones(2, "int32"), self.state_like, self.memory_like, own
        *_, details = what_if.step(self.backbone, *given)
        return list(details)


def store_halves(path: Path) -> bool:
    """Stores a graph's weights that float16 holds exactly so; returns if there are any.

    They are cast to float32 before anything is computed.
    """
    import onnx

    model = onnx.load(str(path))
    changed = sum(map(_store_halves, every_graph(model.graph)))
    onnx.checker.check_model(model)
    onnx.save(model, str(path))
    return bool(changed)


def _store_halves(graph):
    from onnx import TensorProto, helper, numpy_helper

    casts = []
    for tensor in graph.initializer:
        values = numpy_helper.to_array(tensor)
        if tensor.data_type != TensorProto.FLOAT or values.size < _SMALL:
            continue
        with np.errstate(over="ignore"):
            half = values.astype("float16")
        if (half.astype("float32") == values).all():
            name, stored = tensor.name, f"{tensor.name}:half"
            tensor.CopyFrom(numpy_helper.from_array(half, stored))
            cast = helper.make_node("Cast", [stored], [name], to=TensorProto.FLOAT)
            casts.append(cast)
    nodes = [*casts, *graph.node]
    del graph.node[:]
    graph.node.extend(nodes)
    return len(casts)
