"""Exports a preset as a SavedModel for TensorFlow Serving: text in, text out."""

import json
from pathlib import Path
from typing import Any

import keras

import zoo
from zoo.files import StrPath
from zoo.serving.export.captioner_graph import CaptionerSignatures
from zoo.serving.export.export_folder import (
    EXTRA,
    METADATA,
    TAKES,
    require_serving_api,
    require_tensorflow,
    write_version,
)
from zoo.serving.export.limits import Limits
from zoo.serving.export.translator_graph import TranslatorSignatures
from zoo.serving.export.word_graphs import (
    ClassifierSignatures,
    LanguageModelSignatures,
    TaggerSignatures,
)
from zoo.text.translation_arrays import needed_preprocessor

_SIGNATURES = {
    kind.task_name: kind
    for kind in (
        TranslatorSignatures,
        LanguageModelSignatures,
        TaggerSignatures,
        ClassifierSignatures,
        CaptionerSignatures,
    )
}


def export_savedmodel(
    task: Any,
    path: StrPath,
    warmup: bool = True,
    preset: str | None = None,
    **limits: Any,
) -> Path:
    """Writes the next version of a served model.

    The folder `path/N` becomes a SavedModel of the task: raw strings in, raw strings
    out, and for a captioner the contents of image files in. N is 1, or one more than
    the highest version. The folder appears under this name when it is complete, so a
    model server that watches `path` never sees half a model.

    Args:
        task: a translator, language model, tagger, classifier or captioner of
            `zoo.models`, with its preprocessor, under the TensorFlow backend.
        path: the model's folder.
        warmup: whether to include requests that the model server runs before it accepts
            others. This needs tensorflow-serving-api.
        preset: `zoo.presets.card.digest` of the preset that the task was loaded from,
            by which `zoo serve` recognizes it; None for no preset.
        **limits: arguments of `zoo.serving.Limits`.

    Returns:
        The version's folder. Its `assets.extra/zoo.json` describes it; see
        `read_metadata`.

    Raises:
        TypeError: for a task that cannot be served.
        ValueError: for a limit that the task does not have, without a preprocessor, or
            for a folder with versions of another format.
        RuntimeError: under another backend; `zoo export` selects TensorFlow itself.
        ImportError: if a package is missing; the message names the extra.
    """
    limits = _limits(limits)
    signatures = _signatures(task, limits)
    require_tensorflow()
    if keras.backend.backend() != "tensorflow":
        raise RuntimeError(
            "A SavedModel is written under the TensorFlow backend. Save the model with "
            "save_to_preset and run `zoo export FOLDER`, which selects it itself. "
            f"Received: KERAS_BACKEND={keras.backend.backend()}"
        )
    if warmup:
        require_serving_api()
    signatures = signatures(task, limits)
    name = Path(path).name

    def write(part):
        _write(signatures, part)
        metadata = _metadata(signatures, name, preset)
        (part / EXTRA).mkdir()
        text = json.dumps(metadata, indent=2, ensure_ascii=False)
        (part / EXTRA / METADATA).write_text(f"{text}\n", encoding="utf-8")
        if warmup:
            from zoo.serving.export.warmup import write_warmup

            write_warmup(part, metadata)

    return write_version(path, "savedmodel", write)


# === Parts ===


def _limits(given):
    allowed = list(Limits.__dataclass_fields__)
    if not set(given) <= set(allowed):
        raise ValueError(f"The limits must be of {allowed}. Received: {sorted(given)}")
    return Limits(**given)


def _signatures(task, limits):
    signatures = _SIGNATURES.get(getattr(task, "task_name", None))
    if signatures is None:
        raise TypeError(
            "What is served must be a Translator, RecurrentCausalLM, BiRNNTagger, "
            "SentimentClassifier or ShowAttendTellCaptioner of zoo.models. "
            f"Received: {type(task).__name__}"
        )
    needed_preprocessor(task, "Serving text")
    for name, field in Limits.__dataclass_fields__.items():
        value = getattr(limits, name)
        default = limits.beam_size if name == "n_best" else field.default
        takes = TAKES[signatures.task_name]
        if value != default and name not in takes:
            raise ValueError(
                f"A {type(task).__name__} has the limits {list(takes)}. "
                f"Received: {name}={value!r}"
            )
    return signatures


def _write(signatures, folder):
    """Writes the SavedModel of a task's signatures."""
    import tensorflow as tf

    archive = keras.export.ExportArchive()
    # Not the model: the variables that signatures read are found anyway, and would be
    # written twice.
    for resource in signatures.resources:
        archive.track(resource)
    for name, inputs in signatures.inputs.items():
        specs = [tf.TensorSpec([None], tf.string, name=key) for key in inputs]
        function = tf.function(getattr(signatures, name), specs, autograph=False)
        # Traced once here, since the archive traces its endpoints several times.
        endpoint = _calling(function.get_concrete_function())
        archive.add_endpoint(name, endpoint, specs)
        if name == signatures.default:
            archive.add_endpoint("serving_default", endpoint, specs)
    # An LSTMN's custom gradient would be saved too. `tf.saved_model.load` warns that it
    # is missing; serving does not need it.
    options = tf.saved_model.SaveOptions(experimental_custom_gradients=False)
    archive.write_out(str(folder), options=options, verbose=False)
    _share_pieces(folder)


def _share_pieces(folder):
    """Leaves one copy of the SentencePiece model in a SavedModel.

    TensorFlow writes a resource with its attributes twice: as a node that a session
    runs, and as a function that `tf.saved_model.load` calls. This makes the node call
    the function.
    """
    from tensorflow.core.protobuf import saved_model_pb2

    path = folder / "saved_model.pb"
    saved = saved_model_pb2.SavedModel.FromString(path.read_bytes())
    graph = saved.meta_graphs[0].graph_def
    makers = {
        node.attr["model"].s: function.signature
        for function in graph.library.function
        for node in function.node_def
        if node.op == "SentencepieceOp"
    }
    for node in graph.node:
        if node.op == "SentencepieceOp":
            maker = makers[node.attr["model"].s]
            # Only such a function can replace the node.
            assert not maker.input_arg and len(maker.output_arg) == 1, maker
            node.op = "StatefulPartitionedCall"
            node.attr.clear()
            node.attr["f"].func.name = maker.name
            node.attr["Tin"].list.SetInParent()
            node.attr["Tout"].list.type.extend(arg.type for arg in maker.output_arg)
    path.write_bytes(saved.SerializeToString(deterministic=True))
    # It belongs to the previous file, and is optional.
    (folder / "fingerprint.pb").unlink(missing_ok=True)


def _calling(function):
    return lambda *texts: function(*texts)


def _metadata(signatures, name, preset):
    import tensorflow as tf
    import tensorflow_text

    model = signatures.model
    return {
        "name": name,
        "preset": preset,
        "task": signatures.task_name,
        "architecture": type(model).__name__,
        "parameters": model.count_params(),
        "dtype": model.backbone.dtype_policy.name,
        "quantize": _quantized(model),
        "limits": signatures.limits_used(),
        "signatures": {name: list(keys) for name, keys in signatures.inputs.items()},
        "serving_default": signatures.default,
        "packages": {
            "zoo": zoo.__version__,
            "keras": keras.__version__,
            "tensorflow": tf.__version__,
            "tensorflow-text": tensorflow_text.__version__,
        },
    }


def _quantized(model):
    dtypes = {keras.backend.standardize_dtype(v.dtype) for v in model.variables}
    return "int8" if "int8" in dtypes else None
