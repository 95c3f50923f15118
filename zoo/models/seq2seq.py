"""The contract of every sequence-to-sequence model.

A model is four methods; training, decoding, export and plots are written against them:

- `encode(source_ids) -> memory`: all that decoding needs of the source;
- `start(memory) -> state`; `start_for(memory, length)` where the state grows with the
  target (caches, tapes), and room for `length` steps is to be made;
- `step(token_ids, state, memory) -> (logits, state, attention_weights)`;
- `call({"source_ids", "target_ids"}) -> logits`: teacher forcing, equal to the scan of
  `step`.

Ids are int32, padded at the right with 0. Nothing is remembered between calls.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import keras
from keras import ops

from zoo.backend import Tensor, bfloat16_product
from zoo.ids import END_ID, PAD_ID, START_ID
from zoo.layers.fast_loops.decoder_loop import LoopView, run_decoder
from zoo.layers.functional import apply_dense, cast_weights, linear
from zoo.models.backbone import Backbone

__all__ = ["END_ID", "PAD_ID", "START_ID", "Seq2SeqBackbone"]

Tie = Literal[None, "target", "all"]


class Seq2SeqBackbone(Backbone):
    """Base class of the papers' architectures: the four methods of the contract.

    `memory` and `state` are nested structures of tensors, which have a row for each
    sentence: those that are done may leave a search. The rows of `state` may be a
    multiple of the rows of `memory`: K consecutive rows then are K hypotheses for one
    sentence, and share its memory.
    """

    source_name = "source_ids"
    """The key of the inputs that `encode` reads."""

    loop_parts: ClassVar[Mapping[str, Any]] = {}
    """Replacements for parts of the model inside a loop over the target."""

    def encode(self, source_ids: Tensor, training: bool = False) -> Any:
        """Reads the source: `(B, S)` ids to a memory."""
        raise NotImplementedError

    def start(self, memory: Tensor) -> Any:
        """The decoder's state before the first target token."""
        raise NotImplementedError

    def start_for(self, memory: Tensor, length: int) -> Any:
        """`start` with room for `length` steps, in a model whose state grows.

        A search makes more room by zeros at the end of the state's axes.
        """
        return self.start(memory)

    def step(
        self, token_ids: Tensor, state: Tensor, memory: Tensor
    ) -> tuple[Tensor, Any, Tensor]:
        """One target token: `(R,)` ids to `(logits (R, V), state, weights (R, S))`."""
        raise NotImplementedError

    def features(self, inputs: dict[str, Tensor], training: bool = False) -> Tensor:
        """The input of the output layer, `(B, T, d)`, which `call` maps to logits."""
        raise NotImplementedError

    def logits(self, features: Tensor) -> Tensor:
        """Applies the output layer, a Dense one or tied word vectors, to `(..., d)`."""
        if self.output_layer is not None:
            return apply_dense(self.output_layer, features)
        dtype = self.compute_dtype
        if not self.has_plain_output or bfloat16_product(dtype) is None:
            return self.token_embedding(features, reverse=True)
        words = cast_weights(self.token_embedding.embeddings, dtype)
        return linear(ops.cast(features, dtype), words, transposed=True)

    def call(self, inputs: dict[str, Tensor], training: bool = False) -> Tensor:
        return self.logits(self.features(inputs, training=training))

    def align(self, source_ids: Tensor, target_ids: Tensor) -> Tensor:
        """Attention weights `(B, T, S)` while reading the given target."""
        inputs = {self.source_name: source_ids, "target_ids": target_ids}
        return self.run_steps(*self.read(inputs), return_alignments=True)[1]

    def read(
        self, inputs: dict[str, Tensor], training: bool = False
    ) -> tuple[Any, Tensor]:
        """The memory of the source, and the target's word vectors `(B, T, m)`."""
        memory = self.encode(inputs[self.source_name], training=training)
        return memory, self.target_words(inputs["target_ids"], training)

    def source_words(self, source_ids: Tensor) -> tuple[Tensor, Tensor]:
        """The source's word vectors `(B, S, m)` and its mask `(B, S)`."""
        source_ids = ops.cast(source_ids, "int32")
        return self.source_embedding(source_ids), ops.not_equal(source_ids, PAD_ID)

    def target_words(self, target_ids: Tensor, training: bool = False) -> Tensor:
        """The word vectors that a loop over the target reads."""
        return self.token_embedding(ops.cast(target_ids, "int32"))

    def run_steps(
        self, memory: Any, words: Tensor, *arguments: Any, **options: Any
    ) -> tuple[Tensor, Any]:
        """Runs `step` over a whole target by `run_decoder`, with its arguments.

        Returns what `step` gives to `logits`, `(B, T, d)`, and the alignments or None.
        """

        def step(cell, word, state):
            return type(self).step(self.loop_view(cell), word, state, memory)

        state = self.start(memory)
        outputs, _, weights = run_decoder(
            self.decoder.cell, step, words, state, *arguments, **options
        )
        return outputs, weights

    def loop_view(self, cell: Any) -> LoopView:
        """The model as its `step` sees it in a loop, from word vectors to features."""
        return LoopView(
            self,
            decoder=LoopView(self.decoder, cell=cell),
            token_embedding=lambda word: word,
            logits=lambda features: features,
            **self.loop_parts,
        )

    def align_details(
        self, source_ids: Tensor, target_ids: Tensor
    ) -> tuple[Tensor, ...]:
        """`(weights,)` of `align`, or `(weights, p_t (B, T), windows (B, T, 2))`."""
        return (self.align(source_ids, target_ids),)

    @property
    def target_size(self) -> int:
        """Size of the target vocabulary."""
        return self.target_vocabulary_size or self.vocabulary_size

    def make_embeddings(
        self, size: int, initializer: Any, tie: Any = None, source: bool = True
    ) -> None:
        """Makes `source_embedding`, if the source is text, and `token_embedding`."""
        if tie == "all" and self.target_size != self.vocabulary_size:
            raise ValueError(
                'tie_embeddings="all" needs one vocabulary for both sides. Received: '
                f"vocabulary_size={self.vocabulary_size}, "
                f"target_vocabulary_size={self.target_vocabulary_size}"
            )
        # The source's first: Keras tells layers of one class apart by their order.
        if source and tie != "all":
            name = self.named("source_embedding")
            self.source_embedding = keras.layers.Embedding(
                self.vocabulary_size, size, initializer(), **name
            )
            self.source_embedding.build((None, None))
        cls, options = keras.layers.Embedding, self.named("target_embedding")
        if tie:
            cls = keras.layers.ReversibleEmbedding
            options["reverse_dtype"] = self.compute_dtype
        self.token_embedding = cls(
            self.target_size, size, embeddings_initializer=initializer(), **options
        )
        self.token_embedding.build((None, None))
        if tie == "all":
            self.source_embedding = self.token_embedding


def no_weights(states: Any, mask: Tensor) -> Tensor:
    """The alignment of a model without attention: zeros `(..., S)`."""
    lead = ops.shape(states)[:-1]
    return ops.zeros((*lead, ops.shape(mask)[-1]), dtype=states.dtype)


def shift_right(states: Any, first: Tensor) -> Tensor:
    """The states `(B, T, d)` before each step: s_0 … s_{T-1} of s_1 … s_T and s_0."""
    first = ops.cast(first, states.dtype)[:, None]
    return ops.concatenate([first, states[:, :-1]], axis=1)
