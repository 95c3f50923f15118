"""LoRA (Hu et al. 2022) of the matrices that the zoo's own layers keep."""

import contextlib
import contextvars
from collections.abc import Iterable, Iterator
from typing import Any

import keras
from keras import ops

from zoo.backend import Tensor
from zoo.layers.initializers import in_float32

# The sums W + A B that stand for a while, by layer and name; see `merged_lora`.
_SUMS: contextvars.ContextVar[dict[tuple[int, str], Tensor]]
_SUMS = contextvars.ContextVar("sums")


class Matrix:
    """A layer's matrix W, an attribute; with LoRA it reads as W + A B."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, layer: Any, owner: Any = None) -> Any:
        if layer is None:
            return self
        weights = layer.__dict__.get(self.name)
        if not layer.lora_enabled or weights is None:
            return weights
        kept = _SUMS.get({}).get((id(layer), self.name))
        if kept is not None:
            return kept
        a, b = factors(layer, self.name)
        return ops.add(weights, ops.matmul(a, b))

    def __set__(self, layer: Any, value: Any) -> None:
        layer.__dict__[self.name] = value


def factors(layer: Any, name: str) -> tuple[Any, Any]:
    """A layer's variables A `(n, rank)` and B `(rank, m)` of one of its matrices."""
    return getattr(layer, f"lora_{name}_a"), getattr(layer, f"lora_{name}_b")


class LoRALayer:
    """Base of layers whose matrices, read as attributes, LoRA can adapt.

    A file of the layer's weights has the sum W + A B; what is loaded into an adapted
    layer becomes its W, and B zero.
    """

    matrices: tuple[str, ...] = ()  # names of attributes
    lora_enabled = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name in cls.__dict__.get("matrices", ()):
            setattr(cls, name, Matrix(name))

    def add_weight(
        self, shape: Any = None, initializer: Any = None, **options: Any
    ) -> Any:
        dtype = options.get("dtype") or self.variable_dtype  # type: ignore[attr-defined]
        initializer = in_float32(initializer, dtype)
        return super().add_weight(shape, initializer, **options)  # type: ignore[misc]

    def enable_lora(self, rank: int) -> None:
        """Freezes the layer's matrices and adds A, drawn, and B, zero, to each."""
        if not self.built or self.lora_enabled:  # type: ignore[attr-defined]
            raise ValueError(
                "LoRA is added once, to a layer that is built. Received: "
                f"lora_enabled={self.lora_enabled}"
            )
        self._tracker.unlock()  # type: ignore[attr-defined]  # as Keras's layers do
        for name in self._present():
            weights = getattr(self, name)
            weights.trainable = False
            rows, columns = weights.shape
            sizes = {"a": (rows, rank), "b": (rank, columns)}
            for factor, shape in sizes.items():
                variable = self.add_weight(  # type: ignore[attr-defined]
                    name=f"lora_{name}_{factor}",
                    shape=shape,
                    initializer="he_uniform" if factor == "a" else "zeros",
                    dtype="float32",
                )
                setattr(self, f"lora_{name}_{factor}", variable)
        self._tracker.lock()  # type: ignore[attr-defined]
        self.lora_enabled = True

    def _present(self):
        return [n for n in self.matrices if self.__dict__.get(n) is not None]

    def _own(self):
        """The layer's own variables, in the order of its files."""
        kept: dict[str, Tensor] = {}
        super().save_own_variables(kept)
        return [v for v in kept.values() if not v.name.startswith("lora_")]

    def save_own_variables(self, store: Any) -> None:
        """Saves the sums of the matrices and what LoRA adds to them."""
        if not self.lora_enabled:
            super().save_own_variables(store)
            return
        sums = {id(self.__dict__[n]): getattr(self, n) for n in self._present()}
        for place, variable in enumerate(self._own()):
            store[str(place)] = sums.get(id(variable), variable)

    def load_own_variables(self, store: Any) -> None:
        """Loads a layer's matrices, to which LoRA then adds nothing."""
        if not self.lora_enabled:
            super().load_own_variables(store)
            return
        own = self._own()
        if len(store.keys()) != len(own):
            raise ValueError(
                f"The layer has {len(own)} variables. Received: {len(store.keys())}"
            )
        for place, variable in enumerate(own):
            variable.assign(store[str(place)])
        for name in self._present():
            _, b = factors(self, name)
            b.assign(ops.zeros(b.shape))


@contextlib.contextmanager
def merged_lora(layers: Iterable[keras.Layer]) -> Iterator[None]:
    """Computes W + A B of adapted layers once, before a loop whose steps read them."""
    adapted = [x for x in layers if isinstance(x, LoRALayer) and x.lora_enabled]
    sums = {
        (id(layer), name): getattr(layer, name)
        for layer in adapted
        for name in layer._present()
    }
    token = _SUMS.set({**_SUMS.get({}), **sums})
    try:
        yield
    finally:
        _SUMS.reset(token)


def lora_variables(layer: keras.Layer) -> dict[str, keras.Variable]:
    """The variables that LoRA has added to a layer itself."""
    return {
        name: value
        for name, value in vars(layer).items()
        if name.startswith("lora_") and isinstance(value, keras.Variable)
    }
