"""`fit`, `evaluate`, `predict` and the like of tasks, on text or ids."""

import contextlib
import inspect
from collections.abc import Iterator
from typing import Any

import keras
from keras import ops

from zoo.tasks.fit_inputs import (
    ByLength,
    are_batches,
    check_class_weight,
    is_text,
    read,
    trimmed,
    weighted,
)

BATCH_SIZE = 32  # Keras's own


class TextFitMixin:
    """`keras.Model.fit` and the like, for text or ids.

    Text comes in columns: sources and targets of a translator, sentences and tags of a
    tagger, texts and labels of a classifier, texts alone of a language model. They are
    given as

    - lists, NumPy arrays or columns of a table: `fit(sources, targets)`;
    - a list of pairs, or of triples with the weight of each;
    - a dict, a pandas or a Hugging Face table, with columns named by `text_columns`;
    - batches of any of these, from a `tf.data.Dataset`, a `keras.utils.PyDataset` or a
      generator; a batch may be a tuple, as a third its weights, one number a text.

    `validation_data` is any of them, or a tuple like a batch. What is not batches is
    preprocessed at once. `fit` makes batches of texts of like length of it, in few
    widths, which it shuffles; with `shuffle=False`, `validation_split` or
    `steps_per_epoch` all texts are as wide as the longest, in the order given. Batches
    are preprocessed one by one, to the preprocessor's lengths.

    Ids, a dict of integer arrays or batches of them, are left as they are; a task
    without a preprocessor takes nothing else. `class_weight` is for classifiers alone,
    by the numbers of their classes.

    A `ValueError` tells what can't be taken, before any step.
    """

    text_columns: tuple[str, ...] = ("text",)
    text_inputs = 1
    accuracy_among = "weighted_metrics"  # the argument of `compile`

    def preprocess_samples(
        self, x: Any, y: Any = None, sample_weight: Any = None
    ) -> Any:
        """KerasHub's hook: the arrays of one batch of text; of ids, as they are.

        Args:
            x, y: the columns of `text_columns`; x may be a dict of two inputs.
            sample_weight: one number a text; it multiplies the weights of its words.
        """
        if not is_text(self, x):
            return keras.utils.pack_x_y_sample_weight(x, y, sample_weight)
        if self.text_inputs == 2 and y is not None:
            x, y = dict(zip(self.text_columns, (x, y), strict=True)), None
        return weighted(self.preprocessor(x, y=y), sample_weight)

    def default_loss(self) -> Any:
        """Returns the loss that "auto" stands for: a mean cross-entropy of logits."""
        return keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    def compile(
        self, optimizer: Any = "auto", loss: Any = "auto", **kwargs: Any
    ) -> None:
        """`keras.Model.compile`, which a new task has been called with.

        None for metrics means none, where Keras would keep those of the last
        compilation.

        Args:
            optimizer: "auto", the default, for Adam with a rate of 1e-3.
            loss: "auto", the default, for the cross-entropy: of a translator or
                captioner the mean of a real token.
            **kwargs: further arguments. `weighted_metrics` (of a classifier `metrics`)
                may be "auto", the default, for the accuracy; the `sampler` of
                `generate` is greedy by default, and that of a translator may be a
                `zoo.decoding.BeamSearch`.
        """
        if isinstance(optimizer, str) and optimizer == "auto":
            optimizer = keras.optimizers.Adam(1e-3)
        if isinstance(loss, str) and loss == "auto":
            loss = self.default_loss()
        accuracy = kwargs.get(self.accuracy_among, "auto")
        if isinstance(accuracy, str) and accuracy == "auto":
            accuracy = [keras.metrics.SparseCategoricalAccuracy()]
        kwargs[self.accuracy_among] = accuracy
        for name in ("metrics", "weighted_metrics"):
            kwargs[name] = [] if kwargs.get(name) is None else kwargs[name]
        super().compile(optimizer, loss, **kwargs)

    def get_compile_config(self) -> dict[str, Any]:
        """Returns `compile`'s arguments, which a `.keras` file keeps.

        With them go the states of the task's random generators, so that a loaded task
        trains on as the saved one would, dropout included. Under PyTorch Keras draws
        dropout from torch's global generator, which no file keeps.
        """
        config = super().get_compile_config()
        if config:
            if hasattr(self, "sampler"):
                config["sampler"] = keras.saving.serialize_keras_object(self.sampler)
            states = self._random_states()
            config["random_states"] = [ops.convert_to_numpy(s).tolist() for s in states]
            config["trained"] = bool(self.optimizer and self.optimizer.built)
        return config

    def compile_from_config(self, config: dict[str, Any]) -> None:
        """Compiles a loaded task as the saved one was, ready for its optimizer's state.

        Args:
            config: what `get_compile_config` returned.
        """
        config = keras.saving.deserialize_keras_object(config)
        saved = config.pop("random_states", [])  # older files have none
        for state, value in zip(self._random_states(), saved, strict=False):
            state.assign(value)
        trained = config.pop("trained", False)
        self.compile(**config)
        if trained:
            self.optimizer.build(self.trainable_variables)

    def _random_states(self):
        weights = {id(weight) for weight in self.weights}
        return [v for v in self.variables if id(v) not in weights]

    def fit(self, *args: Any, **kwargs: Any) -> Any:
        """`keras.Model.fit`; see `zoo.tasks.fitting.TextFitMixin` for what it takes.

        A task that was never compiled is trained with its `compile()`'s defaults.

        Raises:
            ValueError: for data that can't be taken, naming what can.
        """
        return self._run("fit", args, kwargs)

    def evaluate(self, *args: Any, **kwargs: Any) -> Any:
        """`keras.Model.evaluate`, of what `fit` takes.

        As in Keras, the loss is a mean over batches, each weighted by its rows. Where
        it is a mean over real words in a batch, as by default, it depends on the
        batches; the accuracy does not, nor does a translator's or language model's
        `perplexity`.
        """
        return self._run("evaluate", args, kwargs)

    def predict(self, *args: Any, **kwargs: Any) -> Any:
        """`keras.Model.predict`, of what `fit` takes, without labels: logits."""
        return self._run("predict", args, kwargs)

    def train_on_batch(self, *args: Any, **kwargs: Any) -> Any:
        """`keras.Model.train_on_batch`, of one batch of what `fit` takes."""
        return self._run("train_on_batch", args, kwargs)

    def _run(self, name, args, kwargs):
        # Not the methods of KerasHub, which would preprocess once more.
        method = getattr(keras.Model, name)
        parameters = inspect.signature(method).parameters
        given = inspect.signature(method).bind(self, *args, **kwargs).arguments
        given |= given.pop("kwargs", {})  # Keras's own
        check_class_weight(self, given.get("class_weight"))
        data = {key: given.pop(key, None) for key in ("x", "y", "sample_weight")}
        first = data["x"][0] if isinstance(data["x"], tuple) else data["x"]
        text = is_text(self, first) and not are_batches(first)
        x, y, weights = read(self, **data, labelled="y" in parameters)
        if text and "y" in parameters:
            x, y, weights = trimmed(x, y, weights)
        whole = given.get("validation_split") or given.get("steps_per_epoch")
        if name == "fit" and text and given.get("shuffle", True) and not whole:
            size = given.get("batch_size") or BATCH_SIZE
            if len(y) > size and all(part.ndim == 2 for part in x.values()):
                x, y, weights = ByLength((x, y, weights), size), None, None
        if are_batches(x):
            given.pop("batch_size", None)
        arrays = {"x": x, "y": y, "sample_weight": weights}
        given |= {key: arrays[key] for key in arrays if key in parameters}
        if (held_out := given.get("validation_data")) is not None:
            held = read(self, held_out)
            given["validation_data"] = held[0] if are_batches(held[0]) else held
        with _values_kept(self):
            return method(**given)


@contextlib.contextmanager
def _values_kept(task: Any) -> Iterator[None]:
    """Gives a task back, also after an error, what Keras's JAX trainer takes out."""
    if keras.backend.backend() != "jax":
        yield
        return
    optimizer = getattr(task, "optimizer", None)  # None before `compile`
    held = [*task.variables, *task.metrics_variables]
    held += optimizer.variables if optimizer else []
    values = [variable._value for variable in held]
    try:
        yield
    finally:
        task.jax_state_sync()
        for variable, value in zip(held, values, strict=True):
            if variable._value is None:
                variable._value = value
