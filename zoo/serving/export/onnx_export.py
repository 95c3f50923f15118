"""Exports a task as ONNX graphs, which run without Keras."""

from pathlib import Path
from typing import Any

import keras

from zoo.checks import one_of
from zoo.files import StrPath
from zoo.serving.export.export_folder import (
    check_export,
    describe_task,
    write_version,
)
from zoo.serving.export.graph_export import KINDS
from zoo.serving.export.manifest import write_manifest
from zoo.serving.export.onnx_graphs import write_graphs


def export_onnx(
    task: Any,
    path: StrPath,
    quantize: str | None = None,
    preset: str | None = None,
    card: dict[str, Any] | None = None,
) -> Path:
    """Writes the next version of a task as ONNX graphs.

    The folder `path/N` has the task's graphs, whose batches and lengths are dynamic,
    its vocabulary, and `manifest.json`: names, dtypes and shapes of inputs and outputs,
    settings, the preset's card, and the sha256 of each file. The graphs are:

    - of a translator `encode`, `start` and `step` of the contract
      (`zoo.models.Seq2SeqBackbone`), with local attention also `window` for its p_t and
      windows;
    - of a captioner `encode`, which reads images, `start` and `step`;
    - of a language model `start` and `step`, which write, and `read`, which scores;
    - of a tagger `tag`, of a classifier `classify`.

    In shapes B is the number of sentences, R a multiple of it (K hypotheses each), S
    the source's length, T that of another sequence, L the room for what is written.

    Args:
        task: a translator, language model, tagger, classifier or captioner of
            `zoo.models` with its preprocessor, float32, under the TensorFlow backend.
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
            convert the model to (float16 of an LSTMN or a language model), for a model
            with an operation that ONNX lacks (hard attention), or without a
            preprocessor.
        RuntimeError: under another backend; `zoo export` selects TensorFlow itself.
        ImportError: if a package is missing; the message names the extra.

    Example:
        ```python
        model = zoo.load("luong_local")
        zoo.serving.export_onnx(model, "exports/onnx/luong_local")
        ```
    """
    check_export(task, "onnx")
    if quantize is not None:
        one_of("quantize", quantize, ("int8", "float16"))
    dtypes = {keras.backend.standardize_dtype(v.dtype) for v in task.backbone.weights}
    if not dtypes <= {"float32"}:
        raise ValueError(
            "The exported model must be float32; `quantize` makes the graphs smaller. "
            f"Received: {sorted(dtypes)}"
        )
    name, model = Path(path).name, KINDS[task.task_name](task)

    def write(part):
        graphs = write_graphs(model.functions(), part, quantize)
        model.vocabulary.save_assets(str(part))
        manifest = {
            **describe_task(task, name, preset, quantize, ("tf2onnx", "onnx")),
            **model.described,
            "graphs": graphs,
            "card": card,
        }
        write_manifest(part, manifest)

    return write_version(path, write)
