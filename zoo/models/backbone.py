"""The base classes of the papers' backbones."""

import contextlib
import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keras
import keras_hub
from keras import ops

from zoo.backend import Tensor
from zoo.layers.configured import Configured
from zoo.layers.functional import cast_weights
from zoo.models.lora_backbone import LowRank


class SubclassedModel(type):
    """Keeps a subclassed model one, whatever happens to KerasHub's base classes.

    When the first functional model of KerasHub is made in a process (a BERT, say),
    Keras puts its class `Functional` among the bases of `keras_hub.models.Backbone` and
    `Task` themselves, whose subclasses then all demand `inputs` and `outputs`. zoo's
    classes leave it out of their method resolution order.
    """

    def mro(cls) -> Any:
        return [base for base in super().mro() if not _is_functional(base)]


def _is_functional(cls):
    return cls.__module__.startswith("keras.") and cls.__name__ in (
        "Function",
        "Functional",
    )


class RestoreOnError:
    """Gives a model its values back when `fit`, `evaluate` or `predict` raises.

    Keras's trainer for JAX takes them out of the variables while it runs.
    """

    def make_train_function(self, force: bool = False) -> None:
        self._make("train", force)

    def make_test_function(self, force: bool = False) -> None:
        self._make("test", force)

    def make_predict_function(self, force: bool = False) -> None:
        self._make("predict", force)

    def _make(self, kind, force):
        if kind == "train":
            self.check_trainable()
        name, make = f"{kind}_function", f"make_{kind}_function"
        before = getattr(self, name, None)
        getattr(super(), make)(force)
        made = getattr(self, name)
        if keras.backend.backend() == "jax" and made is not before:
            setattr(self, name, self._giving_back(made, kind))

    def check_trainable(self) -> None:
        """Refuses an optimizer that has trained other variables than those of today.

        And weights in float16, by a `ValueError`.
        """
        if any(variable.dtype == "float16" for variable in self.trainable_variables):
            raise ValueError(
                "Weights in float16 can't be trained: their updates vanish or overflow."
                ' Load the model with dtype="mixed_float16". '
                "Received: weights in float16"
            )
        paths = tuple(variable.path for variable in self.trainable_variables)
        trained = getattr(self.optimizer, "trained_paths", paths)
        if trained != paths:
            raise ValueError(
                "Layers have been frozen or freed since the optimizer was made for "
                "those trainable then: call `compile` again, with a new optimizer. "
                f"Received: {len(paths)} trainable variables, {len(trained)} then"
            )
        if self.optimizer is not None:
            self.optimizer.trained_paths = paths

    def _giving_back(self, function, kind):
        def step(state, iterator):
            try:
                # Before the first of several steps, which uses the state up.
                batches = list(itertools.islice(iterator, self.steps_per_execution))
                return function(state, iter(batches))
            except BaseException:
                taken = [self.trainable_variables, self.non_trainable_variables]
                taken += [self.optimizer.variables] if kind == "train" else []
                taken += [] if kind == "predict" else [self.metrics_variables]
                for variables, values in zip(taken, state, strict=True):
                    for variable, value in zip(variables, values, strict=True):
                        variable.assign(value)
                raise

        return step

    def evaluate(self, *args: Any, **kwargs: Any) -> Any:
        with self.values_kept():
            return super().evaluate(*args, **kwargs)

    def predict(self, *args: Any, **kwargs: Any) -> Any:
        with self.values_kept():
            return super().predict(*args, **kwargs)

    @contextlib.contextmanager
    def values_kept(self) -> Iterator[None]:
        """Restores the model's values when `evaluate` or `predict` raises."""
        try:
            yield
        finally:
            if keras.backend.backend() == "jax":
                self.jax_state_sync()  # as Keras's own `fit` does


class Presets(RestoreOnError, metaclass=SubclassedModel):
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


class Backbone(LowRank, Configured, Presets, keras_hub.models.Backbone):
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
        self.check_plain_output()
        if self.output_layer is None:
            kernel, bias = ops.transpose(self.token_embedding.embeddings), None
        else:
            kernel, bias = self.output_layer.kernel, self.output_layer.bias
        bias = None if bias is None else cast_weights(bias, self.compute_dtype)
        return cast_weights(kernel, self.compute_dtype), bias

    def check_plain_output(self) -> None:
        """Refuses, by a `ValueError`, a model without `output_weights`."""
        if not self.has_plain_output:
            raise ValueError(
                "A model whose output layer is quantized has no plain output weights: "
                f"train it with its logits. Received: {type(self).__name__}, "
                f"{self.output_or_embedding.quantization_mode}"
            )

    @property
    def has_plain_output(self) -> bool:
        """Whether the output layer is a plain matrix product, not quantized."""
        return self.output_or_embedding.quantization_mode is None
