"""The base classes of the papers' backbones."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import h5py
import keras
import keras_hub
from keras import ops

from zoo.backend import Shape, Tensor
from zoo.checks import positive
from zoo.files import StrPath
from zoo.layers.configured import Configured
from zoo.layers.functional import cast_weights

_RANK = "lora/vars/rank"  # in KerasHub's files


class SubclassedModel(type):
    """Keeps a subclassed model one, whatever happens to KerasHub's base classes.

    When the first functional model of KerasHub is made in a process (a BERT, say),
    Keras puts its class `Functional` among the bases of `keras_hub.models.Backbone` and
    `Task` themselves, whose subclasses then all demand `inputs` and `outputs`.
    """

    def mro(cls) -> Any:
        functional = ("Function", "Functional")
        return [
            base
            for base in super().mro()
            if not base.__module__.startswith("keras.")
            or base.__name__ not in functional
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

    def embedding(
        self,
        count: int,
        size: int,
        name: str,
        initializer: Any,
        cls: Any = keras.layers.Embedding,
        **options: Any,
    ) -> keras.layers.Embedding:
        """Word vectors in the backbone's dtype."""
        options["embeddings_initializer"] = initializer
        return cls(count, size, **self.named(name), **options)

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
            kernel, bias = ops.transpose(self.token_embedding.embeddings), None
        else:
            kernel, bias = self.output_layer.kernel, self.output_layer.bias
        bias = None if bias is None else cast_weights(bias, self.compute_dtype)
        return cast_weights(kernel, self.compute_dtype), bias

    @property
    def has_plain_output(self) -> bool:
        """Whether the output layer is a plain matrix product, not quantized."""
        return self.output_or_embedding.quantization_mode is None

    # === LoRA, KerasHub's ===
    def default_lora_layer_names(self) -> list[str]:
        """A Transformer's projections of queries and values, as in Hu et al. 2022."""
        return ["W_Q", "W_V"]

    def enable_lora(self, rank: int, target_layer_names: Any = None) -> None:
        """Freezes all weights and adds trainable ones of low rank to Dense layers.

        Args:
            rank: of the product that is added to a layer's kernel.
            target_layer_names: list of str, names of Dense layers;
                `default_lora_layer_names()` by default.

        Raises:
            ValueError: for names of other layers, a rank that is not a positive
                integer, or if there is LoRA already; then nothing is changed.
        """
        positive("rank", rank)
        names = target_layer_names
        names = self.default_lora_layer_names() if names is None else list(names)
        layers = self._flatten_layers(include_self=False)
        allowed = {x.name for x in layers if isinstance(x, keras.layers.Dense)}
        if not names or {*names} - allowed or hasattr(self, "_lora_rank"):
            raise ValueError(
                f"LoRA is added once, to Dense layers: {', '.join(sorted(allowed))}. "
                f"Received: {names}, rank={rank}"
            )
        super().enable_lora(rank, names)
        for variable in self.trainable_variables:  # biases, which LoRA's files lack
            variable.trainable = variable.name.startswith("lora_")

    def load_lora_weights(self, filepath: StrPath) -> None:
        """Loads what `save_lora_weights` saved; default layers get LoRA if none has it.

        Raises:
            ValueError: for a file of other layers; then nothing is changed.
        """
        layers = [x for x in self._flatten_layers(include_self=False) if x.weights]
        names = self.default_lora_layer_names()
        places = [i for i, x in enumerate(layers) if x.name in names]
        found: dict[str, Any] = {}
        with h5py.File(filepath, "r") as file:
            file.visititems(lambda name, x: found.update({name: x}))
            shapes = {k: x.shape for k, x in found.items() if hasattr(x, "shape")}
            rank = int(file[_RANK][()]) if shapes.get(_RANK) == () else 0
        wanted: dict[str, Any] = {_RANK: ()}
        for place in getattr(self, "_lora_enabled_layers", places):
            rows, columns = layers[place].kernel.shape
            wanted[f"lora/{place}/vars/lora_kernel_a"] = rows, rank
            wanted[f"lora/{place}/vars/lora_kernel_b"] = rank, columns
        if shapes != wanted:
            raise ValueError(
                "The file must have LoRA of the same layers; call `enable_lora` for "
                f"them first. Received: filepath={filepath!r}"
            )
        super().load_lora_weights(filepath)
