"""The signatures of an exported version, by ONNX or TensorFlow.

They are functions of texts, a captioner's of the contents of image files.
"""

import contextlib
import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from zoo.decoding.captions import search_images
from zoo.decoding.forced import align_ids, score_ids
from zoo.decoding.translation import search_ids
from zoo.files import StrPath
from zoo.images import MAX_PIXELS, check_shape, count_pixels, decode_image
from zoo.runtime import onnx
from zoo.serving.folder import SERVED_GRAPHS
from zoo.serving.manifest import MANIFEST
from zoo.serving.warmup import warmup_inputs

DEFAULT = "serving_default"  # TensorFlow's name for the first signature
BEAM_SIZE = 5  # of a folder of ONNX graphs, which sets no limits
_NO_SCORE = -1e9  # of a missing hypothesis, as in a SavedModel

Inputs = dict[str, list[Any]]  # texts, or bytes
Rows = Mapping[str, Sequence[Any]]


class Refusal(Exception):
    """A request that is not answered.

    Args:
        code: gRPC's name of the error, such as "NOT_FOUND".
        message: what the client is told.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Signature(NamedTuple):
    """A function of a served model.

    Attributes:
        run: function of inputs that returns outputs with as many rows.
        inputs: the names of its inputs, each a vector of texts, or of bytes if it
            `takes_bytes`.
        outputs: output name -> its kind, "text" or "number", and its rank.
    """

    run: Callable[[Inputs], Rows]
    inputs: tuple[str, ...]
    outputs: dict[str, tuple[str, int]]


def load_version(folder: StrPath, threads: int = 1) -> dict[str, Signature]:
    """Loads an exported version.

    Args:
        folder: the version's folder, as `zoo export` writes it in either format.
        threads: threads that one operation may use.

    Returns:
        Its signatures by name, `serving_default` being one of them.

    Raises:
        ValueError: if the folder holds no model, a damaged one, or an ONNX export of
            another task than translation and captioning.
        ImportError: without onnxruntime, for a captioner without Pillow, or for a
            SavedModel without TensorFlow and tensorflow_text.
    """
    folder = Path(folder)
    if (folder / MANIFEST).is_file():
        model = onnx.load(folder, threads, workers=1)  # Ray has replicas
        if model.task_name not in SERVED_GRAPHS:
            raise ValueError(
                "translators and captioners are served; export language models, "
                "taggers and classifiers as SavedModels instead. Received: an ONNX "
                f"export, {folder} ({model.task_name})"
            )
        if model.task_name == "caption":
            return captioner_signatures(model)
        return translator_signatures(model)
    if (folder / "saved_model.pb").is_file():
        return _saved_model_signatures(folder, threads)
    raise ValueError(
        f"{folder} should hold a model of `zoo export`, with {MANIFEST} or "
        "saved_model.pb in it"
    )


def stack(rows: Any, kind: str, rank: int) -> np.ndarray:
    """Returns the rows of an output as one array, padded with "" or 0.

    Args:
        rows: B values or arrays.
        kind: "text" for str as objects, "number" for float32.
        rank: the rank of the result.
    """
    arrays = [np.asarray(row, object if kind == "text" else "float32") for row in rows]
    shape = np.max([array.shape for array in arrays], axis=0, initial=0)
    sizes = [int(size) for size in np.broadcast_to(shape, rank - 1)]
    if kind == "text":
        result = np.full((len(arrays), *sizes), "", object)
    else:
        result = np.zeros((len(arrays), *sizes), "float32")
    for place, array in enumerate(arrays):
        part: Any = (place, *map(slice, array.shape))
        result[part] = array if array.ndim else array.item()
    return result


# === ONNX ===
def _signatures(model, beam_size, functions, names, details):
    """Returns the signatures of a model that writes by beam search.

    Args:
        model: the model.
        beam_size: the beam size.
        functions: of the best text, of several, of its alignment, and of scores.
        names: the default signature, the text in outputs, the inputs, those of scores.
        details: the outputs of `align` beyond the text and its score.
    """
    find, find_several, align, score = (functools.partial(f, model) for f in functions)
    default, written, inputs, pair = names
    best = {written: ("text", 1), "score": ("number", 1)}
    several = {f"{written}s": ("text", 2), "scores": ("number", 2)}
    run = functools.partial
    signatures = {
        default: Signature(run(find, beam_size), inputs, best),
        "greedy": Signature(run(find, 1), inputs, best),
        f"{default}_n_best": Signature(run(find_several, beam_size), inputs, several),
        "align": Signature(run(align, beam_size), inputs, {**best, **details}),
        "score": Signature(score, pair, {"log_probability": ("number", 1)}),
    }
    return {DEFAULT: signatures[default], **signatures}


def translator_signatures(
    model: Any, beam_size: int = BEAM_SIZE
) -> dict[str, Signature]:
    """Returns the signatures of a translator, those of `zoo.serving`'s SavedModels.

    Args:
        model: a `zoo.runtime.onnx.Translator`.
        beam_size: of `translate`, `align` and `translate_n_best`, which returns as many
            translations.
    """
    functions = _translate, _translate_n_best, _align, _score
    details = {"tokens": ("text", 2), "source_tokens": ("text", 2)}
    details["alignment"] = ("number", 3)
    names = "translate", "translation", ("text",), ("source", "target")
    return _signatures(model, beam_size, functions, names, details)


def _search(model, texts, beam_size, n_best=1):
    """Returns the source ids of each text, and its hypotheses: (ids, score)."""
    sources = model.preprocessor.encode(texts)
    search = model.engine.search(beam_size, n_best=n_best)
    return sources, search_ids(model, sources, search)


def _translate(model, beam_size, inputs):
    _, found = _search(model, inputs["text"], beam_size)
    return _best(model, "translation", found)


def _translate_n_best(model, n_best, inputs):
    sources, found = _search(model, inputs["text"], n_best, n_best)
    rows = zip(sources, found, strict=True)
    found = [best if source else best[:1] for source, best in rows]  # of nothing one
    return _several(model, "translations", found, n_best)


def _align(model, beam_size, inputs):
    sources, found = _search(model, inputs["text"], beam_size)
    ids = [best[0][0] for best in found]
    preprocessor = model.preprocessor
    return {
        **_best(model, "translation", found),
        "tokens": [preprocessor.pieces(row) for row in ids],
        "source_tokens": [preprocessor.pieces(row) for row in sources],
        "alignment": [weights[0] for weights in align_ids(model, sources, ids)],
    }


def _score(model, inputs):
    sources = model.preprocessor.encode(inputs["source"])
    if blank := [place for place, ids in enumerate(sources) if not ids]:
        raise Refusal(
            "INVALID_ARGUMENT",
            f"a source must not be blank, received {inputs['source'][blank[0]]!r}",
        )
    targets = model.preprocessor.encode_targets(inputs["target"])
    log_probs = score_ids(model, sources, targets)
    return {"log_probability": [float(row.sum()) for row in log_probs]}


def _best(model, name, found):
    """Returns the first text of each row of hypotheses, and its score."""
    return {
        name: model.preprocessor.decode([best[0][0] for best in found]),
        "score": [best[0][1] for best in found],
    }


def _several(model, name, found, n_best):
    """Returns the texts of each row of hypotheses, and their scores."""
    texts, scores = [], []
    for best in found:
        missing = n_best - len(best)
        written = model.preprocessor.decode([ids for ids, _ in best])
        texts.append([*written, *[""] * missing])
        scores.append([*[score for _, score in best], *[_NO_SCORE] * missing])
    return {name: texts, "scores": scores}


def captioner_signatures(
    model: Any, beam_size: int = BEAM_SIZE
) -> dict[str, Signature]:
    """Returns the signatures of a captioner, those of `zoo.serving`'s SavedModels.

    Args:
        model: a `zoo.runtime.onnx.Captioner`.
        beam_size: of `caption`, `align` and `caption_n_best`, which returns as many
            captions.

    Raises:
        ValueError: if its images are neither grey nor RGB.
        ImportError: without Pillow.
    """
    check_shape(model.preprocessor.image_shape)
    _images(model, next(warmup_inputs(["image_bytes"]))["image_bytes"])  # by Pillow
    functions = _caption, _caption_n_best, _align_captions, _score_captions
    details = {"tokens": ("text", 2), "alignment": ("number", 4)}
    names = "caption", "caption", ("image_bytes",), ("image_bytes", "caption")
    return _signatures(model, beam_size, functions, names, details)


def _search_images(model, contents, beam_size, n_best=1):
    """Returns the hypotheses of each image: (ids, score)."""
    search = model.engine.search(beam_size, n_best=n_best)
    longest = model.preprocessor.target_length
    return search_images(model, _images(model, contents), search, longest)


def _images(model, contents):
    """Returns the images in files as one array.

    All headers are looked at first, which takes no time: what would take long is
    refused, so that the batcher runs the other requests without it.
    """
    pixels = sum(_each(count_pixels, contents))
    if pixels > MAX_PIXELS:
        raise Refusal(
            "INVALID_ARGUMENT",
            f"the images of a request have at most {MAX_PIXELS:,} pixels, received "
            f"{pixels:,}",
        )
    images = np.zeros((len(contents), *model.preprocessor.image_shape), "uint8")
    for place, image in enumerate(_each(decode_image, contents)):
        # Scaled at once: as they are sent, 64 may take gigabytes.
        images[place : place + 1], _ = model.preprocessor.images(image)
    return images


def _each(function, contents):
    """Yields a function's result for each file; its ValueErrors are refusals."""
    for place, content in enumerate(contents):
        try:
            result = function(content)
        except ValueError as error:
            text = f"image_bytes[{place}]: {error}"
            raise Refusal("INVALID_ARGUMENT", text) from None
        yield result


def _caption(model, beam_size, inputs):
    found = _search_images(model, inputs["image_bytes"], beam_size)
    return _best(model, "caption", found)


def _caption_n_best(model, n_best, inputs):
    found = _search_images(model, inputs["image_bytes"], n_best, n_best)
    return _several(model, "captions", found, n_best)


def _align_captions(model, beam_size, inputs):
    images = _images(model, inputs["image_bytes"])
    records = model.caption(images, beam_size, return_details=True)
    return {
        "caption": [record.text for record in records],
        "score": [record.score for record in records],
        "tokens": [record.tokens for record in records],
        "alignment": [record.alignment for record in records],
    }


def _score_captions(model, inputs):
    images = _images(model, inputs["image_bytes"])
    return {"log_probability": model.score(images, inputs["caption"])}


# === SavedModel ===
def _saved_model_signatures(folder, threads):
    """Returns the signatures of a SavedModel, which have run once."""
    try:
        import tensorflow as tf
        import tensorflow_text  # noqa: F401  (its operations)
    except ModuleNotFoundError as error:
        raise ImportError(
            f"{folder} is a SavedModel, which needs {error.name}; `zoo export --format "
            "onnx` writes translators and captioners for which ONNX Runtime is enough",
            name=error.name,
        ) from None
    with contextlib.suppress(RuntimeError):  # once at work, it keeps its number
        tf.config.threading.set_intra_op_parallelism_threads(threads)
    loaded = tf.saved_model.load(str(folder))
    signatures = {}
    for name, function in loaded.signatures.items():
        outputs = {
            key: ("text" if spec.dtype == tf.string else "number", spec.shape.rank)
            for key, spec in function.structured_outputs.items()
        }
        inputs = tuple(sorted(function.structured_input_signature[1]))
        run = functools.partial(_run_saved, tf, loaded, function)
        signatures[name] = Signature(run, inputs, outputs)
        for given in warmup_inputs(inputs):
            run(given)
    return signatures


def _run_saved(tf, loaded, function, inputs):
    """Runs a function of the SavedModel `loaded`, which has to live as long."""
    tensors = {key: tf.constant(values, tf.string) for key, values in inputs.items()}
    try:
        outputs = function(**tensors)
    except tf.errors.InvalidArgumentError as error:
        raise Refusal("INVALID_ARGUMENT", error.message) from None
    return {key: _decoded(tensor.numpy()) for key, tensor in outputs.items()}


def _decoded(array):
    if array.dtype != object:
        return array
    texts = [text.decode("utf-8", "replace") for text in array.ravel()]
    result = np.empty(len(texts), object)
    result[:] = texts
    return result.reshape(array.shape)
