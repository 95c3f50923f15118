"""Initializers, and variables that they draw."""

from typing import Any

import keras
from keras import ops

from zoo.backend import Shape


def clone_initializer(initializer: Any) -> Any:
    """Copies an initializer; a seed that the user set is kept.

    One instance would give every variable the same values.
    """
    initializer = keras.initializers.get(initializer)
    return initializer.clone() if hasattr(initializer, "clone") else initializer


def add_variable(layer: Any, name: str, shape: Shape, initializer: Any) -> None:
    """Gives a layer a variable as an attribute, drawn by a clone of the initializer."""
    initializer = clone_initializer(initializer)
    weight = layer.add_weight(name=name, shape=shape, initializer=initializer)
    setattr(layer, name, weight)


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
