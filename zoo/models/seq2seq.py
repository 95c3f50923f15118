"""The contract of every sequence-to-sequence model, and the Translator task.

A model is four methods; training, decoding, export and plots are written against them:

- `encode(source_ids) -> memory`: all that decoding needs of the source;
- `start(memory) -> state`; `start_for(memory, length)` where the state grows with the
  target (caches, tapes), and room for `length` steps is to be made;
- `step(token_ids, state, memory) -> (logits, state, attention_weights)`;
- `call({"source_ids", "target_ids"}) -> logits`: teacher forcing, equal to the scan of
  `step`.

Ids are int32, padded at the right with 0. Nothing is remembered between calls.
"""

from typing import Any

import keras
import keras_hub
from keras import ops

from zoo.backend import Shape, Tensor
from zoo.checks import one_of
from zoo.decoding.keras_engine import KERAS
from zoo.decoding.translating import Translating
from zoo.models.base import (
    Backbone,
    Generating,
    Presets,
    TaskMethods,
    until_stop,
)
from zoo.text.tokenizer import END_ID, PAD_ID, START_ID

__all__ = ["END_ID", "PAD_ID", "START_ID", "Seq2SeqBackbone", "Translator"]

TIES = (None, "target", "all")


class Seq2SeqBackbone(Backbone):
    """Base class of the papers' architectures: the four methods of the contract.

    `memory` and `state` are nested structures of tensors, which have a row for each
    sentence: those that are done may leave a search. The rows of `state` may be a
    multiple of the rows of `memory`: K consecutive rows then are K hypotheses for one
    sentence, and share its memory.
    """

    source_name = "source_ids"
    """The key of the inputs that `encode` reads."""

    window_state: int | None = None
    """For local attention, the leaf of the state that `attention_window` reads."""

    def input_signature(self) -> Any:
        names = self.source_name, "target_ids"
        return {name: keras.InputSpec("int32", (None, None)) for name in names}

    def encode(self, source_ids: Tensor, training: bool = False) -> Any:
        """Reads the source: `(B, S)` ids to a memory."""
        raise NotImplementedError

    def start(self, memory: Tensor) -> Any:
        """The decoder's state before the first target token."""
        raise NotImplementedError

    def start_for(self, memory: Tensor, length: int) -> Any:
        """`start` with room for `length` steps, in a model whose state grows."""
        return self.start(memory)

    def step(
        self, token_ids: Tensor, state: Tensor, memory: Tensor
    ) -> tuple[Tensor, Any, Tensor]:
        """One target token: `(R,)` ids to `(logits (R, V), state, weights (R, S))`."""
        raise NotImplementedError

    def features(self, inputs: Tensor, training: bool = False) -> Tensor:
        """Returns the input of the output layer, `(B, T, d)`.

        `call` is its product with the `output_weights`.
        """
        raise NotImplementedError

    def logits(self, features: Tensor) -> Tensor:
        """Applies the output layer: `(..., d)` to `(..., V)`.

        It is a Dense `output_layer`, or tied word vectors.
        """
        if self.output_layer is None:
            return self.token_embedding(features, reverse=True)
        return self.output_layer(features)

    def call(self, inputs: Tensor, training: bool = False) -> Tensor:
        return self.logits(self.features(inputs, training=training))

    def align(self, source_ids: Tensor, target_ids: Tensor) -> Tensor:
        """Attention weights `(B, T, S)` while reading the given target."""
        raise NotImplementedError

    def align_details(
        self, source_ids: Tensor, target_ids: Tensor
    ) -> tuple[Tensor, ...]:
        """`align` as a tuple, with the windows of local attention.

        It is `(weights,)`, or `(weights, focus, windows)`: p_t `(B, T)`, and the
        window's first and last source position `(B, T, 2)`.
        """
        return (self.align(source_ids, target_ids),)

    def build(self, input_shape: Shape | None = None) -> None:
        raise NotImplementedError

    @property
    def target_size(self) -> int:
        """Size of the target vocabulary."""
        return self.target_vocabulary_size or self.vocabulary_size

    def make_embeddings(
        self, size: int, initializer: Any, tie: Any = None, source: bool = True
    ) -> None:
        """Makes `source_embedding` and `token_embedding`, the target's.

        Args:
            size: of a word vector.
            initializer: function that makes a new initializer.
            tie: None; "target" where the output layer is the target's word vectors
                (Press & Wolf 2017), then `output_layer` is to be None; "all" where the
                source has the same ones too (Vaswani et al. 2017, section 3.4).
            source: whether the source is text.

        Raises:
            ValueError: for another tie, or if "all" meets two vocabularies.
        """
        one_of("tie_embeddings", tie, TIES)
        if tie == "all" and self.target_size != self.vocabulary_size:
            raise ValueError(
                'tie_embeddings="all" needs one vocabulary for both sides. Received: '
                f"vocabulary_size={self.vocabulary_size}, "
                f"target_vocabulary_size={self.target_vocabulary_size}"
            )

        def make(cls, name, count, **options):
            embedding = cls(
                count,
                size,
                embeddings_initializer=initializer(),
                dtype=self.dtype_policy,
                name=f"{name}_embedding",
                **options,
            )
            embedding.build((None, None))
            return embedding

        # The source's first, as in every preset: Keras tells the weights of layers of
        # one class apart by the layers' order alone.
        plain, options = keras.layers.Embedding, {}
        if source and tie != "all":
            self.source_embedding = make(plain, "source", self.vocabulary_size)
        if tie:
            plain = keras.layers.ReversibleEmbedding
            options["reverse_dtype"] = self.compute_dtype
        self.token_embedding = make(plain, "target", self.target_size, **options)
        if tie == "all":
            self.source_embedding = self.token_embedding


def no_weights(states: Any, mask: Tensor) -> Tensor:
    """Returns the alignment of a model without attention: zeros `(..., S)`.

    For states `(..., d)` and a source mask `(B, S)`.
    """
    lead = ops.shape(states)[:-1]
    return ops.zeros((*lead, ops.shape(mask)[-1]), dtype=states.dtype)


def shift_right(states: Any, first: Tensor) -> Tensor:
    """The states `(B, T, d)` before each step: s_0 … s_{T-1} of s_1 … s_T and s_0."""
    first = ops.cast(first, states.dtype)[:, None]
    return ops.concatenate([first, states[:, :-1]], axis=1)


def token_loss() -> Any:
    """Returns the mean cross-entropy of a real token, what `loss="auto"` stands for."""
    return keras.losses.SparseCategoricalCrossentropy(
        from_logits=True, reduction="mean_with_sample_weight"
    )


class Seq2SeqTask(TaskMethods, Presets):
    """Base of the tasks with a `Seq2SeqBackbone`: how they are trained.

    Args:
        backbone: a `Seq2SeqBackbone`.
        preprocessor: for what a person gives and gets, or None to work on arrays.
        augmentation: see `Translator`.
    """

    def __init__(
        self,
        backbone: Any,
        preprocessor: Any = None,
        augmentation: Any = (),
        **kwargs: Any,
    ) -> None:
        # Before any attribute: layers set earlier are not tracked under torch.
        super().__init__(**kwargs)
        _check_vocabulary(backbone, preprocessor)
        self.backbone = backbone
        self.preprocessor = preprocessor
        self.augmentation = list(augmentation)
        self.build(None)

    def build(self, input_shape: Shape | None = None) -> None:
        self.built = True

    def call(self, inputs: Tensor, training: bool = False) -> Tensor:
        return self.backbone(self.augmented(inputs, training), training=training)

    def augmented(self, inputs: Tensor, training: bool = False) -> Tensor:
        """Applies the augmentation to inputs in training."""
        if training:
            for layer in self.augmentation:
                inputs = layer(inputs, model=self.backbone)
        return inputs

    def features(self, inputs: Tensor, training: bool = False) -> Tensor:
        """Returns the input of the output layer: see `Seq2SeqBackbone.features`."""
        inputs = self.augmented(inputs, training)
        return self.backbone.features(inputs, training=training)

    def projected_loss(
        self,
        loss: Any,
        features: Tensor,
        y: Tensor,
        sample_weight: Tensor | None = None,
    ) -> Tensor:
        """Returns a `SmoothedCrossEntropy` of `features`, without their logits.

        See `zoo.training.WithoutLogits`.
        """
        weights = self.backbone.output_weights()
        return loss.projected(features, *weights, y, sample_weight)

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        if self.augmentation:
            layers = [keras.saving.serialize_keras_object(x) for x in self.augmentation]
            config["augmentation"] = layers
        return config

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        deserialize = keras.saving.deserialize_keras_object
        layers = [deserialize(layer) for layer in config.get("augmentation", ())]
        return super().from_config({**config, "augmentation": layers})


class Translator(Generating, Translating, Seq2SeqTask, keras_hub.models.Seq2SeqLM):
    """A task that translates text: a backbone, and a preprocessor for its strings.

    Subclasses set `backbone_cls` and `preprocessor_cls` and nothing else.

    Args:
        backbone: a `Seq2SeqBackbone`.
        preprocessor: a `zoo.text.TranslatorPreprocessor`, or None to work on ids.
        augmentation: layers that change the input ids in training, one after another,
            such as `zoo.training.WordDropout` and `zoo.training.ScheduledSampling`;
            each is called with the inputs and the backbone.

    Raises:
        ValueError: if the preprocessor's vocabulary is not the backbone's.
    """

    task_name = "translate"
    engine = KERAS
    text_columns = ("source", "target")
    text_inputs = 2

    def compile(
        self,
        optimizer: str = "auto",
        loss: str = "auto",
        *,
        metrics: Any = None,
        weighted_metrics: str = "auto",
        sampler: str = "greedy",
        **kwargs: Any,
    ) -> None:
        """`keras_hub.models.Seq2SeqLM.compile`, which a new task has been called with.

        Args:
            optimizer: "auto", the default, for Adam with a rate of 1e-3.
            loss: "auto", the default, for the mean cross-entropy of a real token.
            metrics: none by default.
            weighted_metrics: "auto", the default, for the accuracy.
            sampler: of `generate`, greedy by default; it may be a
                `zoo.decoding.BeamSearch`.
            **kwargs: further arguments of `keras.Model.compile`.
        """
        super().compile(
            optimizer,
            token_loss() if loss == "auto" else loss,
            metrics=metrics,
            weighted_metrics=weighted_metrics,
            sampler=sampler,
            **kwargs,
        )

    def generate_step(
        self, inputs: Tensor, stop_token_ids: list[int] | None = None
    ) -> dict[str, Tensor]:
        """One batch of `generate`, by the sampler that `compile` was given.

        Args:
            inputs: dict of `source_ids` (B, S) and, where a length is wanted,
                `target_ids` (B, T): the start token, then 0.
            stop_token_ids: ids that end a sentence; None for none.

        Returns:
            `{"token_ids": (B, T)}`, 0 behind a row's first stop token.
        """
        if not stop_token_ids:  # KerasHub's samplers take no empty list
            stop_token_ids = None
        if hasattr(self.sampler, "generate"):  # a search, which takes its steps itself
            token_ids = self.sampler.generate(self, inputs, stop_token_ids)
            return {"token_ids": token_ids}
        memory = self.encode(inputs["source_ids"])
        prompt = inputs.get("target_ids")
        if prompt is None:
            batch = ops.shape(inputs["source_ids"])[0]
            length = self.preprocessor.target_length
            first = ops.arange(length, dtype="int32") == 0
            prompt = ops.tile(ops.where(first, START_ID, PAD_ID)[None], (batch, 1))

        def next_token(prompt, state, index):
            rows = ops.shape(prompt)[0]
            last = ops.slice(prompt, [0, index - 1], [rows, 1])[:, 0]
            logits, state, _ = self.step(last, state, memory)
            return logits, None, state

        token_ids = self.sampler(
            next=next_token,
            prompt=ops.cast(prompt, "int32"),
            cache=self.start_for(memory, ops.shape(prompt)[1]),
            index=1,
            mask=ops.not_equal(prompt, PAD_ID),
            stop_token_ids=stop_token_ids,
            model=self,
        )
        # Nothing to read gives nothing: such a row stays as it began.
        real = ops.any(ops.not_equal(inputs["source_ids"], PAD_ID), axis=1)
        prompt = ops.cast(prompt, token_ids.dtype)
        counts = until_stop(token_ids, ops.equal(prompt, PAD_ID), stop_token_ids)
        token_ids = ops.where(counts, token_ids, PAD_ID)
        return {"token_ids": ops.where(real[:, None], token_ids, prompt)}

    def preprocess_samples(
        self, x: Any, y: Any = None, sample_weight: Any = None
    ) -> Any:
        """The arrays of sources and targets; x may be a dict of both."""
        x = x if y is None else {"source": x, "target": y}
        return super().preprocess_samples(x, sample_weight=sample_weight)


def _check_vocabulary(backbone, preprocessor):
    """A model reads and writes the ids of its tokenizer, no fewer and no more."""
    tokenizer = getattr(preprocessor, "tokenizer", None)
    if getattr(tokenizer, "proto", None) is None:
        return  # without a preprocessor, or before a preset's files are read
    size = tokenizer.vocabulary_size()
    for name in ("vocabulary_size", "target_vocabulary_size"):
        received = getattr(backbone, name, None)
        if received not in (None, size):
            raise ValueError(
                f"The backbone's `{name}` must be that of the tokenizer, {size}. "
                f"Received: {name}={received}"
            )
