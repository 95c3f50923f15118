"""The base classes of the papers' backbones."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import keras
import keras_hub

from zoo.backend import Shape, Tensor
from zoo.layers.configured import Configured
from zoo.layers.functional import cast_weights, transpose


class SubclassedModel(type):
    """Keeps a subclassed model one, whatever happens to KerasHub's base classes.

    When the first functional model of KerasHub is made in a process (a BERT, say),
    Keras puts its class `Functional` among the bases of `keras_hub.models.Backbone` and
    `Task` themselves, whose subclasses then all demand `inputs` and `outputs`.
    """

    def mro(cls) -> Any:
        return [
            base
            for base in super().mro()
            if not base.__module__.startswith("keras.")
            or base.__name__ not in ("Function", "Functional")
        ]


class Presets(metaclass=SubclassedModel):
    """`from_preset` with zoo's names and zoo's checks, `save_to_preset` in float32."""

    @classmethod
    def from_preset(cls, preset: str, **kwargs: Any) -> Any:
        """Loads a preset by what `zoo.load` takes: a bundled name, a path, a handle.

        Args:
            preset: see `zoo.load`.
            **kwargs: see KerasHub's `from_preset`, such as `dtype`.

        Raises:
            ValueError: if there is no such preset, or if it is damaged or foreign.
        """
        from zoo.presets.registry import load_class  # presets stand on models

        return load_class(cls, preset, kwargs)

    @classmethod
    def _from_folder(cls, folder: Any, **kwargs: Any) -> Any:
        return super().from_preset(folder, **kwargs)

    def save_to_preset(self, preset_dir: str, **kwargs: Any) -> None:
        """KerasHub's `save_to_preset`, recorded as computing in float32."""
        super().save_to_preset(preset_dir, **kwargs)
        mixed = r'("(?:name|source_name|default_policy)": )"mixed_b?float16"'
        for path in Path(preset_dir).glob("*.json"):
            text = path.read_text(encoding="utf-8")
            path.write_text(re.sub(mixed, r'\1"float32"', text), encoding="utf-8")


class Backbone(Configured, Presets, keras_hub.models.Backbone):
    """Base class of the zoo's backbones."""

    def parts(self) -> Iterable[tuple[Any, ...]]:
        """Layers in the order in which they are built, each with its inputs' sizes."""
        raise NotImplementedError

    def build(self, input_shape: Shape | None = None) -> None:
        for layer, *sizes in self.parts():
            if layer is not None:
                layer.build(*((None, None, size) for size in sizes))
        self.built = True

    def initializer(self) -> Any:
        """A new initializer of the matrices of `dense`: Keras's default."""
        return "glorot_uniform"

    def named(self, name: str) -> dict[str, Any]:
        """The options that every layer of the backbone has: its dtype, and a name."""
        return {"dtype": self.dtype_policy, "name": name}

    def dense(self, units: int, name: str, **options: Any) -> keras.layers.Dense:
        """A Dense layer in the backbone's dtype."""
        if "kernel_initializer" not in options:
            options["kernel_initializer"] = self.initializer()
        return keras.layers.Dense(units, **self.named(name), **options)

    def uniform(self) -> keras.initializers.Initializer:
        """A new U(-r, r), of the argument `initializer_range`."""
        limit = self.initializer_range
        return keras.initializers.RandomUniform(-limit, limit)

    def normal(self) -> keras.initializers.Initializer:
        """A new N(0, r²), of the argument `initializer_range`."""
        return keras.initializers.RandomNormal(stddev=self.initializer_range)

    # === The output layer ===
    @property
    def output_or_embedding(self) -> Any:
        """The layer that gives the logits: `output_layer`, or tied word vectors."""
        layer = self.output_layer
        return self.token_embedding if layer is None else layer

    def output_weights(self) -> tuple[Tensor, Tensor | None]:
        """The output layer's matrix `(d, V)` and its bias `(V,)` or None.

        Raises:
            ValueError: if the output layer is quantized.
        """
        if not self.has_plain_output:
            raise ValueError(
                "A quantized output layer has no plain weights: train the model with "
                f"its logits. Received: {self.output_or_embedding.quantization_mode}"
            )
        if self.output_layer is None:
            words = cast_weights(self.token_embedding.embeddings, self.compute_dtype)
            return transpose(words), None
        kernel, bias = self.output_layer.kernel, self.output_layer.bias
        bias = None if bias is None else cast_weights(bias, self.compute_dtype)
        return cast_weights(kernel, self.compute_dtype), bias

    @property
    def has_plain_output(self) -> bool:
        """Whether the output layer is a plain matrix product, not quantized."""
        return self.output_or_embedding.quantization_mode is None

    def enable_lora(self, rank: int, target_layer_names: Any = None) -> None:
        """Is refused: KerasHub's LoRA would train biases that its files then lack."""
        raise NotImplementedError(
            "zoo's backbones have no LoRA; `enable_lora` of a Dense layer adapts that "
            f"layer. Received: rank={rank}, target_layer_names={target_layer_names}"
        )
