"""The signatures of an exported version, by ONNX Runtime or TensorFlow.

They are functions of texts, a captioner's of the contents of image files.
"""

import contextlib
import functools
from pathlib import Path

import numpy as np

from zoo.decoding import search_ids
from zoo.decoding.word_methods import score_rows
from zoo.files import StrPath
from zoo.images import MAX_PIXELS, count_pixels, decode_image
from zoo.serving.export.manifest import MANIFEST
from zoo.serving.export.warmup import warmup_inputs
from zoo.serving.protocol import DEFAULT, NO_SCORE, SIGNATURES
from zoo.serving.runtime import onnx
from zoo.serving.server.signatures import Signature, invalid
from zoo.text.rows import LONGEST

BEAM_SIZE = 5  # of a folder of ONNX graphs, which sets no limits


def load_version(folder: StrPath, threads: int = 1) -> dict[str, Signature]:
    """Loads the folder of an exported version, in either format.

    Args:
        folder: the folder.
        threads: threads that one operation may use.

    Returns:
        Its signatures by name, `serving_default` being one of them.

    Raises:
        ValueError: for no model, or a damaged one.
        ImportError: if a package is missing.
    """
    folder = Path(folder)
    if (folder / MANIFEST).is_file():
        return _graph_signatures(folder, threads)
    if (folder / "saved_model.pb").is_file():
        return _saved_model_signatures(folder, threads)
    raise ValueError(
        f"{folder} should hold a model of `zoo export`, with {MANIFEST} or "
        "saved_model.pb in it"
    )


# === ONNX ===
def _graph_signatures(folder, threads):
    model = onnx.load(folder, threads, workers=1)  # Ray has replicas
    runs = _READERS[model.task_name](model)
    specs = SIGNATURES[model.task_name]

    def signature(name, spec):
        def run(inputs):
            values = runs[name](*(inputs[key] for key in spec.inputs))
            return dict(zip(spec.outputs, values, strict=True))

        return Signature(run, spec.inputs, spec.kinds())

    found = {name: signature(name, spec) for name, spec in specs.items()}
    return {DEFAULT: next(iter(found.values())), **found}


# Each of the following returns functions by signature: of the inputs' values, to those
# of the outputs, both in the order of `SIGNATURES`.
def _language_model(model):
    def score(texts):
        return [score_rows(model, _cut(model.preprocessor.encode(texts)))]

    return {"generate": lambda texts: [model.generate(texts)], "score": score}


def _tagger(model):
    def tag(texts):
        tagged = model.tag(_cut(model.preprocessor.split(texts)))
        rows = [list(zip(*row, strict=True)) or [(), ()] for row in tagged]
        return [words for words, _ in rows], [tags for _, tags in rows]

    return {"tag": tag}


def _classifier(model):
    def classify(texts):
        records = model.classify(texts, return_details=True)
        shares = [list(record.probabilities.values()) for record in records]
        return [record.label for record in records], shares

    return {"classify": classify}


def _cut(rows):
    """Cuts rows to what `classify` reads, since one makes its whole batch as long."""
    return [row[:LONGEST] for row in rows]


class _Writer:
    """The signatures of a translator or a captioner."""

    def __init__(self, model):
        self.model, self.preprocessor = model, model.preprocessor
        self.captions = model.task_name == "caption"
        if self.captions:  # whether Pillow is here, and files fit the model
            self.read(next(warmup_inputs(["image_bytes"]))["image_bytes"])

    def functions(self):
        """Returns the functions by signature."""
        default, *_ = specs = SIGNATURES[self.model.task_name]
        fields = [*specs["align"].outputs][1:]
        return {
            default: functools.partial(self.best, BEAM_SIZE),
            "greedy": functools.partial(self.best, 1),
            f"{default}_n_best": functools.partial(self.several, *[BEAM_SIZE] * 2),
            "align": functools.partial(self.align, fields),
            "score": self.score,
        }

    def read(self, values):
        """Returns what the model's methods take: texts, or images as one array."""
        if not self.captions:
            return values
        images, pixels = [np.zeros((0, *self.preprocessor.image_shape), "uint8")], 0
        try:
            for place in range(len(values)):  # headers, which takes no time
                pixels += count_pixels(values[place])
            if pixels > MAX_PIXELS:
                text = f"the images of a request have at most {MAX_PIXELS:,} pixels"
                raise invalid(f"{text}, received {pixels:,}")
            for place in range(len(values)):
                # Scaled at once: as they are sent, 64 may take gigabytes.
                image = decode_image(values[place])
                images.append(self.preprocessor.images(image)[0])
        except ValueError as error:
            raise invalid(f"image_bytes[{place}]: {error}") from None
        return np.concatenate(images)

    def find(self, values, beam_size, n_best):
        """Returns the hypotheses of each row: (ids, score)."""
        search = self.model.search_class(beam_size, n_best=n_best)
        if self.captions:
            longest = self.preprocessor.target_length
            return search_ids(self.model, self.read(values), search, longest)
        sources = self.preprocessor.encode(values)
        rows = zip(sources, search_ids(self.model, sources, search), strict=True)
        return [best if source else best[:1] for source, best in rows]  # of nothing one

    def best(self, beam_size, values):
        """Returns the best text of each row, and its score."""
        texts, scores = self.several(beam_size, 1, values)
        return [text for (text,) in texts], [score for (score,) in scores]

    def several(self, beam_size, n_best, values):
        """Returns the best texts of each row, "" where there are no more; scores."""
        texts, scores = [], []
        for best in self.find(values, beam_size, n_best):
            missing = n_best - len(best)
            written = self.preprocessor.decode([ids for ids, _ in best])
            texts.append([*written, *[""] * missing])
            scores.append([*(score for _, score in best), *[NO_SCORE] * missing])
        return texts, scores

    def align(self, fields, values):
        """Returns the best text of each row, and further fields of its record."""
        write = self.model.caption if self.captions else self.model.translate
        records = write(self.read(values), beam_size=BEAM_SIZE, return_details=True)
        names = "text", *fields
        return [[getattr(record, name) for record in records] for name in names]

    def score(self, values, texts):
        """Returns the log-probability of each given text."""
        sources = self.read(values)
        try:
            return [self.model.score(sources, texts)]
        except ValueError as error:  # a blank source
            raise invalid(str(error)) from None


_READERS = {
    "translate": lambda model: _Writer(model).functions(),
    "caption": lambda model: _Writer(model).functions(),
    "generate": _language_model,
    "tag": _tagger,
    "classify": _classifier,
}


# === SavedModel ===
def _saved_model_signatures(folder, threads):
    """Returns the signatures of a SavedModel, which have run once."""
    try:
        import tensorflow as tf
        import tensorflow_text  # noqa: F401  (its operations)
    except ModuleNotFoundError as error:
        raise ImportError(
            f"{folder} is a SavedModel, which needs {error.name}", name=error.name
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
