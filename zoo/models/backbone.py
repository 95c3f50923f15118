"""The base classes of the papers' backbones."""

import re
from pathlib import Path
from typing import Any

import h5py
import keras
import keras_hub
from keras import ops

from zoo.backend import Tensor
from zoo.checks import positive
from zoo.files import StrPath
from zoo.layers.configured import Configured
from zoo.layers.functional import cast_weights
from zoo.layers.lora import LoRALayer, lora_variables


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
        from zoo.presets.build import build_named  # presets stand on models

        return build_named(cls, preset, kwargs)

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

    def dense(self, units: int, name: str, **options: Any) -> keras.layers.Dense:
        """A Dense layer in the backbone's dtype."""
        return keras.layers.Dense(units, dtype=self.dtype_policy, name=name, **options)

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
        options |= {"embeddings_initializer": initializer, "name": name}
        return cls(count, size, dtype=self.dtype_policy, **options)

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

    # === LoRA ===
    def default_lora_layer_names(self) -> list[str]:
        """Names of the layers that `enable_lora` adapts by default.

        They are the zoo's own (cells, attentions, what joins context and state), a
        Transformer's projections, and the output layer, be it tied word vectors.
        """
        own = [x.name for x in self._flatten_layers() if isinstance(x, LoRALayer)]
        dense = ["W_Q", "W_K", "W_V", "W_O", self.output_or_embedding.name]
        return [*dict.fromkeys([*own, *dense])]

    def enable_lora(self, rank: int, target_layer_names: Any = None) -> None:
        """Freezes all weights and adds trainable ones of low rank to some layers.

        A matrix W of these layers then is W + A B, A `(n, rank)` and B `(rank, m)`. B
        is zero at first: nothing changes before training. A model that was trained
        before is compiled anew.

        Args:
            rank: columns of A and rows of B.
            target_layer_names: list of str, names of Dense and Embedding layers and of
                the zoo's own (attentions, cells); `default_lora_layer_names()` by
                default.

        Raises:
            ValueError: if none of these layers can be adapted, for a rank that is not a
                positive integer, or if there is LoRA already; then nothing is changed.
        """
        positive("rank", rank)
        names = target_layer_names
        names = self.default_lora_layer_names() if names is None else names
        layers = self._weighted_layers()
        places = [
            place
            for place, layer in enumerate(layers)
            if layer.name in names and hasattr(layer, "enable_lora")
        ]
        if not places or hasattr(self, "_lora_rank"):
            raise ValueError(
                "LoRA is added once, to layers of the backbone that can have it. "
                f"Received: {names}, rank={rank}"
            )
        self.trainable = True  # of its parts, only what comes now
        for variable in self.variables:
            variable.trainable = False
        for place in places:
            layers[place].enable_lora(rank)
        self._lora_enabled_layers, self._lora_rank = places, rank  # as KerasHub has it

    def save_lora_weights(self, filepath: StrPath) -> None:
        """Saves what `enable_lora` added, alone: KerasHub's file, for any layer.

        Raises:
            ValueError: if there is no LoRA, or for a name that doesn't end in
                `.lora.h5`.
        """
        variables = self._lora_variables()
        if not variables or not str(filepath).endswith(".lora.h5"):
            raise ValueError(
                "`save_lora_weights` needs a model with LoRA and a name that ends in "
                f"`.lora.h5`. Received: filepath={filepath!r}"
            )
        with h5py.File(filepath, "w") as file:
            file["lora/vars/rank"] = self._lora_rank
            for name, variable in variables.items():
                file[name] = ops.convert_to_numpy(variable)

    def load_lora_weights(self, filepath: StrPath) -> None:
        """Loads what `save_lora_weights` saved; call `enable_lora(rank)` first.

        Raises:
            ValueError: if the model has no LoRA, another rank, or other layers.
        """
        variables = self._lora_variables()
        with h5py.File(filepath, "r") as file:
            layers = {*file["lora"]} - {"vars"}
            fits = layers == {name.split("/")[1] for name in variables} and all(
                name in file and file[name].shape == tuple(variable.shape)
                for name, variable in variables.items()
            )
            if not fits:
                raise ValueError(
                    f"The file has LoRA of rank {file['lora/vars/rank'][()]} of "
                    f"{len(layers)} layers; call `enable_lora` for the same ones. "
                    f"Received: filepath={filepath!r}"
                )
            for name, variable in variables.items():
                variable.assign(file[name][()])

    def _weighted_layers(self):
        """The layers with weights, in the order by which KerasHub's files know them."""
        layers = self._flatten_layers(include_self=False)
        return [layer for layer in layers if layer.weights]

    def _lora_variables(self):
        """The variables that LoRA added, by their names in files."""
        layers = self._weighted_layers()
        return {
            f"lora/{place}/vars/{name}": variable
            for place in getattr(self, "_lora_enabled_layers", ())
            for name, variable in lora_variables(layers[place]).items()
        }
