"""Runs the folders of `zoo export --format onnx` by ONNX Runtime, without Keras.

    translator = zoo.runtime.onnx.load("exports/onnx/luong_local")
    translator.translate("A dog runs.")

It needs onnxruntime, sentencepiece and NumPy: neither Keras nor one of its backends.
"""

import functools
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from zoo.backend import usable_cores
from zoo.checks import positive
from zoo.decoding.translating import Engine, Translating
from zoo.files import StrPath
from zoo.runtime.arrays import ArraySearch, log_sum_exp, trim
from zoo.runtime.graphs import Arrays, Graph, StepGraphs
from zoo.runtime.pieces import Pieces, PiecesPreprocessor
from zoo.runtime.words import Classifier, LanguageModel, Tagger
from zoo.serving.manifest import MANIFEST, TOKENIZER, newest, read_version

__all__ = ["Classifier", "LanguageModel", "Tagger", "Translator", "load"]


def load(path: StrPath, threads: int = 1, workers: int | None = None) -> Any:
    """Loads an exported model.

    Args:
        path: a version's folder, such as `exports/onnx/luong_local/1`, or that of the
            model, whose newest version is taken.
        threads: threads that one operation may use. One is fastest for models of the
            bundled presets' size, whose products are too small for more.
        workers: batches that a translator reads at a time, each in a thread. Default:
            one for each core that the process may use, shared out between `threads`.

    Returns:
        A `Translator`, `LanguageModel`, `Tagger` or `Classifier`, by the task of the
        exported model.

    Raises:
        ValueError: for a folder that zoo didn't write, whose files are missing, cut
            short or altered, or whose format or task this version doesn't know.
        ImportError: without onnxruntime.

    Example:
        ```python
        translator = zoo.runtime.onnx.load("exports/onnx/luong_local")
        translator.translate("A dog runs.", beam_size=5, n_best=3)
        ```
    """
    positive("threads", threads)
    if workers is None:
        workers = max(1, usable_cores() // threads)
    positive("workers", workers)
    version = newest(path)
    manifest, files = read_version(version)
    kinds = {kind.task_name: kind for kind in _KINDS}
    kind = kinds.get(manifest["task"])
    if kind is None:
        raise ValueError(
            f"{version} should hold a model of the tasks {list(kinds)}. "
            f"Received: {manifest['task']!r}"
        )
    try:
        graphs = {
            name: Graph(files[f"{name}.onnx"], described, threads, f"{version}/{name}")
            for name, described in manifest["graphs"].items()
        }
        model = kind.of(graphs, files, manifest)
    except (KeyError, TypeError) as error:
        raise ValueError(f"{version / MANIFEST} is damaged: {error}") from error
    if isinstance(model, Translator):
        model.engine = model.engine._replace(map=functools.partial(in_threads, workers))
    return model


def in_threads(
    workers: int, function: Callable[..., Any], items: Iterable[Any]
) -> Iterator[Any]:
    """Applies a function to items as `map` does, several at a time.

    ONNX Runtime computes without Python's lock.

    Args:
        workers: the number of threads.
        function: the function.
        items: its arguments.
    """
    items = list(items)
    if workers == 1 or len(items) < 2:
        yield from map(function, items)
        return
    pool = ThreadPoolExecutor(workers)
    try:
        yield from pool.map(function, items)
    finally:  # after an error the rest is not run
        pool.shutdown(cancel_futures=True)


class Graphs(StepGraphs):
    """The contract of `zoo.models.Seq2SeqBackbone` by ONNX graphs.

    Memory and state are dicts of arrays, by the names of the graphs' tensors.

    Args:
        graphs: `encode`, `start`, `step`, and for local attention `window`.
        window_state: for local attention, the state that `window` reads.

    Raises:
        KeyError: if one is missing.
    """

    def __init__(
        self, graphs: dict[str, Graph], window_state: str | None = None
    ) -> None:
        super().__init__(graphs, "encode", *["window"] * bool(window_state))
        self.window_state = window_state

    def encode(self, source_ids: np.ndarray) -> Arrays:
        """Reads the source: `(B, S)` ids to a memory."""
        return self.graphs["encode"]({"source_ids": source_ids.astype("int32")})

    def start_for(self, memory: Arrays, length: int) -> Arrays:
        """The state before the first target token, for at most `length` steps."""
        return self.begin(length, memory)

    def step(
        self, token_ids: np.ndarray, state: Arrays, memory: Arrays
    ) -> tuple[np.ndarray, Arrays, np.ndarray]:
        """One target token: `(R,)` ids to `(logits (R, V), state, weights (R, S))`."""
        outputs, state = self.advance(token_ids, state, memory)
        return outputs["logits"], state, outputs["weights"]

    def read(
        self, source_ids: np.ndarray, target_ids: np.ndarray
    ) -> Iterator[tuple[np.ndarray, np.ndarray, Arrays]]:
        """Yields the logits, weights and state of each step over a given target."""
        memory = self.encode(source_ids)
        state = self.start_for(memory, target_ids.shape[1])
        for tokens in target_ids.T:
            logits, state, weights = self.step(tokens, state, memory)
            yield logits, weights, state

    def windows(self, hidden: np.ndarray, source_ids: np.ndarray) -> list[np.ndarray]:
        """Local attention's p_t `(B, T)` and windows `(B, T, 2)` for states h_t."""
        arrays = {"hidden": hidden, "mask": source_ids != 0}
        outputs = self.graphs["window"](arrays)
        return [outputs["focus"], outputs["windows"]]


def _scores(model: Any) -> Callable[..., list[np.ndarray]]:
    def run(source_ids, target_ids, labels):
        scores = np.zeros(labels.shape, "float32")
        source_ids = trim(source_ids)
        target_ids = trim(target_ids)[: len(source_ids)]
        labels = labels[: len(source_ids)]
        rows = np.arange(len(source_ids))
        for t, (logits, *_) in enumerate(model.backbone.read(source_ids, target_ids)):
            gold = logits[rows, labels[:, t]]
            scores[rows, t] = gold - log_sum_exp(logits)
        return [scores]

    return run


def _alignments(model: Any) -> Callable[..., list[np.ndarray]]:
    graphs = model.backbone

    def run(source_ids, target_ids, labels):
        source_ids = trim(source_ids)
        target_ids = trim(target_ids)[: len(source_ids)]
        weights, hidden = [], []
        for _, attention, state in graphs.read(source_ids, target_ids):
            weights.append(attention)
            if graphs.window_state:
                hidden.append(state[graphs.window_state])
        results = [np.stack(weights, axis=1)]
        if graphs.window_state:
            results += graphs.windows(np.stack(hidden, axis=1), source_ids)
        return results

    return run


class Translator(Translating):
    """A translator by ONNX Runtime, from `load`.

    It has the text methods of a `zoo.models.Translator`, `translate`, `score`, `align`
    and `perplexity`, with their arguments, defaults and results.

    Args:
        backbone: the graphs.
        preprocessor: the preprocessor.
    """

    task_name = "translate"
    engine = Engine(ArraySearch, _scores, _alignments)

    def __init__(self, backbone: Graphs, preprocessor: PiecesPreprocessor) -> None:
        self.backbone, self.preprocessor = backbone, preprocessor

    @classmethod
    def of(cls, graphs: Any, files: Any, manifest: Any) -> "Translator":
        """Makes it of a version's graphs, files and manifest."""
        pieces = Pieces(files[TOKENIZER])
        preprocessor = PiecesPreprocessor(pieces, **manifest["settings"])
        return cls(Graphs(graphs, manifest.get("window_state")), preprocessor)


_KINDS: tuple[Any, ...] = (Translator, LanguageModel, Tagger, Classifier)
