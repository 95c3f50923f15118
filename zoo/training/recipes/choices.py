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
from zoo.training.config import ConfigurationError
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
    texts = sorted(texts, key=lambda text: not text.startswith("optimizer.name="))
    names = sum(text.startswith("optimizer.name=") for text in texts)
    for part in (texts[:names], texts[names:]):
        scale = _apply(recipe, scale, part)
    return scale


def _apply(recipe, scale, texts):
    if not texts:
        return scale
    tree, kinds = {}, settable(recipe, scale)
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals:
            raise ConfigurationError(f"--set needs key=value. Received: {text!r}")
        if key not in kinds:
            raise ConfigurationError(_unknown(key, kinds))
        branch, (*parts, last) = tree, key.split(".")
        for part in parts:
            branch = branch.setdefault(part, {})
            if not isinstance(branch, dict):
                raise ConfigurationError(f"--set {text}: {part} is already null")
        branch[last] = _read(key, value, kinds[key])
    scale = _drop_alternatives(recipe, scale, tree)
    try:
        return _changed(scale, tree)
    except ValueError as error:
        raise ConfigurationError(f"--set: {error}") from error


def _unknown(key, kinds):
    # `hidden_dim` stands for `model.hidden_dim`.
    meant = next((known for known in kinds if known.endswith(f".{key}")), key)
    hint = did_you_mean(meant, kinds)
    return (
        f"--set: this recipe has no hyper-parameter {key!r}{hint}. "
        f"There are: {', '.join(sorted(kinds))}"
    )


def _drop_alternatives(recipe, scale, tree):
    """The scale without the arguments that those set in the tree replace."""
    for name, arguments in recipe.classes.items():
        values = {k: v for k, v in tree.get(name, {}).items() if v is not None}
        if replaced := set(arguments.alternatives) & set(values):
            dropped = set(arguments.alternatives) - replaced
            old = getattr(scale, name)
            kept = {k: v for k, v in old.items() if k not in dropped}
            scale = dataclasses.replace(scale, **{name: kept})
    return scale


def _changed(value, tree):
    """`value`, a dataclass or a dict, with the entries of `tree` changed."""
    if not isinstance(tree, dict):
        return tree
    if isinstance(value, dict):
        return value | {k: _changed(value.get(k), new) for k, new in tree.items()}
    changes = {}
    for name, new in tree.items():
        old = getattr(value, name)
        if old is None and isinstance(new, dict):  # an optional part: its defaults
            old = _part(typing.get_type_hints(type(value))[name])()
        changes[name] = _changed(old, new)
    return dataclasses.replace(value, **changes)


# === What can be set ===


def settable(recipe: Any, scale: Any) -> dict[str, Any]:
    """Returns the hyper-parameters that `--set` can change, by dotted key: their types.

    Args:
        recipe: the `Recipe`.
        scale: its choices, a dataclass.
    """
    optimizer = getattr(getattr(scale, "optimizer", None), "keras_class", None)
    arguments = {"optimizer.options": _arguments(optimizer, RESERVED)}
    for name, part in recipe.classes.items():
        arguments[name] = _arguments(part.load(), part.reserved)
    kinds: dict[str, Any] = {}
    _collect(arguments, "", type(scale), scale, kinds)
    return kinds


def _collect(arguments, prefix, cls, value, kinds):
    """Adds the keys of a dataclass to `kinds`, those of the dataclasses in it too."""
    hints = typing.get_type_hints(cls)
    for field in dataclasses.fields(cls):
        key, hint = f"{prefix}{field.name}", hints[field.name]
        inner = getattr(value, field.name, None)
        part = type(inner) if dataclasses.is_dataclass(inner) else _part(hint)
        if part:
            _collect(arguments, f"{key}.", part, inner, kinds)
            if type(None) in typing.get_args(hint):
                kinds[key] = type(None)
        elif typing.get_origin(hint) is dict:
            kind = typing.get_args(hint)[1]
            for name, entry in (inner or {}).items():
                kinds[f"{key}.{name}"] = _kind(entry, kind)
            for name, default in arguments.get(key, {}).items():
                kinds[f"{key}.{name}"] = _kind(default, kind)
        elif not callable(inner):
            kinds[key] = hint


def _arguments(cls, reserved):
    """The arguments of a class that can be set, with their defaults."""
    if cls is None:
        return {}
    # `__init__`: Keras's classes hide it behind a `__new__` that takes anything.
    parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]
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


def _part(hint):
    """The dataclass in a type such as `Part | None`; None if there is none."""
    kinds = (hint, *typing.get_args(hint))
    return next((kind for kind in kinds if dataclasses.is_dataclass(kind)), None)


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
    if kind is Any and isinstance(value, (list, dict)):
        raise ValueError(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(value)
    if kind is Any or (origin is typing.Literal and value in inner):
        return value
    if origin in (tuple, list) and isinstance(value, list):
        if origin is list or inner[-1] is Ellipsis:
            inner = [inner[0]] * len(value)
        pairs = zip(value, inner, strict=True)  # a ValueError for another length
        return origin(_fit(part, kind) for part, kind in pairs)
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
