"""The options of a search, as the explorer's page sends them."""

import dataclasses
import re
from collections.abc import Callable, Mapping
from typing import Any

from zoo.text.rows import END_ID


@dataclasses.dataclass(frozen=True)
class Options:
    """`Options` of explorer/src/engine/types.ts, whose `from_json` checks them.

    Attributes:
        beam_size, n_best, length_penalty, coverage_penalty, max_length: see
            `zoo.models.Translator.translate`.
        prefix: ids with which the translation begins.
        banned: ids that are never taken.
        attention: `(step,)` -> weights that replace the model's, or those of a head of
            a Transformer, `(step, layer, head)`.
        window: D of local attention.
        trace: whether steps and tree are wanted.
    """

    beam_size: int = 1
    n_best: int = 1
    length_penalty: float = 1.0
    coverage_penalty: float = 0.0
    max_length: int | None = None
    prefix: tuple[int, ...] = ()
    banned: tuple[int, ...] = ()
    attention: Mapping[tuple[int, ...], tuple[float, ...]] = dataclasses.field(
        default_factory=dict
    )
    window: int | None = None
    trace: bool = False

    @classmethod
    def from_json(cls, given: Any, vocabulary: int) -> "Options":
        """Reads options as the page sends them.

        Raises:
            ValueError: for an option that isn't known, or a value out of range.
        """
        _check(isinstance(given, dict), "options must be an object", given)
        unknown = set(given) - set(_READERS)
        _check(not unknown, f"options must be of {list(_READERS)}", sorted(unknown))
        read = {}
        for name, value in given.items():
            if value is not None:
                field, reader = _READERS[name]
                read[field] = reader(name, value)
        options = cls(**read)
        ids = [*options.prefix, *options.banned]
        _check(all(i < vocabulary for i in ids), f"ids must be below {vocabulary}", ids)
        _check(END_ID not in options.banned, "the end token cannot be banned", "it")
        room = options.max_length is None or len(options.prefix) < options.max_length
        _check(room, "a prefix must have fewer ids than maxLength", options.prefix)
        best = options.n_best
        _check(best <= options.beam_size, "nBest must not exceed beamSize", best)
        return options


def _check(fine, message, received):
    if not fine:
        raise ValueError(f"{message}. Received: {received!r:.200}")


def _whole(least, most):
    def read(name, value):
        fine = type(value) is int and least <= value <= most
        _check(fine, f"{name} must be an integer from {least} to {most}", value)
        return value

    return read


def _penalty(name, value):
    fine = type(value) in (int, float) and 0 <= value <= 100
    _check(fine, f"{name} must be a number from 0 to 100", value)
    return float(value)


def _ids(name, value):
    fine = isinstance(value, list) and len(value) <= 500
    fine = fine and all(type(x) is int and x >= 0 for x in value)
    _check(fine, f"{name} must be at most 500 ids", value)
    return tuple(value)


def _attention(name, value):
    fine = isinstance(value, dict) and all(
        re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,3}){2}|[0-9]{1,6}", place)
        and isinstance(weights, list)
        and all(type(x) in (int, float) and 0 <= x < 1e30 for x in weights)
        for place, weights in value.items()
    )
    _check(
        fine,
        f'{name} must be weights of 0 or more by "step" or "step.layer.head"',
        value,
    )
    return {
        tuple(map(int, place.split("."))): tuple(weights)
        for place, weights in value.items()
    }


def _flag(name, value):
    _check(isinstance(value, bool), f"{name} must be true or false", value)
    return value


_READERS: dict[str, tuple[str, Callable[[str, Any], Any]]] = {
    "beamSize": ("beam_size", _whole(1, 20)),
    "nBest": ("n_best", _whole(1, 20)),
    "lengthPenalty": ("length_penalty", _penalty),
    "coveragePenalty": ("coverage_penalty", _penalty),
    "maxLength": ("max_length", _whole(1, 500)),
    "prefix": ("prefix", _ids),
    "banned": ("banned", _ids),
    "attention": ("attention", _attention),
    "window": ("window", _whole(1, 500)),
    "trace": ("trace", _flag),
}
