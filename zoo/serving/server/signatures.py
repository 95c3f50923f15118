"""Signatures of served models, and requests that run together."""

import contextlib
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

logger = logging.getLogger("zoo.serving.server")
MAX_REQUEST_BYTES = 8 * 2**20
Inputs = dict[str, list[Any]]  # texts, or bytes
Rows = Mapping[str, Sequence[Any]]


class Refusal(Exception):
    """A request that is not answered: gRPC's name of the error, and what it says."""

    def __init__(self, code: str, message: str) -> None:
        # gRPC writes it into a header, of which clients take 8 KiB.
        super().__init__(message[:500])
        self.code = code


def invalid(message: str) -> Refusal:
    """Returns the refusal of a request that is wrong in itself."""
    return Refusal("INVALID_ARGUMENT", message)


@contextlib.contextmanager
def internal(what: str) -> Iterator[None]:
    """Makes each error that is no refusal one, and logs it as a failure of `what`."""
    try:
        yield
    except Refusal:
        raise
    except Exception as error:
        logger.exception("%s failed", what)
        raise Refusal("INTERNAL", f"{type(error).__name__}: {error}") from error


class Signature(NamedTuple):
    """A function of a served model.

    Attributes:
        run: function of inputs that returns outputs with as many rows.
        inputs: the names of its inputs.
        outputs: output name -> its kind, "text" or "number", and its rank.
    """

    run: Callable[[Inputs], Rows]
    inputs: tuple[str, ...]
    outputs: dict[str, tuple[str, int]]


class Request(NamedTuple):
    """A signature and its inputs, equally many of each."""

    signature: Signature
    inputs: Inputs

    def rows(self) -> int:
        """Returns the number of rows."""
        return len(next(iter(self.inputs.values())))

    def parts(self, size: int) -> "list[Request]":
        """Returns requests of at most `size` rows, at least one."""
        return [
            Request(
                self.signature,
                {
                    name: rows[start : start + size]
                    for name, rows in self.inputs.items()
                },
            )
            for start in range(0, max(self.rows(), 1), size)
        ]


def run_together(requests: Sequence[Request]) -> list[Any]:
    """Returns each request's outputs or error; a signature's run as a batch."""
    groups: dict[int, list[int]] = {}
    for place, request in enumerate(requests):
        groups.setdefault(id(request.signature), []).append(place)
    results: dict[int, Any] = {}
    for places in groups.values():
        found = _run([requests[place] for place in places])
        results.update(zip(places, found, strict=True))
    return [results[place] for place in range(len(requests))]


def _run(group):
    """Runs requests for one signature: together, or alone where one of them fails."""
    signature, start, results = group[0].signature, 0, []
    try:
        outputs = signature.run(joined([request.inputs for request in group]))
    except Exception as error:
        return [error] if len(group) == 1 else [_run([request])[0] for request in group]
    for request in group:
        end = start + request.rows()
        results.append({name: rows[start:end] for name, rows in outputs.items()})
        start = end
    return results


def joined(parts: Sequence[Rows]) -> dict[str, list[Any]]:
    """Returns the rows of all parts, by name."""
    return {name: [row for part in parts for row in part[name]] for name in parts[0]}


def stack(rows: Any, kind: str, rank: int) -> np.ndarray:
    """Returns the rows of an output as one array of a rank, padded with "" or 0.

    Its kind is "text" for str as objects, or "number" for float32.
    """
    dtype: Any = object if kind == "text" else "float32"
    arrays = [np.asarray(row, dtype) for row in rows]
    shape = np.max([array.shape for array in arrays], axis=0, initial=0)
    sizes = np.broadcast_to(shape, rank - 1).astype(int)
    result = np.full((len(arrays), *sizes), "" if kind == "text" else 0, dtype)
    for place, array in enumerate(arrays):
        part: Any = (place, *map(slice, array.shape))
        result[part] = array if array.ndim else array.item()
    return result
