"""Runs the folders of `zoo export --format onnx` by ONNX Runtime, without Keras.

    translator = zoo.serving.runtime.onnx.load("exports/onnx/luong_local")
    translator.translate("A dog runs.")

It needs onnxruntime, sentencepiece, regex, lazy-loader and NumPy: neither Keras nor one
of its backends.
"""

import functools
from types import SimpleNamespace
from typing import Any

import numpy as np

from zoo.backend import usable_cores
from zoo.checks import positive
from zoo.decoding.batch_decoding import in_threads
from zoo.decoding.translating import Translating
from zoo.decoding.word_methods import Classifying, Tagging
from zoo.files import StrPath
from zoo.serving.export.manifest import (
    CTRANSLATE2,
    MANIFEST,
    TOKENIZER,
    newest,
    read_version,
)
from zoo.serving.runtime import ctranslate2
from zoo.serving.runtime.arrays import (
    Arrays,
    ArraySearch,
    Graphs,
    OnnxGraph,
    log_sum_exp,
)
from zoo.serving.runtime.pieces import Pieces, PiecesPreprocessor
from zoo.text.vocabulary import (
    TAGGER_FILE,
    WORDS_FILE,
    TaggingText,
    WordText,
    WordVocabulary,
)

__all__ = ["Classifier", "Tagger", "Translator", "load"]


def load(path: StrPath, threads: int = 1, workers: int | None = None) -> Any:
    """Loads an exported model: ONNX graphs, or a Transformer of CTranslate2.

    Args:
        path: a version's folder, such as `exports/onnx/luong_local/1`, or that of the
            model, whose newest version is taken.
        threads: threads that one operation may use. One is fastest for models of the
            bundled presets' size, whose products are too small for more.
        workers: batches that a translator reads at a time, each in a thread. Default:
            one for each core that the process may use, shared out between `threads`.

    Returns:
        A `Translator`, `Tagger` or `Classifier`, by the task of the exported model.

    Raises:
        ValueError: for a folder that zoo didn't write, whose files are missing, cut
            short or altered, or whose format or task this version doesn't know.
        ImportError: without onnxruntime, or ctranslate2.

    Example:
        ```python
        translator = zoo.serving.runtime.onnx.load("exports/onnx/luong_local")
        translator.translate("A dog runs.", beam_size=5, n_best=3)
        ```
    """
    positive("threads", threads)
    if workers is None:
        workers = max(1, usable_cores() // threads)
    positive("workers", workers)
    version = newest(path)
    try:
        manifest, files = read_version(version)
        if manifest["task"] not in _TASKS:
            raise ValueError(
                f"{version} should hold a model of the tasks {list(_TASKS)}. "
                f"Received: {manifest['task']!r}"
            )
        if manifest["format"] == CTRANSLATE2:
            model: Any = ctranslate2.Translator(files, manifest, threads, workers)
        else:
            graphs = {
                name: OnnxGraph(files[f"{name}.onnx"], threads)
                for name in manifest["graphs"]
            }
            model = _TASKS[manifest["task"]](graphs, files, manifest)
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"{version / MANIFEST} is damaged: {error}") from error
    if manifest["task"] == "translate":
        model.map_batches = functools.partial(in_threads, workers)
    return model


# === Translators ===
class Translator(Translating):
    """A translator without Keras, from `load`.

    It has the text methods of a `zoo.models.Translator`, `translate`, `score`, `align`
    and `perplexity`, with their arguments, defaults and results, but for the p_t and
    windows of local attention.
    """

    task_name = "translate"
    search_class = ArraySearch

    def __init__(self, graphs: Any, files: Any, manifest: Any) -> None:
        pieces = Pieces(files[TOKENIZER])
        self.backbone = Graphs(graphs)
        self.preprocessor = PiecesPreprocessor(pieces, **manifest["settings"])

    def label_log_probs(
        self, source: np.ndarray, target_ids: np.ndarray, labels: np.ndarray
    ) -> list[np.ndarray]:
        """See `KerasDecoder.label_log_probs`."""
        found = np.zeros(labels.shape, "float32")
        for t, (logits, _) in enumerate(self.backbone.read(source, target_ids)):
            rows = np.arange(len(logits))
            gold = logits[rows, labels[: len(logits), t]]
            found[rows, t] = gold - log_sum_exp(logits)[..., 0]
        return [found]

    def target_alignments(
        self, source: np.ndarray, target_ids: np.ndarray, labels: np.ndarray
    ) -> list[np.ndarray]:
        """See `KerasDecoder.target_alignments`; without the windows of attention."""
        steps = self.backbone.read(source, target_ids)
        return [np.stack([weights for _, weights in steps], axis=1)]


# === Taggers and classifiers ===
class WordsPreprocessor(WordText):
    """A `zoo.text.SentimentPreprocessor` for classification alone."""

    def __init__(self, content: bytes, lowercase: bool) -> None:
        self.tokenizer = WordVocabulary()
        self.tokenizer.lowercase = lowercase
        self.tokenizer.read_vocabulary(content)


class TaggingPreprocessor(TaggingText):
    """A `zoo.text.TaggerPreprocessor` for tagging alone."""

    def __init__(self, content: bytes, word_length: int) -> None:
        self.word_length = word_length
        self.read_vocabularies(content)


class _Labeller:
    """A task whose one graph is named for it."""

    task_name: str
    graph: OnnxGraph

    def logits(self, inputs: Arrays) -> np.ndarray:
        """Returns the logits of the preprocessor's arrays."""
        return self.graph(inputs)["logits"]


class Tagger(_Labeller, Tagging):
    """A tagger without Keras, from `load`.

    `tag` is that of a `zoo.models.BiRNNTagger`.
    """

    task_name = "tag"

    def __init__(self, graphs: Any, files: Any, manifest: Any) -> None:
        self.graph, settings = graphs["tag"], manifest["settings"]
        self.preprocessor = TaggingPreprocessor(files[TAGGER_FILE], **settings)


class Classifier(_Labeller, Classifying):
    """A classifier without Keras, from `load`.

    `classify` is that of a `zoo.models.SentimentClassifier`.
    """

    task_name = "classify"

    def __init__(self, graphs: Any, files: Any, manifest: Any) -> None:
        self.graph, settings = graphs["classify"], manifest["settings"]
        self.backbone = SimpleNamespace(classes=settings["classes"])
        words = files[WORDS_FILE], settings["lowercase"]
        self.preprocessor = WordsPreprocessor(*words)


_TASKS: dict[str, Any] = {x.task_name: x for x in (Translator, Tagger, Classifier)}
