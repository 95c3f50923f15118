"""Exported graphs as functions of arrays, and as the contract of a translator."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from zoo.serving.protocol import need_packages

_ROOM = 16  # steps for which a state that grows gets room at a time
_LEFT = "left"  # in a state: the steps for which it has room yet, (R,)
Arrays = dict[str, np.ndarray]  # by the names of a graph's tensors


class OnnxGraph:
    """One ONNX graph, called with and returning arrays by name.

    Args:
        content: the bytes of its file.
        described: its inputs and outputs as in the manifest.
        threads: threads that one operation may use.
    """

    def __init__(self, content: bytes, described: dict[str, Any], threads: int) -> None:
        need_packages("zoo.serving.runtime.onnx", "onnx", "onnxruntime")
        import onnxruntime

        self.described = described
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3  # errors
        self._session = onnxruntime.InferenceSession(
            content, options, providers=["CPUExecutionProvider"]
        )
        self.inputs = [tensor.name for tensor in self._session.get_inputs()]
        self.outputs = [tensor.name for tensor in self._session.get_outputs()]

    def __call__(self, arrays: Arrays) -> Arrays:
        """Returns the outputs for those of the arrays that are inputs."""
        outputs = self._session.run(None, {name: arrays[name] for name in self.inputs})
        return dict(zip(self.outputs, outputs, strict=True))


class StepGraphs:
    """The graphs `start` and `step`, which write one token after another.

    A state that grows with what is written (caches, tapes) gets room for a few steps at
    a time: its products and copies take as long as it is wide.
    """

    def __init__(self, graphs: Mapping[str, Any], cell: str = "") -> None:
        self.graphs, self.cell = graphs, cell
        # Name -> the axis that is as long as what is written may become.
        self._growing = {
            tensor["name"]: tensor["shape"].index("L")
            for tensor in graphs["step"].described["inputs"]
            if "L" in tensor["shape"]
        }

    def begin(self, length: int, arrays: Arrays) -> Arrays:
        """Returns the state before the first of at most `length` steps."""
        length = min(length, _ROOM)
        state = self.graphs["start"]({"length": np.array(length, "int32"), **arrays})
        rows = len(next(iter(state.values())))
        return {**state, _LEFT: np.full(rows, length)}

    def advance(
        self, token_ids: np.ndarray, state: Arrays, arrays: Arrays
    ) -> tuple[Arrays, Arrays]:
        """Takes one step with `(R,)` ids; returns its outputs, and the state."""
        tokens = {"token_ids": token_ids.astype("int32")}
        left = state[_LEFT]
        if not left.all():
            state, left = self._grow(state), left + _ROOM
        outputs = self.graphs["step"]({**tokens, **state, **arrays})
        new = {name: outputs[f"new_{name}"] for name in state if name != _LEFT}
        return outputs, {**new, _LEFT: left - 1}

    def _grow(self, state):
        """Returns a state with room for further steps."""
        grown = {}
        for name, axis in self._growing.items():
            widths = [(0, _ROOM * (i == axis)) for i in range(state[name].ndim)]
            grown[name] = np.pad(state[name], widths)
        return {**state, **grown}


class Graphs(StepGraphs):
    """The contract of `zoo.models.Seq2SeqBackbone` by graphs.

    Memory and state are dicts of arrays, by the names of the graphs' tensors.

    Args:
        graphs: `encode`, `start`, `step`, and for local attention `window`.
        window_state: for local attention, the state that `window` reads.
        grid: rows and columns of the places to which a captioner attends.
    """

    def __init__(
        self,
        graphs: Mapping[str, Any],
        window_state: str | None = None,
        grid: Sequence[int] = (),
    ) -> None:
        super().__init__(graphs)
        self.window_state, self.grid = window_state, tuple(grid)

    def encode(self, source: np.ndarray) -> Arrays:
        """Reads the source: `(B, S)` ids, or images `(B, H, W, C)`, to a memory."""
        graph = self.graphs["encode"]
        [tensor] = graph.described["inputs"]
        return graph({tensor["name"]: source.astype(tensor["dtype"])})

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
        self, source: np.ndarray, target_ids: np.ndarray
    ) -> Iterator[tuple[np.ndarray, np.ndarray, Arrays]]:
        """Yields the logits, weights and state of each step over a given target."""
        memory = self.encode(source)
        state = self.start_for(memory, target_ids.shape[1])
        for tokens in target_ids.T:
            logits, state, weights = self.step(tokens, state, memory)
            yield logits, weights, state

    def windows(self, hidden: np.ndarray, source_ids: np.ndarray) -> list[np.ndarray]:
        """Local attention's p_t `(B, T)` and windows `(B, T, 2)` for states h_t."""
        arrays = {"hidden": hidden, "mask": source_ids != 0}
        outputs = self.graphs["window"](arrays)
        return [outputs["focus"], outputs["windows"]]
