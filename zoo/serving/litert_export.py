"""Exports a task for LiteRT, which `zoo.runtime.litert` runs without Keras."""

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras
from keras import tree

from zoo.checks import positive
from zoo.decoding.batches import LONGEST
from zoo.files import StrPath
from zoo.serving.graph_export import Function, Spec, export_graphs
from zoo.serving.litert_graphs import write_signatures

LENGTHS = 16, 32, 64
ROWS = 5  # of the second signature of a step


def export_litert(
    task: Any,
    path: StrPath,
    quantize: str | None = None,
    preset: str | None = None,
    card: dict[str, Any] | None = None,
    lengths: Sequence[int] | None = None,
) -> Path:
    """Writes the next version of a task for LiteRT, on phones and small machines.

    The folder `path/N` has `model.tflite`, the vocabulary, and `manifest.json`: names,
    dtypes and shapes of inputs and outputs, settings, the preset's card, and the sha256
    of each file. Sizes are fixed: each length S of a bucket has its signatures, which
    are of one text and have LiteRT's own operations alone; all of them share their
    weights:

    - of a translator `encode_S`, `start_S`, `step_S` for one hypothesis and `step_S_5`
      for five, and with local attention `window_S` and `window_S_5`;
    - of a language model `start_S` and `step_S`, which write, and `read_S`, which
      scores;
    - of a tagger `tag_S`, of a classifier `classify_S`;
    - of a captioner the same as of a translator; `encode_S` takes one image, and S is
      the number of places in the grid.

    Args:
        task: a translator, language model, tagger, classifier or captioner of
            `zoo.models` with its preprocessor, float32, under the TensorFlow backend.
        path: the model's folder.
        quantize: "int8" for the weights of products and word vectors, with activations
            quantized as they come, "float16" for weights alone; inputs and outputs stay
            float32.
        preset: as in `zoo.serving.export_savedmodel`.
        card: the preset's card, if any.
        lengths: the buckets' lengths, ascending. Default: 16, 32 and 64 pieces of a
            source, or words of a text, which has a bucket for 512 too, the most that
            are read at once. A translator's state that grows has room for twice as many
            and 10 more; its lengths above the preprocessor's `source_length` become
            that, and longer sources than the last are cut. A captioner has none.

    Returns:
        The version's folder.

    Raises:
        TypeError: for another task.
        ValueError: for another precision or quantization, other lengths, for a model
            with an operation that LiteRT lacks, without a preprocessor, or for a folder
            with versions of another format.
        RuntimeError: under another backend; `zoo export` selects TensorFlow itself.
        ImportError: if a package is missing; the message names the extra.

    Example:
        ```python
        model = zoo.load("luong_local")
        zoo.serving.export_litert(model, "exports/litert/luong_local", "int8")
        ```
    """
    if lengths is not None:
        for length in lengths:
            positive("lengths", length)
        if not lengths or sorted(set(lengths)) != list(lengths):
            raise ValueError(f"`lengths` must be ascending. Received: {lengths}")
        if getattr(task, "task_name", None) == "caption":
            raise ValueError(f"Images have no `lengths`. Received: {lengths}")

    def write(model, part):
        settings = dict(model.described["settings"])
        longest = settings.get("source_length")
        sizes = lengths or (LENGTHS if longest else (*LENGTHS, LONGEST))
        if longest:
            sizes = sorted({min(length, longest) for length in sizes})
            settings["source_length"] = sizes[-1]
        if image := model.described.get("image"):
            rows, columns = image["grid"]
            sizes = [rows * columns]
        buckets = [_Bucket(model, size) for size in sizes]
        functions = {k: f for bucket in buckets for k, f in bucket.functions().items()}
        graphs = write_signatures(functions, task.backbone.variables, part, quantize)
        state = model.described.get("window_state")
        return {
            "settings": settings,
            "window_state": state and _plain(state),
            "buckets": [bucket.described for bucket in buckets],
            "graphs": graphs,
        }

    return export_graphs(task, path, "litert", write, quantize, preset, card)


class _Bucket:
    """The functions of a task for one text of a fixed length.

    Attributes:
        described: what the manifest says of it.
    """

    def __init__(self, model, source):
        self._source = source
        self._room, structures = model.sized(source)
        self._functions = model.functions()
        if "window" in self._functions:
            self._functions["window"] = _by_rows(self._functions["window"])
        # Name -> shape and dtype of the structures' leaves.
        self._leaves = {}
        for name, structure in structures.items():
            for place, leaf in enumerate(tree.flatten(structure)):
                dtype = keras.backend.standardize_dtype(leaf.dtype)
                self._leaves[f"{name}.{place}"] = tuple(leaf.shape), dtype
        keys = {name: [f"{name}_{source}"] for name in self._functions}
        for name, function in self._functions.items():
            if any("R" in shape for _, shape, _ in function.inputs):
                keys[name].append(f"{name}_{source}_{ROWS}")
        grows = any("L" in shape for _, shape, _ in model.state)
        self.described = {
            "source": source,
            "target": self._room if grows else None,
            "signatures": keys,
        }

    def functions(self):
        """Signature -> `Function`."""
        return {
            key: self._fixed(self._functions[name], rows)
            for name, keys in self.described["signatures"].items()
            for key, rows in zip(keys, (1, ROWS), strict=False)
        }

    def _fixed(self, function, rows):
        """A function whose inputs have this bucket's sizes."""
        sizes = {"B": 1, "S": self._source, "T": self._source, "R": rows}
        numbers = {"batch": 1, "length": self._room}
        given = [numbers[name] for name, shape, _ in function.inputs if shape == ()]

        def fixed(name, shape, dtype):
            shape, dtype = self._leaves.get(name, (shape, dtype))
            if name.startswith("state."):
                shape = (rows, *shape[1:])
            return _plain(name), [sizes.get(n, n) for n in shape], dtype

        return Function(
            functools.partial(function.function, *given),
            [fixed(*spec) for spec in function.inputs[len(given) :]],
            [_plain(name) for name in function.outputs],
        )


def _by_rows(window):
    """Adapts `window` to rows (R, d) of one sentence.

    Its inputs are the rows, their target positions (R,), which local-m needs, and the
    sentence's mask (1, S).
    """
    (hidden, (_, _, size), dtype), mask = window.inputs

    def function(hidden, position, mask):
        return [x[0] for x in window.function(hidden[None], mask, position)]

    rows: list[Spec] = [(hidden, ("R", size), dtype), ("position", ("R",), "int32")]
    return window._replace(function=function, inputs=[*rows, mask])


def _plain(name):
    """A name as TensorFlow's signatures may have it."""
    return name.replace(".", "_")
