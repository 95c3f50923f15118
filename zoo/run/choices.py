"""A recipe's hyper-parameters by dotted keys: listed, set from text, checked."""

import contextlib
import dataclasses
import difflib
import inspect
import json
import math
import re
import types
import typing
from typing import Any

from zoo.run.config import ConfigurationError

# What the run itself gives to the callables whose arguments a scale holds.
_GIVEN = {
    "model": {"vocabulary_size", "target_vocabulary_size", "dtype", "name"}
    | {"character_size", "output_dim"},
    "batch": {"sources", "targets", "seed", "buckets"},
    "loss": {"name"},
    "average": {"folder", "backbone"},
    "optimizer.options": {"learning_rate", "clipnorm", "clipvalue", "global_clipnorm"}
    | {"name", "loss_scale_factor"},
}
_NUMBERS = {
    int: re.compile(r"[+-]?[0-9]+"),
    float: re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?", re.I),
}


def change(recipe, scale, texts):
    """A scale with some of its hyper-parameters changed.

    Args:
        recipe: the `Recipe`.
        scale: its choices, a dataclass.
        texts: list of "key=value". A key is a field of the scale, or goes into one by
            dots: `epochs`, `model.hidden_dim`, `optimizer.learning_rate`. A value is
            `true`, `false`, `null`, a number, a string, or JSON where a list is wanted.
            Of a key that stands there twice the last value counts.

    Returns:
        The changed scale.

    Raises:
        ConfigurationError: for an unknown key, or a value of the wrong type or out of
            range; the key, the value and what is allowed are named.
    """
    # The optimizer's name first: it decides which options there are.
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
            raise ConfigurationError(f"--set wants key=value. Received: {text!r}")
        if key not in kinds:
            raise ConfigurationError(_unknown(key, kinds))
        branch, (*parts, last) = tree, key.split(".")
        for part in parts:
            branch = branch.setdefault(part, {})
            if not isinstance(branch, dict):
                raise ConfigurationError(f"--set {text}: {part} is null already")
        branch[last] = _read(key, value, kinds[key])
    if "batch" in tree:
        scale = dataclasses.replace(scale, batch=_one_size(scale.batch, tree["batch"]))
    try:
        return _changed(scale, tree)
    except ValueError as error:
        raise ConfigurationError(f"--set: {error}") from error


def _unknown(key, kinds):
    last = key.rpartition(".")[2]
    near = [known for known in kinds if known.rpartition(".")[2] == last]
    near += difflib.get_close_matches(key, kinds, n=3)
    lasts = difflib.get_close_matches(last, {k.rpartition(".")[2] for k in kinds}, n=1)
    near += [known for known in kinds if known.rpartition(".")[2] in lasts]
    hint = f"; did you mean {' or '.join(dict.fromkeys(near))}?" if near else "."
    return (
        f"--set: this recipe has no hyper-parameter {key!r}{hint} "
        f"There are: {', '.join(sorted(kinds))}"
    )


def _one_size(old, new):
    """A batch is measured in sentences or in tokens: one takes the other's place."""
    rivals = {"batch_tokens": "batch_size", "batch_size": "batch_tokens"}
    dropped = {rivals.get(name) for name, value in new.items() if value is not None}
    return {name: value for name, value in old.items() if name not in dropped}


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


def settable(recipe, scale):
    """The hyper-parameters that `--set` can change: dict of dotted key to type."""
    kinds = {}
    _collect(_constructors(recipe, scale), "", type(scale), scale, kinds)
    return kinds


def _collect(constructors, prefix, cls, value, kinds):
    hints = typing.get_type_hints(cls)
    for field in dataclasses.fields(cls):
        key, hint = f"{prefix}{field.name}", hints[field.name]
        inner = getattr(value, field.name, None)
        part = type(inner) if dataclasses.is_dataclass(inner) else _part(hint)
        if part:
            _collect(constructors, f"{key}.", part, inner, kinds)
            if _allows_none(hint):
                kinds[key] = type(None)
        elif typing.get_origin(hint) is dict:
            kind = typing.get_args(hint)[1]
            for name, entry in (inner or {}).items():
                kinds[f"{key}.{name}"] = _kind(entry, kind)
            for name, default in _arguments(constructors.get(key)):
                if name not in _GIVEN.get(key, ()):
                    kinds[f"{key}.{name}"] = _kind(default, kind)
        elif not callable(inner):
            kinds[key] = hint


def _constructors(recipe, scale):
    """The callables whose arguments the dicts of a scale are."""
    optimizer = getattr(getattr(scale, "optimizer", None), "keras_class", None)
    classes = {name: given() for name, given in recipe.classes.items()}
    return {"optimizer.options": optimizer, **classes}


def _arguments(cls):
    """(name, default) of each argument of a class that has a name."""
    if cls is None:
        return []
    # Of `__init__`: Keras's classes hide it behind a `__new__` of any arguments.
    parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [(p.name, p.default) for p in parameters if p.kind in named]


def _kind(default, hint):
    """The type of an argument, as its default shows it."""
    if isinstance(default, (bool, int, float, str)):
        return type(default)
    return hint | None if default is None and hint is not Any else hint


def _part(hint):
    """The dataclass in a type such as `Part | None`; None if there is none."""
    kinds = (hint, *typing.get_args(hint))
    return next((kind for kind in kinds if dataclasses.is_dataclass(kind)), None)


def _allows_none(hint):
    return type(None) in typing.get_args(hint)


# === Values ===


def _read(key, text, hint):
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        kinds = typing.get_args(hint)
    else:
        kinds = (hint,)
    if text == "null" and (type(None) in kinds or Any in kinds):
        return None
    for kind in kinds:
        with contextlib.suppress(ValueError):
            return _convert(text, kind)
    allowed = " or ".join(dict.fromkeys(_say(kind) for kind in kinds))
    raise ConfigurationError(f"--set {key}: must be {allowed}. Received: {text!r}")


def _convert(text, kind):
    if kind is bool and text in ("true", "false"):
        return text == "true"
    if kind in _NUMBERS and _NUMBERS[kind].fullmatch(text):
        value = kind(text)
        return value if math.isfinite(value) else _no(text)
    if kind is str:
        return text
    if kind is Any:
        for narrow in (bool, int, float, str):
            with contextlib.suppress(ValueError):
                return _convert(text, narrow)
    origin = typing.get_origin(kind)
    if origin is typing.Literal and text in typing.get_args(kind):
        return text
    return _shaped(json.loads(text), kind) if origin in (tuple, list) else _no(text)


def _shaped(value, kind):
    """A value from JSON as the type that is wanted: lists become tuples."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin not in (tuple, list):
        fits = type(value) is kind or (kind is float and type(value) is int)
        return kind(value) if fits else _no(value)
    if not isinstance(value, list):
        _no(value)
    if origin is list or inner[-1] is Ellipsis:
        inner = [inner[0]] * len(value)
    if len(inner) != len(value):
        _no(value)
    return origin(_shaped(v, k) for v, k in zip(value, inner, strict=True))


def _no(value):
    raise ValueError(value)


def _say(kind):
    names = {
        bool: "true or false",
        int: "an integer",
        float: "a finite number",
        str: "a string",
        type(None): "null",
    }
    if kind in names:
        return names[kind]
    if typing.get_origin(kind) is typing.Literal:
        return f"one of {list(typing.get_args(kind))}"
    return f"JSON of the form {kind}"
