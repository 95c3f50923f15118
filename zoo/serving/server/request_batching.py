"""Requests of one batch, run together."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from zoo.serving.server.signatures import Inputs, Rows, Signature


@dataclasses.dataclass(frozen=True)
class Request:
    """A signature and what it is to be run with.

    Args:
        signature: the signature.
        inputs: input name -> texts or bytes, equally many of each.
    """

    signature: Signature
    inputs: Inputs

    @property
    def count(self) -> int:
        """The number of rows."""
        return max(map(len, self.inputs.values()), default=0)

    def parts(self, size: int) -> "list[Request]":
        """Returns requests of at most `size` rows, at least one."""
        return [
            Request(self.signature, cut(self.inputs, start, start + size))
            for start in range(0, max(self.count, 1), size)
        ]


def run_together(requests: Sequence[Request]) -> list[Rows | Exception]:
    """Runs requests, those of one signature as a batch.

    Where a batch fails, each of its requests runs alone, so that one cannot spoil
    another.

    Returns:
        The outputs of each request, or its error.
    """
    results: list[Any] = [None] * len(requests)
    groups: dict[int, list[int]] = {}
    for place, request in enumerate(requests):
        groups.setdefault(id(request.signature), []).append(place)
    for places in groups.values():
        group = [requests[place] for place in places]
        for place, result in zip(places, _run(group), strict=True):
            results[place] = result
    return results


def _run(group):
    """Returns the outputs or error of each request for the same signature."""
    try:
        rows = group[0].signature.run(joined([request.inputs for request in group]))
    except Exception as error:
        return [error] if len(group) == 1 else [_run([request])[0] for request in group]
    found, start = [], 0
    for request in group:
        found.append(cut(rows, start, start + request.count))
        start += request.count
    return found


def joined(parts: Sequence[Mapping[str, Sequence[Any]]]) -> dict[str, list[Any]]:
    """Returns the rows of all parts, by name."""
    return {name: [row for part in parts for row in part[name]] for name in parts[0]}


def cut(rows: Mapping[str, Any], start: int, end: int) -> dict[str, Any]:
    """Returns some of the rows, by name."""
    return {name: values[start:end] for name, values in rows.items()}
