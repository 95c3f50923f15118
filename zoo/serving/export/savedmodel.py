"""Exports a preset as a SavedModel for TensorFlow Serving: text in, text out."""

import json
from pathlib import Path
from typing import Any

import keras

from zoo.files import StrPath
from zoo.serving.export.export_folder import (
    EXTRA,
    METADATA,
    check_export,
    describe_task,
    write_version,
)
from zoo.serving.protocol import DEFAULT, SIGNATURES


def export_savedmodel(
    task: Any, path: StrPath, preset: str | None = None, **limits: Any
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
        preset: `zoo.presets.card.digest` of the preset that the task was loaded from,
            by which `zoo serve` recognizes it; None for no preset.
        **limits: of all requests:
            - `beam_size` (5) and `length_penalty` (1.0) of a translator or captioner;
              see `zoo.decoding.BeamSearch`. `…_n_best` returns the whole beam.
            - `max_length`: maximum output length of these and of a language model. Of
              a translator in pieces with the end token, by default twice the source's
              pieces plus 10; targets to score are cut to it too (by default to the
              preprocessor's `target_length`). Of a language model in words with the
              prompt, by default the preprocessor's `sequence_length`.

    Returns:
        The version's folder. Its `assets.extra/zoo.json` describes it; see
        `read_metadata`.

    Raises:
        TypeError: for a task that cannot be served.
        ValueError: for a limit that the task does not have, or out of range, or without
            a preprocessor.
        RuntimeError: under another backend; `zoo export` selects TensorFlow itself.
        ImportError: if a package is missing; the message names the extra.
    """
    check_export(task, "savedmodel")
    signatures = make_signatures(task, **limits)
    name = Path(path).name

    def write(part):
        _write(signatures, part)
        metadata = _metadata(task, signatures, name, preset)
        (part / EXTRA).mkdir()
        text = json.dumps(metadata, indent=2, ensure_ascii=False)
        (part / EXTRA / METADATA).write_text(f"{text}\n", encoding="utf-8")

    return write_version(path, write)


def make_signatures(task: Any, **limits: Any) -> Any:
    """Returns the signatures of a task, functions in a TensorFlow graph."""
    from zoo.serving.export import search_signatures, word_graphs

    kinds: dict[str, Any] = {
        "translate": search_signatures.TranslatorSignatures,
        "caption": search_signatures.CaptionerSignatures,
        "generate": word_graphs.LanguageModelSignatures,
        "tag": word_graphs.TaggerSignatures,
        "classify": word_graphs.ClassifierSignatures,
    }
    kind = kinds[task.task_name]
    if not limits.keys() <= set(kind.takes):
        raise ValueError(
            f"A {type(task).__name__} has the limits {list(kind.takes)}. "
            f"Received: {sorted(limits)}"
        )
    return kind(task, **limits)


def trace(signatures: Any, name: str) -> tuple[Any, list[Any]]:
    """Returns a signature as a concrete function, and the specs of its inputs."""
    import tensorflow as tf

    inputs = SIGNATURES[signatures.model.task_name][name].inputs
    specs = [tf.TensorSpec([None], tf.string, key) for key in inputs]
    function = tf.function(signatures.functions()[name], specs, autograph=False)
    return function.get_concrete_function(), specs


def _write(signatures, folder):
    """Writes the SavedModel of a task's signatures."""
    import tensorflow as tf

    archive = keras.export.ExportArchive()
    # Not the model: the variables that signatures read are found anyway, and would be
    # written twice.
    for resource in signatures.resources:
        archive.track(resource)
    names = list(signatures.functions())
    for name in names:
        # Traced once here, since the archive traces its endpoints several times.
        function, specs = trace(signatures, name)
        archive.add_endpoint(name, function, specs)
        if name == names[0]:
            archive.add_endpoint(DEFAULT, function, specs)
    # The custom gradients of `zoo.layers.fast_loops` would be saved too. Without them
    # `tf.saved_model.load` warns; serving does not need them.
    options = tf.saved_model.SaveOptions(experimental_custom_gradients=False)
    archive.write_out(str(folder), options=options, verbose=False)


def _metadata(task, signatures, name, preset):
    specs = SIGNATURES[task.task_name]
    return {
        **describe_task(task, name, preset),
        "dtype": task.backbone.dtype_policy.name,
        "limits": signatures.limits,
        "signatures": {name: list(spec.inputs) for name, spec in specs.items()},
        "serving_default": next(iter(specs)),
    }
