"""A recipe's hyper-parameters by dotted keys: listed, set from text, checked."""

import contextlib
import dataclasses
import inspect
import json
import math
import re
import types
import typing
from collections.abc import Sequence
from typing import Any

from zoo.strings import did_you_mean
from zoo.training.config import ConfigurationError, refused_as
from zoo.training.optimizers import RESERVED

_NUMBERS = {
    int: re.compile(r"[+-]?[0-9]+"),
    float: re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?", re.I),
}


def change(recipe: Any, scale: Any, texts: Sequence[str]) -> Any:
    """Changes hyper-parameters of a scale.

    Args:
        recipe: the `Recipe`.
        scale: its choices, a dataclass.
        texts: list of "key=value". A key is a field of the scale, or an entry of one:
            `epochs`, `model.hidden_dim`, `optimizer.learning_rate`. A value is `true`,
            `false`, `null`, a number, a string, or JSON for a list. If a key is
            repeated, the last value counts.

    Returns:
        The changed scale.

    Raises:
        ConfigurationError: for an unknown key, or a value of the wrong type or out of
            range; it names the key, the value and what is allowed.
    """
    # The optimizer's name decides which options there are, so it comes first.
    names = [text for text in texts if text.startswith("optimizer.name=")]
    for part in (names, [text for text in texts if text not in names]):
        tree: dict[str, Any] = {}
        kinds = settable(recipe, scale) if part else {}
        for text in part:
            key, equals, value = text.partition("=")
            if not equals:
                raise ConfigurationError(f"--set needs key=value. Received: {text!r}")
            if key not in kinds:
                raise ConfigurationError(_unknown(key, kinds))
            *outer, last = key.split(".")
            branch = tree
            for name in outer:
                branch = branch.setdefault(name, {})
            branch[last] = _read(key, value, kinds[key])
        scale = _drop_alternatives(recipe, scale, tree)
        try:
            scale = _changed(scale, tree)
        except ValueError as error:
            raise ConfigurationError(f"--set: {error}") from error
    return scale


def check(recipe: Any, settings: Any, texts: Sequence[str]) -> None:
    """Tries the optimizer and the parts of a run before any work.

    A model takes time to build, so it is tried only if the texts changed it.

    Raises:
        ConfigurationError: naming the part that refuses its arguments.
    """
    if optimizer := getattr(settings, "optimizer", None):
        with refused_as("optimizer"):
            optimizer(1000, settings.epochs)
    changed = {re.split("[.=]", text)[0] for text in texts}
    for name, part in recipe.classes.items():
        fields = {name} if hasattr(settings, name) else part.values(settings, name)
        wanted = name != "model" or changed.intersection(fields)
        if part.trial is not None and wanted:
            with refused_as(name):
                part.make(settings, name, *part.trial)


def _unknown(key, kinds):
    # `hidden_dim` stands for `model.hidden_dim`.
    meant = next((known for known in kinds if known.endswith(f".{key}")), key)
    return (
        f"--set: this recipe has no hyper-parameter {key!r}{did_you_mean(meant, kinds)}"
        f". There are: {', '.join(sorted(kinds))}"
    )


def _drop_alternatives(recipe, scale, tree):
    """The scale without the arguments that those set in the tree replace."""
    for name, part in recipe.classes.items():
        given = {k for k, v in tree.get(name, {}).items() if v is not None}
        if given & set(part.alternatives):
            dropped = set(part.alternatives) - given
            kept = {k: v for k, v in getattr(scale, name).items() if k not in dropped}
            scale = dataclasses.replace(scale, **{name: kept})
    return scale


def _changed(value, tree):
    """`value`, a dataclass or a dict, with the entries of `tree` changed."""
    if not isinstance(tree, dict):
        return tree
    if isinstance(value, dict):
        return value | {k: _changed(value.get(k), new) for k, new in tree.items()}
    changes = {k: _changed(getattr(value, k), new) for k, new in tree.items()}
    return dataclasses.replace(value, **changes)


# === What can be set ===


def settable(recipe: Any, scale: Any) -> dict[str, Any]:
    """Returns the types of the hyper-parameters that `--set` can change, by key."""
    arguments = {
        name: settable_arguments(part.load(), part.reserved)
        for name, part in recipe.classes.items()
    }
    optimizer = getattr(getattr(scale, "optimizer", None), "keras_class", None)
    if optimizer:
        arguments["optimizer.options"] = settable_arguments(optimizer, RESERVED)
    return _keys("", scale, arguments)


def _keys(prefix, value, arguments):
    """The keys of a dataclass, those of the dataclasses and dicts in it too."""
    kinds: dict[str, Any] = {}
    for name, hint in typing.get_type_hints(type(value)).items():
        key, inner = f"{prefix}{name}", getattr(value, name)
        if dataclasses.is_dataclass(inner):
            kinds |= _keys(f"{key}.", inner, arguments)
        elif typing.get_origin(hint) is dict:
            kind = typing.get_args(hint)[1]
            entries = {**inner, **arguments.get(key, {})}
            kinds |= {f"{key}.{k}": _kind(v, kind) for k, v in entries.items()}
        elif not callable(inner):
            kinds[key] = hint
    return kinds


def settable_arguments(cls: Any, reserved: Sequence[str]) -> dict[str, Any]:
    """Returns the arguments of a class that can be set, with their defaults."""
    # `__init__`: Keras's classes hide it behind a `__new__` that takes anything.
    _, *parameters = inspect.signature(cls.__init__).parameters.values()
    return {
        parameter.name: parameter.default
        for parameter in parameters
        if parameter.default is not parameter.empty
        and parameter.name not in (*reserved, "name", "dtype")
    }


def _kind(default, hint):
    """The type of an argument, as its default shows it."""
    if isinstance(default, (bool, int, float, str)):
        return type(default)
    return hint | None if default is None and hint is not Any else hint


# === Values ===


def _read(key, text, hint):
    union = isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union
    kinds, value = typing.get_args(hint) if union else (hint,), _parse(text)
    if value is None and type(None) in kinds:  # not the string "null"
        return None
    for kind in kinds:
        with contextlib.suppress(ValueError, OverflowError):
            return _fit(text if kind is str else value, kind)
    allowed = " or ".join(dict.fromkeys(map(_describe, kinds)))
    raise ConfigurationError(f"--set {key}: must be {allowed}. Received: {text!r}")


def _parse(text):
    """A number, what JSON reads, or the text."""
    for kind, pattern in _NUMBERS.items():
        if pattern.fullmatch(text):
            with contextlib.suppress(ValueError):  # too many digits for Python
                return kind(text)
    if text == text.strip():
        with contextlib.suppress(ValueError, RecursionError):
            return json.loads(text)
    return text


def _fit(value, kind):
    """A value as one of a type: integers may become floats, and lists tuples."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(value)
    if origin is tuple and isinstance(value, list):
        inner = [inner[0]] * len(value) if inner[-1] is Ellipsis else inner
        pairs = zip(value, inner, strict=True)  # a ValueError for another length
        return tuple(_fit(part, kind) for part, kind in pairs)
    if kind is Any and not isinstance(value, (list, dict)):
        return value
    if origin is typing.Literal and value in inner:
        return value
    if type(value) is kind or (kind is float and type(value) is int):
        return None if value is None else kind(value)
    raise ValueError(value)


def _describe(kind):
    """A type in words, for an error message."""
    if typing.get_origin(kind) is typing.Literal:
        return f"one of {list(typing.get_args(kind))}"
    names = {
        bool: "true or false",
        int: "an integer",
        float: "a finite number",
        str: "a string",
        type(None): "null",
        Any: "true, false, null, a number or a string",
    }
    return names.get(kind, f"JSON of the form {kind}")
