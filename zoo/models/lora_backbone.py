"""LoRA of backbones: what is adapted, frozen, saved and loaded."""

from typing import Any

import h5py
import keras

from zoo.checks import positive
from zoo.files import StrPath
from zoo.layers.lora import LoRALayer, lora_variables


class LowRank:
    """`enable_lora`, `save_lora_weights` and `load_lora_weights` of a backbone."""

    def default_lora_layer_names(self) -> list[str]:
        """Names of the layers that `enable_lora` adapts by default.

        They are the matrices of recurrent cells, of attentions and of what joins their
        context to the state (`W_a`, `W_c`, ...), of a Transformer the projections of
        its attentions; and the output layer, be it tied word vectors. Word vectors of
        their own, feed-forward layers, biases and other vectors stay as they are.
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
        if self._lora_layers():
            raise ValueError(f"The model has LoRA already. Received: rank={rank}")
        names = target_layer_names
        names = self.default_lora_layer_names() if names is None else names
        layers = self._weighted_layers()
        places = [
            place
            for place, layer in enumerate(layers)
            if layer.name in names and hasattr(layer, "enable_lora")
        ]
        if not places:
            raise ValueError(
                "`target_layer_names` must hold names of Dense or Embedding layers, or "
                "of the zoo's attentions and cells, of the backbone. "
                f"Received: {target_layer_names}"
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
        variables = self._lora_variables(filepath)
        if not str(filepath).endswith(".lora.h5"):
            raise ValueError(
                f"The name must end in `.lora.h5`. Received: filepath={filepath!r}"
            )
        with h5py.File(filepath, "w") as file:
            file["lora/vars/rank"] = self._lora_rank
            for name, variable in variables.items():
                file[name] = keras.ops.convert_to_numpy(variable)

    def load_lora_weights(self, filepath: StrPath) -> None:
        """Loads what `save_lora_weights` saved; call `enable_lora(rank)` first.

        Raises:
            ValueError: if the model has no LoRA, another rank, or other layers.
        """
        variables = self._lora_variables(filepath)
        with h5py.File(filepath, "r") as file:
            rank, layers = int(file["lora/vars/rank"][()]), {*file["lora"]} - {"vars"}
            fits = layers == {name.split("/")[1] for name in variables} and all(
                name in file and file[name].shape == tuple(variable.shape)
                for name, variable in variables.items()
            )
            if not fits:
                raise ValueError(
                    f"The file has LoRA of rank {rank} of {len(layers)} layers, the "
                    f"model of rank {self._lora_rank} of {len(self._lora_layers())}, "
                    f"or of layers of other sizes. Received: filepath={filepath!r}"
                )
            for name, variable in variables.items():
                variable.assign(file[name][()])

    def _weighted_layers(self):
        """The layers with weights, in the order by which KerasHub's files know them."""
        layers = self._flatten_layers(include_self=False)
        return [layer for layer in layers if layer.weights]

    def _lora_layers(self):
        """The places of the adapted layers."""
        return getattr(self, "_lora_enabled_layers", ())

    def _lora_variables(self, filepath):
        """The variables that LoRA added, by their names in files."""
        if not self._lora_layers():
            raise ValueError(
                "The model has no LoRA weights: call `enable_lora(rank)` first. "
                f"Received: filepath={filepath!r}"
            )
        layers = self._weighted_layers()
        return {
            f"lora/{place}/vars/{name}": variable
            for place in self._lora_layers()
            for name, variable in lora_variables(layers[place]).items()
        }
