"""ONNX graphs as functions of arrays."""

from typing import Any

import numpy as np

INSTALL = 'pip install "attention-zoo[onnx]"'
_ROOM = 16  # steps for which a growing state has room at first
_LEFT = "left"  # in such a state: the steps for which it has room yet, (R,)
Arrays = dict[str, np.ndarray]  # by the names of a graph's tensors


class Graph:
    """One ONNX graph, called with and returning arrays by name.

    Args:
        content: the bytes of its file.
        described: its inputs and outputs as in the manifest.
        threads: see `zoo.runtime.onnx.load`.
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


class StepGraphs:
    """The graphs `start` and `step`, which write one token after another.

    A state that grows with what is written (caches, tapes) has room for a few steps at
    first, and gets more when it is full: its products and copies take as long as it is
    wide.

    Args:
        graphs: the graphs by name.
        *needed: names of further graphs that there have to be.

    Raises:
        KeyError: if one is missing.
    """

    def __init__(self, graphs: dict[str, Graph], *needed: str) -> None:
        if missing := {"start", "step", *needed} - set(graphs):
            raise KeyError(f"no graph {sorted(missing)}")
        self.graphs = graphs
        # Name -> the axis that is as long as what is written may become.
        self._growing = {
            tensor["name"]: tensor["shape"].index("L")
            for tensor in graphs["step"].described["inputs"]
            if "L" in tensor["shape"]
        }

    def begin(self, length: int, arrays: Arrays) -> Arrays:
        """Returns the state before the first of at most `length` steps.

        `arrays` are further inputs of `start`.
        """
        if self._growing:
            length = min(length, _ROOM)
        state = self.graphs["start"]({"length": np.array(length, "int32"), **arrays})
        if self._growing:
            rows = len(state[next(iter(self._growing))])
            state[_LEFT] = np.full(rows, length, "int32")
        return state

    def advance(
        self, token_ids: np.ndarray, state: Arrays, arrays: Arrays
    ) -> tuple[Arrays, Arrays]:
        """Takes one step with `(R,)` ids; returns the outputs of `step`, and the state.

        `arrays` are further inputs of `step`.
        """
        tokens = {"token_ids": token_ids.astype("int32")}
        state = self._with_room(state)
        outputs = self.graphs["step"]({**tokens, **state, **arrays})
        new = {name: outputs[f"new_{name}"] for name in state if name != _LEFT}
        if self._growing:
            new[_LEFT] = state[_LEFT] - 1
        return outputs, new

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
