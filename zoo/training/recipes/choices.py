"""A recipe's hyper-parameters by dotted keys: listed, set from text, checked."""

import contextlib
import dataclasses
import inspect
import json
import math
import types
import typing
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from zoo.training.config import ConfigurationError, refused_as

# Arguments of models, batches and optimizers that a run gives itself, or never changes.
_GIVEN = (
    *("vocabulary_size", "target_vocabulary_size", "classes", "image_shape"),
    *("image_encoder", "seed", "buckets", "name", "dtype", "learning_rate"),
    *("clipnorm", "clipvalue", "global_clipnorm", "loss_scale_factor"),
    *("use_ema", "ema_momentum", "ema_overwrite_frequency"),
)
_BATCH_SIZES = {"batch.batch_tokens", "batch.batch_size"}  # one replaces the other


class ClassArguments(NamedTuple):
    """A class whose arguments are in a recipe's choices: in a dict, or as its fields.

    Attributes:
        load: function that returns the class, as `lambda: zoo.models.Luong`, so that a
            recipe's `--help` needs no Keras.
        trial: arguments with which the class is tried before any work is done, if
            anything was set; None for no trial.
    """

    load: Callable[[], Any]
    trial: tuple[Any, ...] | None = None

    def make(self, settings: Any, field: str, *given: Any) -> Any:
        """Builds an object of the class.

        Args:
            settings: the choices, with a dict of arguments or fields of their names.
            field: the name of the dict.
            *given: what the run gives.
        """
        arguments = getattr(settings, field, None)
        if arguments is None:
            names = self.defaults()
            arguments = {k: v for k, v in vars(settings).items() if k in names}
        return self.load()(*given, **arguments)

    def defaults(self) -> dict[str, Any]:
        """Returns the arguments that can be set, with their defaults.

        Those without a default and those that the run gives, such as `dtype`, can't.
        """
        # `__init__`: Keras's classes hide it behind a `__new__` that takes anything.
        _, *parameters = inspect.signature(self.load().__init__).parameters.values()
        return {
            p.name: p.default
            for p in parameters
            if p.default is not p.empty and p.name not in _GIVEN
        }


def change(recipe: Any, scale: Any, texts: Sequence[str]) -> Any:
    """Changes hyper-parameters of a scale.

    Args:
        recipe: the `Recipe`.
        scale: its choices, a dataclass.
        texts: list of "key=value". A key is a field of the scale, or an entry of one:
            `epochs`, `model.hidden_dim`, `optimizer.learning_rate`. A value is JSON
            (`true`, `null`, a number, a list) or, for a string, the text itself.

    Returns:
        The changed scale.

    Raises:
        ConfigurationError: for an unknown key, or a value of the wrong type or out of
            range; it names the key, the value and what is allowed.
    """
    # The optimizer's name decides which options there are, so it comes first.
    names = [text for text in texts if text.startswith("optimizer.name=")]
    for part in (names, [text for text in texts if text not in names]):
        new: dict[str, Any] = {}
        kinds = settable(recipe, scale) if part else {}
        for text in part:
            key, equals, value = text.partition("=")
            if not equals or key not in kinds:
                raise ConfigurationError(
                    "--set needs key=value, where key is one of "
                    f"{', '.join(sorted(kinds))}. Received: {text!r}"
                )
            new[key] = _read(key, value, kinds[key])
        if _BATCH_SIZES & new.keys():
            now = {f"batch.{name}" for name in scale.batch}
            new = dict.fromkeys(_BATCH_SIZES & now) | new
        with refused_as("--set"):
            scale = _changed(scale, new)
    return scale


def check(recipe: Any, settings: Any) -> None:
    """Tries the optimizer and the parts of a run before any work."""
    with refused_as("optimizer"):
        settings.optimizer(1000, settings.epochs)
    for name, part in recipe.classes.items():
        if part.trial is not None:
            with refused_as(name):
                part.make(settings, name, *part.trial)


def _changed(value, new, prefix=""):
    """A dataclass, or a dict in one, with the new values of dotted keys."""
    if isinstance(value, dict):
        keys = (key for key in new if key.startswith(prefix))
        return value | {key.removeprefix(prefix): new[key] for key in keys}
    changes = {}
    for name, old in vars(value).items():
        key = f"{prefix}{name}"
        nested = isinstance(old, dict) or dataclasses.is_dataclass(old)
        changes[name] = _changed(old, new, f"{key}.") if nested else new.get(key, old)
    return dataclasses.replace(value, **changes)


def settable(recipe: Any, scale: Any) -> dict[str, Any]:
    """Returns the types of the hyper-parameters that `--set` can change, by key."""
    further = {name: part.defaults() for name, part in recipe.classes.items()}
    optimizer = ClassArguments(lambda: scale.optimizer.keras_class)
    further["optimizer.options"] = optimizer.defaults()
    return dict(_kinds(scale, further))


def _kinds(value, further, prefix=""):
    """Yields key and type of a dataclass's values, those of dicts in it too."""
    for name, hint in typing.get_type_hints(type(value)).items():
        key, inner = f"{prefix}{name}", getattr(value, name)
        if dataclasses.is_dataclass(inner):
            yield from _kinds(inner, further, f"{key}.")
        elif typing.get_origin(hint) is dict:
            kind = typing.get_args(hint)[1]
            for entry, default in {**inner, **further.get(key, {})}.items():
                yield f"{key}.{entry}", _kind(default, kind)
        else:
            yield key, hint


def _kind(default, hint):
    """The type of an argument, as its default shows it: "no" must not be true."""
    if isinstance(default, (bool, int, float, str)):
        return type(default)
    return hint | None if default is None and hint is not Any else hint


def _read(key, text, hint):
    """The value of a text, of a type."""
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    kinds = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    if value is None and types.NoneType in kinds:  # not the string "null"
        return None
    for kind in kinds:
        with contextlib.suppress(ValueError, OverflowError):
            return _fit(text if kind is str else value, kind)
    allowed = hint.__name__ if isinstance(hint, type) else hint
    raise ConfigurationError(f"--set {key}: must be {allowed}. Received: {text!r}")


def _fit(value, kind):
    """A value as one of a type: integers may become floats, and lists tuples."""
    if typing.get_origin(kind) is tuple and isinstance(value, list):
        inner = typing.get_args(kind)
        inner = [inner[0]] * len(value) if inner[-1] is Ellipsis else inner
        pairs = zip(value, inner, strict=True)  # a ValueError for another length
        return tuple(_fit(part, kind) for part, kind in pairs)
    value = float(value) if (kind, type(value)) == (float, int) else value
    number = not isinstance(value, float) or math.isfinite(value)
    if not number or kind not in (Any, type(value)):
        raise ValueError(value)
    return value
