"""The signatures of an exported version, by ONNX or TensorFlow.

They are functions of texts, a captioner's of the contents of image files.
"""

import contextlib
import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from zoo.decoding.captioning import search_images
from zoo.decoding.translate_texts import search_ids
from zoo.files import StrPath
from zoo.images import MAX_PIXELS, check_shape, count_pixels, decode_image
from zoo.serving.export.export_folder import SERVED_GRAPHS
from zoo.serving.export.manifest import MANIFEST
from zoo.serving.export.warmup import warmup_inputs
from zoo.serving.runtime import onnx

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
        kind = _Captioner if model.task_name == "caption" else _Translator
        return kind(model).signatures()
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
class _Writer:
    """The signatures of a model of ONNX graphs that writes by beam search.

    Args:
        model: a `zoo.serving.runtime.onnx.Translator` or `Captioner`.
    """

    default: str  # the name of the first signature, and of the model's method
    written: str  # the text in the outputs
    source: str  # the name of what is read
    pair: tuple[str, str]  # the inputs of `score`
    details: dict[str, tuple[str, int]]  # outputs of `align` beyond the best text

    def __init__(self, model: Any) -> None:
        self.model = model

    def signatures(self) -> dict[str, Signature]:
        """Returns the signatures, those of `zoo.serving`'s SavedModels."""
        best = {self.written: ("text", 1), "score": ("number", 1)}
        several = {f"{self.written}s": ("text", 2), "scores": ("number", 2)}
        given = (self.source,)
        find = functools.partial(self.best, BEAM_SIZE)
        greedy = functools.partial(self.best, 1)
        scores = {"log_probability": ("number", 1)}
        first = Signature(find, given, best)
        return {
            DEFAULT: first,
            self.default: first,
            "greedy": Signature(greedy, given, best),
            f"{self.default}_n_best": Signature(self.several, given, several),
            "align": Signature(self.align, given, {**best, **self.details}),
            "score": Signature(self.score, self.pair, scores),
        }

    def read(self, values: list[Any]) -> Any:
        """Returns what the model reads."""
        return values

    def find(self, values: list[Any], beam_size: int, n_best: int) -> list[Any]:
        """Returns the hypotheses of each row: (ids, score)."""
        raise NotImplementedError

    def best(self, beam_size: int, inputs: Inputs) -> Rows:
        """Returns the best text of each row, and its score."""
        found = self.find(inputs[self.source], beam_size, 1)
        ids, scores = (
            zip(*(best[0] for best in found), strict=True) if found else ((), ())
        )
        return {self.written: self.model.preprocessor.decode(ids), "score": scores}

    def several(self, inputs: Inputs) -> Rows:
        """Returns the best texts of each row, as many as the beam has, and scores."""
        texts, scores = [], []
        for best in self.find(inputs[self.source], BEAM_SIZE, BEAM_SIZE):
            missing = BEAM_SIZE - len(best)
            written = self.model.preprocessor.decode([ids for ids, _ in best])
            texts.append([*written, *[""] * missing])
            scores.append([*[score for _, score in best], *[_NO_SCORE] * missing])
        return {f"{self.written}s": texts, "scores": scores}

    def align(self, inputs: Inputs) -> Rows:
        """Returns the best text of each row with its attention weights."""
        read = self.read(inputs[self.source])
        write = getattr(self.model, self.default)
        records = write(read, beam_size=BEAM_SIZE, return_details=True)
        return {
            self.written: [record.text for record in records],
            "score": [record.score for record in records],
            **{name: [getattr(x, name) for x in records] for name in self.details},
        }

    def score(self, inputs: Inputs) -> Rows:
        """Returns the log-probability of each given text."""
        source, written = (inputs[name] for name in self.pair)
        return {"log_probability": self.model.score(self.read(source), written)}


class _Translator(_Writer):
    default, written, source = "translate", "translation", "text"
    pair = "source", "target"
    details = {
        "tokens": ("text", 2),
        "source_tokens": ("text", 2),
        "alignment": ("number", 3),
    }

    def find(self, values, beam_size, n_best):
        sources = self.model.preprocessor.encode(values)
        search = self.model.engine.search(beam_size, n_best=n_best)
        rows = zip(sources, search_ids(self.model, sources, search), strict=True)
        return [best if source else best[:1] for source, best in rows]  # of nothing one

    def score(self, inputs):
        sources = inputs["source"]
        for text, ids in zip(
            sources, self.model.preprocessor.encode(sources), strict=True
        ):
            if not ids:
                raise Refusal(
                    "INVALID_ARGUMENT", f"a source must not be blank, received {text!r}"
                )
        return super().score(inputs)


class _Captioner(_Writer):
    default, written, source = "caption", "caption", "image_bytes"
    pair = "image_bytes", "caption"
    details = {"tokens": ("text", 2), "alignment": ("number", 4)}

    def __init__(self, model):
        super().__init__(model)
        check_shape(model.preprocessor.image_shape)
        self.read(next(warmup_inputs(["image_bytes"]))["image_bytes"])  # by Pillow

    def find(self, values, beam_size, n_best):
        search = self.model.engine.search(beam_size, n_best=n_best)
        longest = self.model.preprocessor.target_length
        return search_images(self.model, self.read(values), search, longest)

    def read(self, values):
        """Returns the images in files as one array.

        All headers are looked at first, which takes no time: what would take long is
        refused, so that the other requests run without it.
        """
        pixels = sum(_each(count_pixels, values))
        if pixels > MAX_PIXELS:
            raise Refusal(
                "INVALID_ARGUMENT",
                f"the images of a request have at most {MAX_PIXELS:,} pixels, received "
                f"{pixels:,}",
            )
        shape = self.model.preprocessor.image_shape
        images = np.zeros((len(values), *shape), "uint8")
        for place, image in enumerate(_each(decode_image, values)):
            # Scaled at once: as they are sent, 64 may take gigabytes.
            images[place : place + 1], _ = self.model.preprocessor.images(image)
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
