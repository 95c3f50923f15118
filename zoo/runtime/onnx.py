"""Runs the folders of `zoo export --format onnx` by ONNX Runtime, without Keras.

    translator = zoo.runtime.onnx.load("exports/onnx/luong_local")
    translator.translate("A dog runs.")

It needs onnxruntime, sentencepiece and NumPy: neither Keras nor one of its backends.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from zoo.checks import positive
from zoo.decoding.translating import Engine, Translating
from zoo.files import StrPath
from zoo.runtime.arrays import ArraySearch, log_sum_exp, trim
from zoo.runtime.pieces import Pieces, PiecesPreprocessor
from zoo.serving.manifest import MANIFEST, TOKENIZER, newest, read_version

__all__ = ["Translator", "load"]

INSTALL = 'pip install "attention-zoo[onnx]"'
_ROOM = 16  # steps for which a growing state has room at first
_LEFT = "left"  # in such a state: the steps for which it has room yet, (R,)


def load(path: StrPath, threads: int = 1) -> "Translator":
    """Loads an exported model.

    Args:
        path: a version's folder, such as `exports/onnx/luong_local/1`, or that of the
            model, whose newest version is taken.
        threads: threads that one operation may use. One is fastest for models of the
            bundled presets' size; several translators side by side use several cores.

    Returns:
        A translator.

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
    version = newest(path)
    manifest, files = read_version(version)
    if manifest["task"] != "translate":
        raise ValueError(
            f"{version} should hold a translator. Received: {manifest['task']!r}"
        )
    try:
        graphs = {
            name: Graph(files[f"{name}.onnx"], described, threads, f"{version}/{name}")
            for name, described in manifest["graphs"].items()
        }
        backbone = Graphs(graphs, manifest.get("window_state"))
        pieces = Pieces(files[TOKENIZER])
        preprocessor = PiecesPreprocessor(pieces, **manifest["settings"])
    except (KeyError, TypeError) as error:
        raise ValueError(f"{version / MANIFEST} is damaged: {error}") from error
    return Translator(backbone, preprocessor)


class Graph:
    """One ONNX graph, called with and returning arrays by name.

    Args:
        content: the bytes of its file.
        described: its inputs and outputs as in the manifest.
        threads: see `load`.
        name: what an error calls it.

    Raises:
        ValueError: if ONNX Runtime can't load it, or its inputs and outputs are others
            than described.
    """

    def __init__(
        self, content: bytes, described: dict[str, Any], threads: int, name: str
    ) -> None:
        try:
            import onnxruntime
        except ModuleNotFoundError as error:
            raise ImportError(
                f"zoo.runtime.onnx needs onnxruntime: {INSTALL}", name=error.name
            ) from None
        self.described = described
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3  # errors
        try:
            self._session = onnxruntime.InferenceSession(
                content, options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # of a dozen classes without a common one
            raise ValueError(f"ONNX Runtime cannot load {name}: {error}") from error
        self.inputs = [tensor.name for tensor in self._session.get_inputs()]
        self.outputs = [tensor.name for tensor in self._session.get_outputs()]
        expected = [
            [x["name"] for x in described[key]] for key in ("inputs", "outputs")
        ]
        if [self.inputs, self.outputs] != expected:
            raise ValueError(
                f"{name} should have the inputs and outputs {expected}. "
                f"Received: {[self.inputs, self.outputs]}"
            )

    def __call__(self, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Returns the outputs for those of the arrays that are inputs."""
        outputs = self._session.run(None, {name: arrays[name] for name in self.inputs})
        return dict(zip(self.outputs, outputs, strict=True))


class Graphs:
    """The contract of `zoo.models.Seq2SeqBackbone` by ONNX graphs.

    Memory and state are dicts of arrays, by the names of the graphs' tensors. A state
    that grows with the translation (caches, tapes) has room for a few steps at first,
    and gets more when it is full: its products and copies take as long as it is wide.

    Args:
        graphs: `encode`, `start`, `step`, and for local attention `window`.
        window_state: for local attention, the state that `window` reads.
    """

    def __init__(
        self, graphs: dict[str, Graph], window_state: str | None = None
    ) -> None:
        missing = {"encode", "start", "step"} - set(graphs)
        if missing or (window_state and "window" not in graphs):
            raise KeyError(f"no graph {sorted(missing) or 'window'}")
        self.graphs, self.window_state = graphs, window_state
        # Name -> the axis that is as long as the translation may become.
        self._growing = {
            tensor["name"]: tensor["shape"].index("L")
            for tensor in graphs["step"].described["inputs"]
            if "L" in tensor["shape"]
        }

    def encode(self, source_ids: np.ndarray) -> dict[str, np.ndarray]:
        """Reads the source: `(B, S)` ids to a memory."""
        return self.graphs["encode"]({"source_ids": source_ids.astype("int32")})

    def start_for(
        self, memory: dict[str, np.ndarray], length: int
    ) -> dict[str, np.ndarray]:
        """The state before the first target token, for at most `length` steps."""
        if self._growing:
            length = min(length, _ROOM)
        state = self.graphs["start"]({"length": np.array(length, "int32"), **memory})
        if self._growing:
            rows = len(state[next(iter(self._growing))])
            state[_LEFT] = np.full(rows, length, "int32")
        return state

    def step(
        self,
        token_ids: np.ndarray,
        state: dict[str, np.ndarray],
        memory: dict[str, np.ndarray],
    ) -> tuple[np.ndarray, dict[str, np.ndarray], np.ndarray]:
        """One target token: `(R,)` ids to `(logits (R, V), state, weights (R, S))`."""
        tokens = {"token_ids": token_ids.astype("int32")}
        state = self._with_room(state)
        outputs = self.graphs["step"]({**tokens, **state, **memory})
        new = {name: outputs[f"new_{name}"] for name in state if name != _LEFT}
        if self._growing:
            new[_LEFT] = state[_LEFT] - 1
        return outputs["logits"], new, outputs["weights"]

    def _with_room(self, state):
        """Returns a state with room for a step: one that is full becomes larger."""
        if not self._growing or not len(state[_LEFT]) or state[_LEFT][0]:
            return state
        name, axis = next(iter(self._growing.items()))
        more = state[name].shape[axis]
        state = {**state, _LEFT: state[_LEFT] + more}
        for name, axis in self._growing.items():
            widths = [(0, more * (i == axis)) for i in range(state[name].ndim)]
            state[name] = np.pad(state[name], widths)
        return state

    def read(
        self, source_ids: np.ndarray, target_ids: np.ndarray
    ) -> Iterator[tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]]:
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

    engine = Engine(ArraySearch, _scores, _alignments)

    def __init__(self, backbone: Graphs, preprocessor: PiecesPreprocessor) -> None:
        self.backbone, self.preprocessor = backbone, preprocessor
