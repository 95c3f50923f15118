"""The signatures of an exported version, by ONNX Runtime or TensorFlow.

They are functions of texts, a captioner's of the contents of image files.
"""

import contextlib
import functools
from pathlib import Path

import numpy as np

from zoo.decoding import search_ids
from zoo.files import StrPath
from zoo.images import MAX_PIXELS, check_shape, count_pixels, decode_image
from zoo.serving.export.manifest import MANIFEST
from zoo.serving.export.warmup import warmup_inputs
from zoo.serving.protocol import (
    DEFAULT,
    NO_SCORE,
    SERVED_GRAPHS,
    SIGNATURES,
)
from zoo.serving.runtime import onnx
from zoo.serving.server.signatures import Inputs, Rows, Signature, invalid

BEAM_SIZE = 5  # of a folder of ONNX graphs, which sets no limits


def load_version(folder: StrPath, threads: int = 1) -> dict[str, Signature]:
    """Loads the folder of an exported version, in either format.

    Args:
        folder: the folder.
        threads: threads that one operation may use.

    Returns:
        Its signatures by name, `serving_default` being one of them.

    Raises:
        ValueError: for no model, a damaged one, or an ONNX export of another task than
            translation and captioning.
        ImportError: if a package is missing.
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


# === ONNX ===
class _Translator:
    """The signatures of a translator of ONNX graphs, those of a SavedModel's."""

    def __init__(self, model):
        self.model, self.specs = model, SIGNATURES[model.task_name]
        self.default = next(iter(self.specs))
        (self.source,), best = self.specs[self.default]
        self.written = next(iter(best))

    def signatures(self):
        """Returns the signatures by name."""
        runs = {
            self.default: functools.partial(self.best, BEAM_SIZE),
            "greedy": functools.partial(self.best, 1),
            f"{self.default}_n_best": self.several,
            "align": self.align,
            "score": self.score,
        }
        found = {
            name: Signature(runs[name], spec.inputs, spec.kinds())
            for name, spec in self.specs.items()
        }
        return {DEFAULT: found[self.default], **found}

    def read(self, values):
        """Returns what the model's own methods read."""
        return values

    def find(self, values, beam_size, n_best):
        """Returns the hypotheses of each row: (ids, score)."""
        sources = self.model.preprocessor.encode(values)
        search = self.model.search_class(beam_size, n_best=n_best)
        rows = zip(sources, search_ids(self.model, sources, search), strict=True)
        return [best if source else best[:1] for source, best in rows]  # of nothing one

    def best(self, beam_size: int, inputs: Inputs) -> Rows:
        """Returns the best text of each row, and its score."""
        found = [best for best, *_ in self.find(inputs[self.source], beam_size, 1)]
        texts = self.model.preprocessor.decode([ids for ids, _ in found])
        return {self.written: texts, "score": [score for _, score in found]}

    def several(self, inputs: Inputs) -> Rows:
        """Returns the best texts of each row, as many as the beam has, and scores."""
        texts, scores = [], []
        for best in self.find(inputs[self.source], BEAM_SIZE, BEAM_SIZE):
            missing, (ids, found) = BEAM_SIZE - len(best), zip(*best, strict=True)
            written = self.model.preprocessor.decode(ids)
            texts.append([*written, *[""] * missing])
            scores.append([*found, *[NO_SCORE] * missing])
        return {f"{self.written}s": texts, "scores": scores}

    def align(self, inputs: Inputs) -> Rows:
        """Returns the best text of each row with its attention weights."""
        write = getattr(self.model, self.default)
        source = self.read(inputs[self.source])
        records = write(source, beam_size=BEAM_SIZE, return_details=True)
        names = dict.fromkeys(self.specs["align"].outputs) | {self.written: "text"}
        return {
            name: [getattr(record, field or name) for record in records]
            for name, field in names.items()
        }

    def score(self, inputs: Inputs) -> Rows:
        """Returns the log-probability of each given text."""
        source, written = (inputs[name] for name in self.specs["score"].inputs)
        self.check(source)
        return {"log_probability": self.model.score(self.read(source), written)}

    def check(self, sources):
        """Refuses what `score` cannot read."""
        rows = self.model.preprocessor.encode(sources)
        for text, ids in zip(sources, rows, strict=True):
            if not ids:
                raise invalid(f"a source must not be blank, received {text!r}")


class _Captioner(_Translator):
    """The signatures of a captioner of ONNX graphs."""

    def __init__(self, model):
        super().__init__(model)
        check_shape(model.preprocessor.image_shape)
        self.read(next(warmup_inputs(["image_bytes"]))["image_bytes"])  # by Pillow

    def find(self, values, beam_size, n_best):
        search = self.model.search_class(beam_size, n_best=n_best)
        longest = self.model.preprocessor.target_length
        return search_ids(self.model, self.read(values), search, longest)

    def check(self, sources):
        """`read` refuses what is no image."""

    def read(self, values):
        """Returns the images in files as one array.

        All headers are looked at first, which takes no time: what would take long is
        refused, so that the other requests run without it.
        """
        pixels = sum(_each(count_pixels, values))
        if pixels > MAX_PIXELS:
            raise invalid(
                f"the images of a request have at most {MAX_PIXELS:,} pixels, received "
                f"{pixels:,}"
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
            raise invalid(f"image_bytes[{place}]: {error}") from None
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
        raise invalid(error.message) from None
    decode = np.vectorize(lambda text: text.decode("utf-8", "replace"), otypes=[object])
    arrays = {key: tensor.numpy() for key, tensor in outputs.items()}
    return {
        key: decode(array) if array.dtype == object else array
        for key, array in arrays.items()
    }
