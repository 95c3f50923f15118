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
from zoo.decoding.batch_decoding import BatchDecoder, in_threads
from zoo.decoding.translating import Captioning, Translating
from zoo.decoding.word_methods import Classifying, Scoring, Tagging
from zoo.files import StrPath
from zoo.ids import END_ID
from zoo.serving.export.manifest import MANIFEST, TOKENIZER, newest, read_version
from zoo.serving.runtime.arrays import ArraySearch, log_sum_exp, trim
from zoo.serving.runtime.exported_text import (
    ImagesPreprocessor,
    Pieces,
    PiecesPreprocessor,
    PromptPreprocessor,
    TaggingPreprocessor,
    Words,
    WordsPreprocessor,
)
from zoo.serving.runtime.onnx_sessions import (
    Arrays,
    Graphs,
    OnnxGraph,
    StepGraphs,
)
from zoo.strings import check_texts
from zoo.text.vocabulary import TAGGER_FILE, WORDS_FILE

__all__ = ["Captioner", "Classifier", "LanguageModel", "Tagger", "Translator", "load"]


def load(path: StrPath, threads: int = 1, workers: int | None = None) -> Any:
    """Loads an exported model.

    Args:
        path: a version's folder, such as `exports/onnx/luong_local/1`, or that of the
            model, whose newest version is taken.
        threads: threads that one operation may use. One is fastest for models of the
            bundled presets' size, whose products are too small for more.
        workers: batches that a translator or captioner reads at a time, each in a
            thread. Default: one for each core that the process may use, shared out
            between `threads`.

    Returns:
        A `Translator`, `LanguageModel`, `Tagger`, `Classifier` or `Captioner`, by the
        task of the exported model.

    Raises:
        ValueError: for a folder that zoo didn't write, whose files are missing, cut
            short or altered, or whose format or task this version doesn't know.
        ImportError: without onnxruntime.

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
        graphs = {
            name: OnnxGraph(files[f"{name}.onnx"], described, threads)
            for name, described in manifest["graphs"].items()
        }
        model = _TASKS[manifest["task"]](graphs, files, manifest)
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"{version / MANIFEST} is damaged: {error}") from error
    if isinstance(model, (Translator, Captioner)):
        model.map_batches = functools.partial(in_threads, workers)
    return model


# === Translators and captioners ===
class _GraphDecoder(BatchDecoder):
    search_class = ArraySearch

    def label_log_probs(
        self, source: np.ndarray, target_ids: np.ndarray, labels: np.ndarray
    ) -> list[np.ndarray]:
        """See `KerasDecoder.label_log_probs`."""
        found = np.zeros(labels.shape, "float32")
        source, target_ids = _without_padding(source, target_ids)
        rows = np.arange(len(source))
        for t, (logits, *_) in enumerate(self.backbone.read(source, target_ids)):
            gold = logits[rows, labels[: len(source), t]]
            found[rows, t] = gold - log_sum_exp(logits)
        return [found]

    def target_alignments(
        self, source: np.ndarray, target_ids: np.ndarray, labels: np.ndarray
    ) -> list[np.ndarray]:
        """See `KerasDecoder.target_alignments`."""
        source, target_ids = _without_padding(source, target_ids)
        weights, hidden, window_state = [], [], self.backbone.window_state
        for _, attention, state in self.backbone.read(source, target_ids):
            weights.append(attention)
            if window_state:
                hidden.append(state[window_state])
        results = [np.stack(weights, axis=1)]
        if window_state:
            results += self.backbone.windows(np.stack(hidden, axis=1), source)
        return results


def _without_padding(source, target_ids):
    """Leaves out what fills a batch up: zeros in ids, further images."""
    source, target_ids = trim(source), trim(target_ids)
    rows = min(len(source), len(target_ids))
    return source[:rows], target_ids[:rows]


class Translator(_GraphDecoder, Translating):
    """A translator without Keras, from `load`.

    It has the text methods of a `zoo.models.Translator`, `translate`, `score`, `align`
    and `perplexity`, with their arguments, defaults and results.
    """

    task_name = "translate"

    def __init__(self, graphs: Any, files: Any, manifest: Any) -> None:
        pieces = Pieces(files[TOKENIZER])
        self.backbone = Graphs(graphs, manifest.get("window_state"))
        self.preprocessor = PiecesPreprocessor(pieces, **manifest["settings"])


class Captioner(_GraphDecoder, Captioning):
    """A captioner without Keras, from `load`.

    `caption`, `score` and `align` are those of a `zoo.models.ShowAttendTellCaptioner`,
    with their arguments, defaults and results. Image files, and images of another size
    than the model's, need Pillow.
    """

    task_name = "caption"

    def __init__(self, graphs: Any, files: Any, manifest: Any) -> None:
        pieces, image = Pieces(files[TOKENIZER]), manifest["image"]
        self.backbone = Graphs(graphs, grid=image["grid"])
        self.preprocessor = ImagesPreprocessor(
            pieces, tuple(image["shape"]), **manifest["settings"]
        )


# === Language models ===
class LanguageModel(Scoring):
    """A language model without Keras, from `load`.

    `score` and `perplexity` are those of a `zoo.models.RecurrentCausalLM`, and so is
    `generate` with its greedy sampler.
    """

    task_name = "generate"

    def __init__(self, graphs: Any, files: Any, manifest: Any) -> None:
        settings = manifest["settings"]
        words = Words(files[WORDS_FILE], settings["lowercase"])
        self.backbone = StepGraphs(graphs, settings["cell"])
        self.preprocessor = PromptPreprocessor(words, settings["sequence_length"])

    def segment(
        self, inputs: np.ndarray, labels: np.ndarray, states: Any = None
    ) -> tuple[np.ndarray, Any]:
        """See `zoo.models.RecurrentCausalLM.segment`."""
        graph = self.backbone.graphs["read"]
        if states is None:
            states = {
                tensor["name"]: np.zeros(
                    (len(inputs), *tensor["shape"][1:]), tensor["dtype"]
                )
                for tensor in graph.described["inputs"][2:]
            }
        outputs = graph({"token_ids": inputs, "labels": labels, **states})
        return outputs["sums"], {name: outputs[f"new_{name}"] for name in states}

    def generate(
        self, texts: Any, max_length: int | None = None, batch_size: int = 64
    ) -> Any:
        """Continues texts, with the most probable word at each step.

        Args:
            texts: a str, or a list of str. "" starts a text. One that leaves no room
                within `max_length` is cut, with a warning.
            max_length: maximum words of a result plus one. Default: the preset's.
            batch_size: texts continued together. It never changes a result.

        Returns:
            The text with its continuation: a str for a str, a list for a list.

        Raises:
            TypeError: for a text that is not a str; the message gives its position.
            ValueError: for a `max_length` below 2, or a batch size below 1.
        """
        positive("batch_size", batch_size)
        prompts = self.preprocessor.prompts(check_texts(texts), max_length)
        written = []
        for first in range(0, len(prompts["token_ids"]), batch_size):
            part = slice(first, first + batch_size)
            ids, mask = (prompts[x][part] for x in ("token_ids", "padding_mask"))
            rows = self._continue(ids, mask)
            written += [self.preprocessor.written(*row) for row in rows]
        return written[0] if isinstance(texts, str) else written

    def _continue(self, ids, given):
        """Fills `(B, T)` ids up where they are not given; yields rows and their masks.

        A row ends with its first end token that is not given.
        """
        (rows, length), ids = ids.shape, ids.copy()
        state = self.backbone.begin(length, {"batch": np.array(rows, "int32")})
        for place in range(1, length):
            outputs, state = self.backbone.advance(ids[:, place - 1], state, {})
            words = outputs["logits"].argmax(-1)
            ids[:, place] = np.where(given[:, place], ids[:, place], words)
            ended = ~given[:, : place + 1] & (ids[:, : place + 1] == END_ID)
            if ended.any(axis=1).all():
                break
        ended = np.cumsum(~given & (ids == END_ID), axis=1) > 0
        return zip(ids.tolist(), (~ended).tolist(), strict=True)


# === Taggers and classifiers ===
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
        words = Words(files[WORDS_FILE], settings["lowercase"])
        self.preprocessor = WordsPreprocessor(words)


_TASKS: dict[str, Any] = {
    cls.task_name: cls
    for cls in (Translator, LanguageModel, Tagger, Classifier, Captioner)
}
