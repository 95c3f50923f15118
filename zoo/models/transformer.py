"""Attention Is All You Need: Vaswani et al. 2017 (arXiv 1706.03762)."""

from typing import Any, Literal, NamedTuple

import keras
from keras import ops

from zoo.backend import Tensor
from zoo.ids import PAD_ID
from zoo.layers import TransformerDecoderLayer, TransformerEncoderLayer, sinusoids
from zoo.layers.configured import Rate, Size
from zoo.models.seq2seq import Seq2SeqBackbone, Tie


class Memory(NamedTuple):
    """All that decoding needs of the source; see `Transformer.encode`."""

    keys: list[list[Tensor]]  # each decoder layer's keys and values of the source
    mask: Tensor  # bool (B, S)


class State(NamedTuple):
    """The decoder's state between two words, in R rows."""

    caches: list[list[Tensor]]  # each layer's keys and values, the newest first
    position: Tensor  # int32 (R,)


@keras.saving.register_keras_serializable(package="zoo")
class Transformer(Seq2SeqBackbone):
    """Vaswani et al. 2017: encoder and decoder of attention and feed-forward layers.

        Attention(Q, K, V) = softmax(Q K^T / sqrt(d_k)) V              equation 1
        FFN(x) = max(0, x W_1 + b_1) W_2 + b_2                         equation 2
        x = LayerNorm(x + Dropout(Sublayer(x)))                        sections 3.1, 5.4
        PE(p, 2i) = sin(p / 10000^(2i/d)),  PE(p, 2i+1) = cos(…)       section 3.5
        the first layer's input: Dropout(sqrt(d) E x + PE)             sections 3.4, 5.4
        p(y_t) = softmax(x_t E^T), one E for both sides and the output

    `norm="pre"` is The Annotated Transformer's form, x + Dropout(Sublayer(
    LayerNorm(x))), with one more LayerNorm at the end of each stack; the authors' later
    code has it too. The projections of attention have no biases, as in the paper's
    formulas. Dropout stands where section 5.4 has it: not on attention weights, nor
    inside the feed-forward layer. The paper does not say how weights start: matrices
    are Glorot uniform, word vectors N(0, 1/d), as in the authors' code.

    At the paper's sizes, with one vocabulary of 37,000 pieces: 63.0M parameters, and
    214.2M for the big model (`num_layers=6, hidden_dim=1024, ff_dim=4096,
    num_heads=16`); the paper's table 3 says 65M and 213M.

    `step` keeps the keys and values of past positions. A state has room for 2 S + 50
    of them from `start(memory)`, for `length` from `start_for(memory, length)`; a step
    beyond gives NaN. The alignment is the last layer's attention to the source, the
    mean of its heads.

    Args:
        vocabulary_size: source vocabulary. Paper: about 37,000.
        target_vocabulary_size: None, the default, for that of the source.
        num_layers: N, depth of encoder and decoder. Paper: 6.
        hidden_dim: d, an even number. Paper: 512; big: 1024.
        ff_dim: d_ff. Paper: 2048; big: 4096.
        num_heads: h. Paper: 8; big: 16.
        norm: "post" or "pre".
        dropout: on each sub-layer's output, and on the sum of word vector and position.
            Paper: 0.1; big: 0.3.
        tie_embeddings: "all", the paper's; "target" or None as in `Luong`.
        dtype: dtype policy.

    Call arguments:
        inputs: dict of `source_ids` int (B, S) and `target_ids` int (B, T), the target
            shifted right (start token first), both padded at the right with 0.

    Returns:
        Logits `(B, T, target vocabulary)` of the next target token.

    Raises:
        ValueError: for another norm or tie, sizes that are not positive, an odd
            `hidden_dim` or one that the heads don't divide, a rate outside [0, 1).

    Example:
        >>> import numpy as np
        >>> model = Transformer(20, num_layers=2, hidden_dim=8, ff_dim=16, num_heads=2)
        >>> ids = np.array([[4, 5, 6, 0], [7, 8, 0, 0]])
        >>> model({"source_ids": ids, "target_ids": ids}).shape
        (2, 4, 20)
    """

    vocabulary_size: Size = 37000
    target_vocabulary_size: Size | None = None
    num_layers: Size = 6
    hidden_dim: Size = 512
    ff_dim: Size = 2048
    num_heads: Size = 8
    norm: Literal["post", "pre"] = "post"
    dropout: Rate = 0.1
    tie_embeddings: Tie = "all"

    def setup(self) -> None:
        if self.hidden_dim % 2 or self.hidden_dim % self.num_heads:
            raise ValueError(
                "`hidden_dim` must be even and a multiple of `num_heads`. Received: "
                f"hidden_dim={self.hidden_dim}, num_heads={self.num_heads}"
            )
        self.make_embeddings(self.hidden_dim, self._normal, self.tie_embeddings)
        self.encoder_layers, self.decoder_layers = (
            [
                cls(
                    self.num_heads,
                    self.ff_dim,
                    self.dropout,
                    self.norm,
                    **self.named(f"{name}_{layer}"),
                )
                for layer in range(self.num_layers)
            ]
            for cls, name in (
                (TransformerEncoderLayer, "encoder"),
                (TransformerDecoderLayer, "decoder"),
            )
        )
        self.encoder_norm = self.decoder_norm = None
        if self.norm == "pre":
            self.encoder_norm, self.decoder_norm = (
                keras.layers.LayerNormalization(epsilon=1e-6, **self.named(name))
                for name in ("encoder_norm", "decoder_norm")
            )
        self.drop = keras.layers.Dropout(self.dropout, dtype=self.dtype_policy)
        self.output_layer = None
        if not self.tie_embeddings:
            self.output_layer = self.dense(self.target_size, "output", use_bias=False)
        self.build(None)

    def _normal(self):
        return keras.initializers.RandomNormal(stddev=self.hidden_dim**-0.5)

    def parts(self) -> Any:
        d = self.hidden_dim
        yield from ((layer, d) for layer in self.encoder_layers)
        yield from ((layer, d, d) for layer in self.decoder_layers)
        for last in (self.encoder_norm, self.decoder_norm, self.output_layer):
            yield last, d

    def _embed(self, embedding, ids, positions, training=False):
        """Dropout(sqrt(d) E x + PE)."""
        words = embedding(ops.cast(ids, "int32")) * self.hidden_dim**0.5
        words = words + sinusoids(positions, self.hidden_dim, words.dtype)
        return self.drop(words, training=training)

    # === The contract ===
    def encode(self, source_ids: Tensor, training: bool = False) -> Memory:
        mask = ops.not_equal(ops.cast(source_ids, "int32"), PAD_ID)
        positions = ops.arange(ops.shape(source_ids)[1], dtype="int32")
        x = self._embed(self.source_embedding, source_ids, positions, training)
        for layer in self.encoder_layers:
            x = layer(x, mask=mask, training=training)
        x = x if self.encoder_norm is None else self.encoder_norm(x)
        return Memory([layer.project(x) for layer in self.decoder_layers], mask)

    def start(self, memory: Memory) -> State:
        return self.start_for(memory, 2 * ops.shape(memory.mask)[1] + 50)

    def start_for(self, memory: Memory, length: int) -> State:
        batch = ops.shape(memory.mask)[0]
        caches = [layer.make_cache(batch, length) for layer in self.decoder_layers]
        return State(caches, ops.zeros((batch,), dtype="int32"))

    def step(
        self, token_ids: Tensor, state: State, memory: Memory
    ) -> tuple[Tensor, State, Tensor]:
        position, caches = state.position[:1], []  # all rows are at one position
        x = self._embed(self.token_embedding, token_ids, position)
        for layer, cache, keys in zip(
            self.decoder_layers, state.caches, memory.keys, strict=True
        ):
            x, weights, cache = layer.step(x, cache, position, keys, memory.mask)
            caches.append(cache)
        x = x if self.decoder_norm is None else self.decoder_norm(x)
        room = position < ops.shape(caches[0][0])[2]
        x = ops.where(room[:, None], x, float("nan"))
        return self.logits(x), State(caches, state.position + 1), weights

    def target_words(self, target_ids: Tensor, training: bool = False) -> Tensor:
        positions = ops.arange(ops.shape(target_ids)[1], dtype="int32")
        return self._embed(self.token_embedding, target_ids, positions, training)

    def run_steps(
        self,
        memory: Memory,
        words: Tensor,
        training: bool = False,
        return_alignments: bool = False,
    ) -> tuple[Tensor, Tensor]:
        x = words
        for layer, keys in zip(self.decoder_layers, memory.keys, strict=True):
            x, weights = layer(x, None, mask=memory.mask, keys=keys, training=training)
        return x if self.decoder_norm is None else self.decoder_norm(x), weights

    def features(self, inputs: dict[str, Tensor], training: bool = False) -> Tensor:
        return self.run_steps(*self.read(inputs, training), training)[0]
