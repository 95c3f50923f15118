"""The base classes of the tasks: text in, text out."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
from keras import ops

from zoo.backend import Shape, Tensor
from zoo.decoding.beam import BeamSearch
from zoo.models.backbone import Presets
from zoo.strings import plain_texts
from zoo.tasks.fitting import is_text, run_method, weighted


class TextTask(Presets):
    """The base of all tasks: a backbone, and a preprocessor of text into arrays.

    Args:
        backbone: the model.
        preprocessor: what turns text into arrays, or None to work on arrays.

    Raises:
        ValueError: if the preprocessor's vocabulary is not the backbone's.
    """

    text_columns: tuple[str, ...] = ("text",)
    text_inputs = 1
    accuracy_among = "weighted_metrics"  # the argument of `compile`

    def __init__(
        self, backbone: Any, preprocessor: Any = None, _layers: Any = (), **kwargs: Any
    ) -> None:
        # Before any attribute: layers set earlier are not tracked under torch.
        super().__init__(**kwargs)
        self.backbone = backbone
        self.preprocessor = preprocessor
        for name, layers in dict(_layers).items():  # before `build`, which ends it
            setattr(self, name, layers)
        self._check_sizes()
        self.build(None)

    @classmethod
    def _from_folder(cls, folder: Any, **kwargs: Any) -> Any:
        task = super()._from_folder(folder, **kwargs)
        task._check_sizes()  # once more: vocabularies are read last of all
        return task

    def _check_sizes(self) -> None:
        """Raises a ValueError for a backbone of other sizes than its vocabularies."""
        for name, size in self._vocabulary_sizes().items():
            received = getattr(self.backbone, name, None)
            if received not in (None, size):
                raise ValueError(
                    f"The backbone's `{name}` must be that of the preprocessor's "
                    f"vocabulary, {size}. Received: {name}={received}"
                )

    def _vocabulary_sizes(self) -> dict[str, int]:
        """The backbone's sizes by name; none before a preset's files are read."""
        tokenizer = getattr(self.preprocessor, "tokenizer", None)
        if tokenizer is None or tokenizer.empty:
            return {}
        names = "vocabulary_size", "target_vocabulary_size"
        return dict.fromkeys(names, tokenizer.vocabulary_size())

    def build(self, input_shape: Shape | None = None) -> None:
        self.built = True

    def call(self, inputs: Tensor, training: bool = False) -> Any:
        return self.backbone(inputs, training=training)

    # === Training ===
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
                `generate` is greedy by default.
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
        """Returns `compile`'s arguments, which a `.keras` file keeps."""
        config = super().get_compile_config()
        if config:
            if hasattr(self, "sampler"):
                config["sampler"] = keras.saving.serialize_keras_object(self.sampler)
            config["trained"] = bool(self.optimizer and self.optimizer.built)
        return config

    def compile_from_config(self, config: dict[str, Any]) -> None:
        """Compiles a loaded task as the saved one was, ready for its optimizer's state.

        Args:
            config: what `get_compile_config` returned.
        """
        config = keras.saving.deserialize_keras_object(config)
        trained = config.pop("trained", False)
        self.compile(**config)
        if trained:
            self.optimizer.build(self.trainable_variables)

    def fit(self, *args: Any, **kwargs: Any) -> Any:
        """`keras.Model.fit`, for text or ids.

        Text comes in columns: sources and targets of a translator, sentences and tags
        of a tagger, texts and labels of a classifier, texts alone of a language model.
        They are given as

        - lists, NumPy arrays or columns of a table: `fit(sources, targets)`;
        - a list of pairs, or of triples with the weight of each;
        - a dict, a pandas or a Hugging Face table, with the columns `text_columns`;
        - batches of any of these, from a `tf.data.Dataset`, a `keras.utils.PyDataset`
          or a generator; a batch may be a tuple, as a third its weights, one number a
          text.

        `validation_data` is any of them, or a tuple like a batch. What is not batches
        is preprocessed at once. `fit` makes batches of texts of like length of it, in
        few widths, which it shuffles; with `shuffle=False`, `validation_split` or
        `steps_per_epoch` all texts are as wide as the longest, in the order given.
        Batches are preprocessed one by one, to the preprocessor's lengths.

        Ids, a dict of integer arrays or batches of them, are left as they are; a task
        without a preprocessor takes nothing else. `class_weight` is for classifiers
        alone, by the numbers of their classes.

        A task that was never compiled is trained with its `compile()`'s defaults.

        Raises:
            ValueError: for data that can't be taken, naming what can, before any step.
        """
        return run_method(self, "fit", args, kwargs)

    def evaluate(self, *args: Any, **kwargs: Any) -> Any:
        """`keras.Model.evaluate`, of what `fit` takes.

        As in Keras, the loss is a mean over batches, each weighted by its rows. Where
        it is a mean over real words in a batch, as by default, it depends on the
        batches; the accuracy does not, nor does a translator's or language model's
        `perplexity`.
        """
        return run_method(self, "evaluate", args, kwargs)

    def predict(self, *args: Any, **kwargs: Any) -> Any:
        """`keras.Model.predict`, of what `fit` takes, without labels: logits."""
        return run_method(self, "predict", args, kwargs)

    def train_on_batch(self, *args: Any, **kwargs: Any) -> Any:
        """`keras.Model.train_on_batch`, of one batch of what `fit` takes."""
        return run_method(self, "train_on_batch", args, kwargs)

    def export_savedmodel(self, path: str, **limits: Any) -> Path:
        """Writes the next version of this model for TensorFlow Serving.

        Text in, text out: see `zoo.serving.export_savedmodel`.

        Args:
            path: str or path, the model's folder, such as `"exports/luong_local"`.
            **limits: of all requests, such as `beam_size`.

        Returns:
            `pathlib.Path` of the version's folder, such as `exports/luong_local/1`.

        Raises:
            ValueError: for a limit that the task does not have, or out of range, or
                without a preprocessor.
            RuntimeError: under another backend than TensorFlow's.
            ImportError: if a package is missing.
        """
        from zoo.serving.export.savedmodel import export_savedmodel  # stands on tasks

        return export_savedmodel(self, path, **limits)


class Generating:
    """`generate` of a task of text."""

    def compile(self, *args: Any, sampler: Any = "greedy", **kwargs: Any) -> None:
        """KerasHub's `compile`; `generate` is greedy by default.

        Raises:
            ValueError: for a `zoo.decoding.BeamSearch`: `translate` searches.
        """
        if isinstance(sampler, BeamSearch):
            raise ValueError(
                "`sampler` must be a KerasHub sampler or its name; a beam search is a "
                f"translator's `translate(texts, beam_size={sampler.beam_size})`. "
                f"Received: sampler={sampler!r}"
            )
        super().compile(*args, sampler=sampler, **kwargs)

    def generate(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """KerasHub's `generate`, of texts in any form that `translate` takes."""
        if self.preprocessor is not None:
            inputs = plain_texts(inputs)
        return super().generate(inputs, *args, **kwargs)

    def _sample(
        self,
        step: Callable[[Tensor, Any], tuple[Tensor, Any]],
        prompt: Tensor,
        given: Tensor,
        state: Any,
        stop_token_ids: list[int] | None,
    ) -> tuple[Tensor, Tensor]:
        """Continues prompts `(B, T)`, whose ids are where `given` is, by the sampler.

        Returns ids `(B, T)`, and which of them are up to a row's first stop token
        behind its prompt, that one included.
        """

        def next_token(prompt, state, index):
            rows = ops.shape(prompt)[0]
            last = ops.slice(prompt, [0, index - 1], [rows, 1])[:, 0]
            logits, state = step(last, state)
            return logits, None, state

        token_ids = self.sampler(
            next=next_token,
            prompt=prompt,
            cache=state,
            index=1,
            mask=given,
            stop_token_ids=stop_token_ids or None,  # it takes no empty list
            model=self,
        )
        if not stop_token_ids:
            return token_ids, ops.ones_like(given)
        stops = ops.convert_to_tensor(list(stop_token_ids), dtype="int32")
        stopped = ops.any(ops.equal(token_ids[..., None], stops), axis=-1)
        stopped = ops.logical_and(stopped, ops.logical_not(given))
        stopped = ops.cast(stopped, "int32")
        return token_ids, ops.equal(ops.cumsum(stopped, axis=1) - stopped, 0)
