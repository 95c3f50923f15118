"""Exported graphs as functions of NumPy arrays, and the search over them."""

from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from zoo.checks import need_packages
from zoo.decoding.search import Search

_SAME = """
    any arange argmax clip cumsum full log logical_and logical_not logical_or max
    maximum not_equal pad power repeat reshape shape sum take take_along_axis tile
    where zeros
""".split()
_FEW = 64  # up to this many values, sorting is faster than finding the largest
_FULL = 7 / 8  # of the rows must be live: with fewer, the others are left out
Arrays = dict[str, np.ndarray]  # by the names of a graph's tensors


# === Graphs ===
class OnnxGraph:
    """The ONNX graph of a file's content, called with and returning arrays by name."""

    def __init__(self, content: bytes, threads: int) -> None:
        need_packages("zoo.serving.runtime.onnx", "onnx", "onnxruntime")
        import onnxruntime

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


class Graphs:
    """The contract of `zoo.models.Seq2SeqBackbone` by `encode`, `start` and `step`.

    Memory and state are dicts of arrays, by the names of the graphs' tensors.
    """

    def __init__(self, graphs: Mapping[str, Any]) -> None:
        # A missing one is found here, when it is loaded.
        self.graphs = {name: graphs[name] for name in ("encode", "start", "step")}

    def encode(self, source: np.ndarray) -> Arrays:
        """Reads the source, `(B, S)` ids, to a memory."""
        return self.graphs["encode"]({"source_ids": source.astype("int32")})

    def start_for(self, memory: Arrays, length: int) -> Arrays:
        """The state before the first target token, for at most `length` steps."""
        return self.graphs["start"]({"length": np.array(length, "int32"), **memory})

    def step(
        self, token_ids: np.ndarray, state: Arrays, memory: Arrays
    ) -> tuple[np.ndarray, Arrays, np.ndarray]:
        """One target token: `(R,)` ids to `(logits (R, V), state, weights (R, S))`."""
        tokens = {"token_ids": token_ids.astype("int32")}
        outputs = self.graphs["step"]({**tokens, **state, **memory})
        new = {name: outputs[f"new_{name}"] for name in state}
        return outputs["logits"], new, outputs["weights"]

    def read(
        self, source: np.ndarray, target_ids: np.ndarray
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yields the logits and weights of each step over a target, without padding."""
        source = trim(source)
        target_ids = trim(target_ids)[: len(source)]
        memory = self.encode(source)
        state = self.start_for(memory, target_ids.shape[1])
        for tokens in target_ids.T:
            logits, state, weights = self.step(tokens, state, memory)
            yield logits, weights


# === Search ===
def top_k(values: np.ndarray, k: int) -> Any:
    """Returns the k largest values and their indices, the lower first of equals."""
    if values.shape[-1] <= _FEW:
        order = np.argsort(-values, axis=-1, kind="stable")[..., :k]
        return np.take_along_axis(values, order, axis=-1), order
    order = np.empty((*values.shape[:-1], k), "int64")
    order[..., 0] = values.argmax(-1)  # the first of equals
    left = values
    for place in range(1, k):
        left = left.copy() if left is values else left
        np.put_along_axis(left, order[..., place - 1 : place], -np.inf, axis=-1)
        order[..., place] = left.argmax(-1)
    return np.take_along_axis(values, order, axis=-1), order


def log_sum_exp(values: np.ndarray) -> np.ndarray:
    """Returns log Σ exp(values) along the last axis, which is kept as 1."""
    top = values.max(-1, keepdims=True)
    return top + np.log(np.exp(values - top).sum(-1, keepdims=True))


def map_structure(function: Any, first: Any, *others: Any) -> Any:
    """Applies a function to the leaves of nested tuples, lists and dicts."""
    if isinstance(first, dict):
        return {
            key: map_structure(function, x, *(other[key] for other in others))
            for key, x in first.items()
        }
    if isinstance(first, (tuple, list)):
        rows = zip(first, *others, strict=True)
        return type(first)(map_structure(function, *row) for row in rows)
    return function(first, *others)


_OPS = SimpleNamespace(
    **{name: getattr(np, name) for name in _SAME},
    cast=lambda x, dtype: np.asarray(x).astype(dtype, copy=False),
    convert_to_tensor=np.asarray,
    segment_sum=lambda values, ids, count: np.bincount(ids, values, count),
    stop_gradient=lambda x: x,
    top_k=top_k,
)


class ArraySearch(Search):
    """`zoo.decoding.BeamSearch` over NumPy arrays, for models that compute with them.

    Sentences that are done leave the batch. It takes the arguments of a `BeamSearch`,
    and gives its results.
    """

    ops = _OPS
    top_k = staticmethod(top_k)
    log_sum_exp = staticmethod(log_sum_exp)
    map_structure = staticmethod(map_structure)

    def find(
        self,
        model: Any,
        source: np.ndarray,
        limits: np.ndarray,
        steps: int,
        prefix: np.ndarray | None = None,
    ) -> Any:
        """See `Search.find`; the padding of batches is left out."""
        source = trim(source)[: len(limits)]
        limits = limits[: len(source)]
        steps = int(limits.max())
        if prefix is not None:
            prefix = prefix[: len(source), :steps]
        return self(model, source, limits, steps, prefix)

    def _run(self, model, beam, constants, steps):
        def height(live, rows):
            return live if live <= _FULL * rows else rows

        return self._run_shrinking(model, beam, constants, steps, height)


def trim(ids: np.ndarray) -> np.ndarray:
    """Leaves the rows and columns without ids at the end of `(B, T)` out."""
    real = ids != 0
    height = 1 + int(np.flatnonzero(real.any(axis=1)).max(initial=0))
    width = 1 + int(np.flatnonzero(real.any(axis=0)).max(initial=0))
    return ids[:height, :width]
