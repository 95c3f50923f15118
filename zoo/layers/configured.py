"""Constructor arguments: checked by their annotations, kept and written to configs."""

import functools
import inspect
import types
import typing
from collections.abc import Callable
from typing import Annotated, Any, Literal

import keras

from zoo.checks import above_zero, integer, one_of, positive, rate, zero_or_above

Size = Annotated[int, positive]
Count = Annotated[int, functools.partial(integer, least=0)]
Rate = Annotated[float, rate]
AboveZero = Annotated[float, above_zero]
ZeroOrAbove = Annotated[float, zero_or_above]


def instance(*classes: type) -> Callable[[str, Any], Any]:
    """The check that an argument is of one of these classes."""

    def check(name, value):
        if not isinstance(value, classes):
            allowed = " or ".join(cls.__name__ for cls in classes)
            raise ValueError(
                f"`{name}` must be of zoo.layers' {allowed}. Received: {name}={value!r}"
            )
        return value

    return check


Initializer = Annotated[Any, lambda name, value: keras.initializers.get(value)]


class Configured:
    """Base of layers and backbones whose config is their constructor's arguments.

    A constructor calls `self.configure(locals())` after `super().__init__(…)`.

    Example:
        >>> class Scale(Configured, keras.layers.Layer):
        ...     def __init__(self, units: Size, mode: Literal["a", "b"], **kwargs):
        ...         super().__init__(**kwargs)
        ...         self.configure(locals())
        >>> layer = Scale(3, "a")
        >>> layer.units, layer.get_config()["mode"]
        (3, 'a')
    """

    argument_names: tuple[str, ...] = ()

    def configure(self, arguments: dict[str, Any]) -> None:
        """Checks a constructor's `locals()` and sets its arguments as attributes."""
        constructor = arguments["__class__"].__init__
        hints = _hints(constructor)
        names = [
            name
            for name, parameter in inspect.signature(constructor).parameters.items()
            if name not in ("self", "dtype") and parameter.kind != parameter.VAR_KEYWORD
        ]
        for name in names:
            setattr(self, name, _checked(name, arguments[name], hints.get(name)))
        self.argument_names = (*self.argument_names, *names)

    def get_config(self) -> dict[str, Any]:
        own = {name: _serialized(getattr(self, name)) for name in self.argument_names}
        return {**super().get_config(), **own}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        read = keras.saving.deserialize_keras_object
        own = {  # KerasHub has made some objects of theirs already
            name: read(value)
            for name, value in config.items()
            if isinstance(value, (dict, list)) and name != "dtype"
        }
        return super().from_config(config | own)


@functools.cache
def _hints(constructor):
    return typing.get_type_hints(constructor, include_extras=True)


def _checked(name, value, hint):
    """The value, by the check that an annotation has."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if hint is bool:
        return bool(value)
    if origin is Literal:
        return one_of(name, value, parts)
    if origin is Annotated:
        return parts[1](name, value)
    if origin in (types.UnionType, typing.Union) and value is not None:
        return _checked(name, value, parts[0])
    return value


def _serialized(value):
    if isinstance(value, (list, tuple)):
        return [_serialized(part) for part in value]
    return keras.saving.serialize_keras_object(value)
