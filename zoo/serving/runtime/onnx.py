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
from zoo.checks import above_zero, positive
from zoo.decoding.batch_decoding import BatchDecoder, in_threads
from zoo.decoding.translating import Captioning, Translating
from zoo.decoding.word_methods import Classifying, Scoring, Tagging, softmax
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
from zoo.text.vocabulary import WORDS_FILE
from zoo.text.word_splitting import TAGGER_FILE

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
    `generate`, but for the draws: those of Keras depend on its backend.
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
        self,
        texts: str | list[str],
        max_length: int | None = None,
        batch_size: int = 64,
        top_k: int | None = None,
        top_p: float | None = None,
        temperature: float | None = None,
        seed: Any = None,
    ) -> Any:
        """Continues texts, each with the most probable word at each step, or a draw.

        With `top_k`, `top_p` or `temperature` words are drawn from their probabilities,
        as by KerasHub's `TopKSampler`, `TopPSampler` and `RandomSampler`.

        Args:
            texts: a str, or a list of str. "" starts a text. One that leaves no room
                within `max_length` is cut, with a warning.
            max_length: maximum words of a result plus one. Default: the preset's.
            batch_size: texts continued together. It never changes a result.
            top_k: draw from so many most probable words.
            top_p: draw from the fewest most probable words whose probabilities sum to
                more than this. With `top_k` too, of those.
            temperature: divisor of the logits before. Default 1.
            seed: of the draws, an int, or a `numpy.random.Generator`, which goes on
                from call to call. Default: other draws each time.

        Returns:
            The text with its continuation: a str for a str, a list for a list.

        Raises:
            TypeError: for a text that is not a str; the message gives its position.
            ValueError: for a `max_length` below 2, a batch size or `top_k` that is not
                a positive integer, a `top_p` outside (0, 1], or a temperature that is
                not above 0.
        """
        positive("batch_size", batch_size)
        choose = _chooser(top_k, top_p, temperature)
        prompts = self.preprocessor.prompts(check_texts(texts), max_length)
        count = len(prompts["token_ids"])
        # A stream of numbers for each text, whatever the others of its batch are.
        streams = np.random.default_rng(seed).spawn(count)
        written = []
        for first in range(0, count, batch_size):
            part = slice(first, first + batch_size)
            ids, mask = (prompts[x][part] for x in ("token_ids", "padding_mask"))
            rows = self._continue(ids, mask, choose, streams[part])
            written += [self.preprocessor.written(*row) for row in rows]
        return written[0] if isinstance(texts, str) else written

    def _continue(self, ids, given, choose, streams):
        """Fills `(B, T)` ids up where they are not given; yields rows and their masks.

        A row ends with its first end token that is not given.
        """
        (rows, length), ids = ids.shape, ids.copy()
        state = self.backbone.begin(length, {"batch": np.array(rows, "int32")})
        for place in range(1, length):
            outputs, state = self.backbone.advance(ids[:, place - 1], state, {})
            words = choose(outputs["logits"], streams)
            ids[:, place] = np.where(given[:, place], ids[:, place], words)
            ended = ~given[:, : place + 1] & (ids[:, : place + 1] == END_ID)
            if ended.any(axis=1).all():
                break
        ended = np.cumsum(~given & (ids == END_ID), axis=1) > 0
        return zip(ids.tolist(), (~ended).tolist(), strict=True)


def _chooser(top_k, top_p, temperature):
    """Returns a function of logits `(B, V)` and B generators to the words to write."""
    if top_k is not None:
        positive("top_k", top_k)
    if top_p is not None and above_zero("top_p", top_p) > 1:
        raise ValueError(f"`top_p` must be in (0, 1]. Received: top_p={top_p!r}")
    if temperature is not None:
        above_zero("temperature", temperature)
    if top_k is top_p is temperature is None:
        return lambda logits, streams: logits.argmax(-1)

    def choose(logits, streams):
        logits = logits.astype("float64") / (temperature or 1.0)
        order = np.argsort(-logits, axis=-1, kind="stable")[:, :top_k]
        shares = np.take_along_axis(softmax(logits), order, axis=-1)
        before = np.cumsum(shares, axis=-1) - shares  # of more probable words
        shares *= before <= (1 if top_p is None else top_p)
        shares /= shares.sum(axis=-1, keepdims=True)
        rows = zip(streams, order, shares, strict=True)
        return np.array([stream.choice(words, p=p) for stream, words, p in rows])

    return choose


# === Taggers and classifiers ===
class Tagger(Tagging):
    """A tagger without Keras, from `load`.

    `tag` is that of a `zoo.models.BiRNNTagger`.
    """

    task_name = "tag"

    def __init__(self, graphs: Any, files: Any, manifest: Any) -> None:
        self.graph, settings = graphs["tag"], manifest["settings"]
        self.preprocessor = TaggingPreprocessor(files[TAGGER_FILE], **settings)

    def logits(self, inputs: Arrays) -> np.ndarray:
        """Returns the logits of the preprocessor's arrays."""
        return self.graph(inputs)["logits"]


class Classifier(Classifying):
    """A classifier without Keras, from `load`.

    `classify` is that of a `zoo.models.SentimentClassifier`.
    """

    task_name = "classify"

    def __init__(self, graphs: Any, files: Any, manifest: Any) -> None:
        self.graph, settings = graphs["classify"], manifest["settings"]
        self.backbone = SimpleNamespace(classes=settings["classes"])
        words = Words(files[WORDS_FILE], settings["lowercase"])
        self.preprocessor = WordsPreprocessor(words)

    def logits(self, inputs: Arrays) -> np.ndarray:
        """Returns the logits of the preprocessor's arrays."""
        return self.graph(inputs)["logits"]


_TASKS: dict[str, Any] = {
    cls.task_name: cls
    for cls in (Translator, LanguageModel, Tagger, Classifier, Captioner)
}
