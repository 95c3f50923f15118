"""Exports a preset as a SavedModel for TensorFlow Serving: text in, text out."""

from pathlib import Path
from typing import Any

import keras

from zoo.files import StrPath
from zoo.serving.export.manifest import check_export, write_export
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
        task: a task of `zoo.models`, with its preprocessor, under the TensorFlow
            backend. A language model is greedy.
        path: the model's folder.
        preset: `zoo.presets.card.digest` of the preset that the task was loaded from,
            by which `zoo serve` recognizes it; None for no preset.
        **limits: of all requests. A translator or captioner takes `beam_size` (5),
            which `…_n_best` returns whole, and `length_penalty` (1.0); see
            `zoo.decoding.BeamSearch`. Their `max_length` is the maximum output length
            in pieces with the end token, by default a captioner's `target_length`, or
            twice the source's pieces plus 10; targets to score are cut to it too (by
            default to `target_length`). A language model takes `max_length`, in words
            with the prompt, by default the preprocessor's `sequence_length`.

    Returns:
        The version's folder. Its `manifest.json` describes it; see `read_manifest`.

    Raises:
        TypeError: for what is no task.
        ValueError: for a limit that the task does not have, or out of range, or without
            a preprocessor.
        RuntimeError: under another backend; `zoo export` selects TensorFlow itself.
        ImportError: if a package is missing; the message names the extra.
    """
    check_export(task, "savedmodel")
    signatures = make_signatures(task, **limits)

    def write(part):
        _write(signatures, part)
        return {"limits": limits}

    return write_export(task, "savedmodel", path, preset, write)


def make_signatures(task: Any, **limits: Any) -> Any:
    """Returns the signatures of a task, functions in a TensorFlow graph."""
    from zoo.serving.export import search_signatures, word_signatures

    kind: Any = {
        "translate": search_signatures.TranslatorSignatures,
        "caption": search_signatures.CaptionerSignatures,
        "generate": word_signatures.LanguageModelSignatures,
        "tag": word_signatures.TaggerSignatures,
        "classify": word_signatures.ClassifierSignatures,
    }[task.task_name]
    if not limits.keys() <= {*kind.takes}:
        raise ValueError(
            f"A {type(task).__name__} takes the limits {[*kind.takes]}. "
            f"Received: {[*limits]}"
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
