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


def initializer(name: str, value: Any) -> Any:
    """Returns the initializer that a name, a config or an instance stands for."""
    return keras.initializers.get(value)


Initializer = Annotated[Any, initializer]


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
        """Checks arguments by the annotations they have and sets them as attributes.

        Args:
            arguments: `locals()` of a constructor that calls `super()`.

        Raises:
            ValueError: naming the argument, what was received and what is allowed.
        """
        checks = _checks(arguments["__class__"])
        for name, check in checks.items():
            value = arguments[name]
            setattr(self, name, check(name, value) if check else value)
        self.argument_names = (*self.argument_names, *checks)

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
def _checks(cls: type) -> dict[str, Callable[[str, Any], Any] | None]:
    """The check of each argument of a class's constructor, None for none."""
    hints = typing.get_type_hints(cls.__init__, include_extras=True)  # type: ignore[misc]
    parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]  # type: ignore[misc]
    return {
        parameter.name: _check_of(hints.get(parameter.name))
        for parameter in parameters
        if parameter.kind != parameter.VAR_KEYWORD and parameter.name != "dtype"
    }


def _check_of(hint):
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if hint is bool:
        return lambda name, value: bool(value)
    if origin is Literal:
        return lambda name, value: one_of(name, value, parts)
    if origin is Annotated:
        return parts[1]
    if origin in (types.UnionType, typing.Union):
        check = next(filter(None, map(_check_of, parts)), None)
        return check and (
            lambda name, value: None if value is None else check(name, value)
        )
    return None


def _serialized(value):
    if isinstance(value, (list, tuple)):
        return [_serialized(part) for part in value]
    return keras.saving.serialize_keras_object(value)
