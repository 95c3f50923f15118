"""Bases of layers: constructor arguments, kept in configs, and initial weights."""

import dataclasses
import functools
import inspect
import types
import typing
from collections.abc import Callable
from inspect import Parameter
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import keras
from keras import ops

from zoo.backend import Shape
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


@typing.dataclass_transform(field_specifiers=(dataclasses.field,))
class Configured:
    """Base of layers and backbones whose annotated attributes are their arguments.

    A class's constructor is made as a dataclass's is, of the annotated attributes,
    those of base classes first. It checks each argument by its annotation, sets it, and
    calls `setup`. A `ClassVar` is no argument.

    Example:
        >>> class Scale(Configured, keras.layers.Layer):
        ...     units: Size
        ...     mode: Literal["a", "b"] = "a"
        >>> layer = Scale(3, name="scale")
        >>> layer.units, layer.get_config()["mode"]
        (3, 'a')
    """

    arguments: ClassVar[dict[str, Parameter]] = {}

    if TYPE_CHECKING:  # arguments of all Keras layers, read by Keras itself
        name: Any = dataclasses.field(default=None, kw_only=True)
        dtype: Any = dataclasses.field(default=None, kw_only=True)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__init__" in vars(cls):
            return
        hints = inspect.get_annotations(cls, eval_str=True).items()
        own = {k: v for k, v in hints if ClassVar not in (v, typing.get_origin(v))}
        if not own:
            return
        base = super(cls, cls).__init__
        if base is not Configured.__init__ and not hasattr(base, "__signature__"):
            raise TypeError(
                f"`{cls.__name__}` must have an `__init__`, for a base class has its "
                f"own. Received: annotated arguments {[*own]}"
            )
        cls.arguments = {}
        for base in reversed(cls.__mro__[1:]):
            cls.arguments |= getattr(base, "arguments", {})
        for name, hint in own.items():
            default = vars(cls).get(name, Parameter.empty)
            cls.arguments[name] = Parameter(
                name, Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=hint
            )
            if name in vars(cls):  # it would hide a layer: torch keeps those elsewhere
                delattr(cls, name)
        cls.__init__ = _make_constructor(cls.arguments)  # type: ignore[method-assign]

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.setup()

    def setup(self) -> None:
        """Makes the parts, once the arguments are attributes."""

    def get_config(self) -> dict[str, Any]:
        own = {name: _serialized(getattr(self, name)) for name in self.arguments}
        return {**super().get_config(), **own}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        own = {  # KerasHub has made some objects of theirs already
            name: keras.saving.deserialize_keras_object(value)
            for name, value in config.items()
            if isinstance(value, (dict, list)) and name != "dtype"
        }
        return super().from_config(config | own)


def _make_constructor(arguments):
    """The `__init__` with these arguments, and Keras's own by keyword."""
    own = Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)
    options = Parameter("options", Parameter.VAR_KEYWORD)
    signature = inspect.Signature([own, *arguments.values(), options])

    def construct(self, *values, **options):
        try:
            given = signature.bind(self, *values, **options)
        except TypeError as error:
            message = f"{type(self).__name__}: {error}. Allowed are {[*arguments]}"
            raise TypeError(message) from None
        given.apply_defaults()
        super(Configured, self).__init__(**given.arguments["options"])
        for name, argument in arguments.items():
            value = _checked(name, given.arguments[name], argument.annotation)
            setattr(self, name, value)
        self.setup()

    construct.__signature__ = signature  # type: ignore[attr-defined]
    return construct


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


# === Initial weights ===


def clone_initializer(initializer: Any) -> Any:
    """Copies an initializer; a seed that the user set is kept.

    One instance would give every variable the same values.
    """
    initializer = keras.initializers.get(initializer)
    return initializer.clone() if hasattr(initializer, "clone") else initializer


@keras.saving.register_keras_serializable(package="zoo")
class PerGate(keras.initializers.Initializer):
    """Draws each of a recurrent kernel's gates by itself.

    Keras keeps the matrices of all gates side by side in one; an orthogonal initializer
    would make that whole matrix orthogonal, and not U, U_z and U_r as the papers do.

    Args:
        initializer: of each part; a seed that it has is counted up from gate to gate.
        gates: parts of the last axis: 3 for a GRU, 4 for an LSTM.

    Raises:
        ValueError: when called for a last axis that has no such parts.

    Example:
        >>> kernel = PerGate("orthogonal", 3)((4, 12))
        >>> U_z = keras.ops.convert_to_numpy(kernel)[:, :4]
        >>> bool(abs(U_z @ U_z.T).round(4).trace() == 4)
        True
    """

    def __init__(self, initializer: Any = "orthogonal", gates: int = 3) -> None:
        self.initializer = keras.initializers.get(initializer)
        self.gates = gates

    def __call__(self, shape: Shape, dtype: Any = None) -> Any:
        dtype = keras.backend.standardize_dtype(dtype)
        *lead, size = shape
        if size % self.gates:
            raise ValueError(
                f"The last axis must have {self.gates} equal parts. "
                f"Received: shape={tuple(shape)}"
            )
        # In float32: half precisions have no orthogonal matrices.
        parts = [
            self._of_gate(gate)((*lead, size // self.gates), dtype="float32")
            for gate in range(self.gates)
        ]
        return ops.cast(ops.concatenate(parts, axis=-1), dtype)

    def _of_gate(self, gate):
        """A copy, since one draws the same numbers again, even with a seed."""
        copy = clone_initializer(self.initializer)
        config = getattr(copy, "get_config", dict)()
        if isinstance(config.get("seed"), int):
            copy = type(copy).from_config({**config, "seed": config["seed"] + gate})
        return copy

    def get_config(self) -> dict[str, Any]:
        initializer = keras.initializers.serialize(self.initializer)
        return {"initializer": initializer, "gates": self.gates}


def in_float32(initializer: Any, dtype: Any) -> Any:
    """An initializer that draws a variable of half precision in float32.

    Torch has no QR decomposition of half precisions.
    """
    half = "16" in keras.backend.standardize_dtype(dtype)
    return PerGate(initializer, gates=1) if half and initializer else initializer


class DrawnInFloat32:
    """Base of layers whose variables of half precision are drawn in float32."""

    def add_weight(
        self, shape: Any = None, initializer: Any = None, **options: Any
    ) -> Any:
        dtype = options.get("dtype") or self.variable_dtype  # type: ignore[attr-defined]
        initializer = in_float32(initializer, dtype)
        return super().add_weight(shape, initializer, **options)  # type: ignore[misc]


class ConfiguredLayer(Configured, DrawnInFloat32, keras.layers.Layer):
    """A `Configured` layer; its first output has its first input's Keras mask."""

    supports_masking = True

    def make_weight(self, name: str, shape: Shape, initializer: Any) -> None:
        """Makes a variable of that name, drawn by a clone of the initializer."""
        initializer = clone_initializer(initializer)
        setattr(self, name, self.add_weight(shape, initializer, name=name))

    def make_dropout(self) -> None:
        """Makes `drop`, of the arguments `dropout` and `seed`."""
        options = {"seed": self.seed, "dtype": self.dtype_policy}
        self.drop = keras.layers.Dropout(self.dropout, **options)
