"""RNN Encoder–Decoder: Cho et al. 2014.

"Learning Phrase Representations using RNN Encoder–Decoder for Statistical Machine
Translation", EMNLP 2014 (arXiv 1406.1078).
"""

from typing import Any, Literal, NamedTuple

import keras
from keras import ops

from zoo.backend import Tensor
from zoo.ids import START_ID
from zoo.layers import FixedContextDecoder, GRUCell, MaxoutReadout, RecurrentStack
from zoo.layers.configured import AboveZero, PerGate, Rate, Size
from zoo.layers.functional import apply_dense
from zoo.models.seq2seq import Seq2SeqBackbone, no_weights, shift_right


class Memory(NamedTuple):
    """All that decoding needs of the source; see `RNNEncoderDecoder.encode`."""

    context: Tensor  # c, (B, n)
    mask: Tensor  # bool (B, S)
    start: Tensor  # h`_0, (B, n)


class State(NamedTuple):
    """The decoder's state between two words, in R rows."""

    h: Tensor  # h`_{t-1}, (R, n)
    c: Tensor  # the context (R, n)
    shares: list[Tensor]  # that it has in every step, see `FixedContextDecoder.project`


@keras.saving.register_keras_serializable(package="zoo")
class RNNEncoderDecoder(Seq2SeqBackbone):
    """Cho et al. 2014: one GRU reads a sentence into a vector, another one writes.

    Equations 5 to 8 of the paper, and of its appendix the rest, for source position i
    and target step t (` marks the decoder's own matrices):

        r_i  = σ(e(x_i) W_r + h_{i-1} U_r)
        z_i  = σ(e(x_i) W_z + h_{i-1} U_z)
        h~_i = tanh(e(x_i) W + (r_i * h_{i-1}) U)
        h_i  = z_i * h_{i-1} + (1 - z_i) * h~_i
        c    = tanh(h_S V),  h`_0 = tanh(c V`)

        z_t  = σ(e(y_{t-1}) W`_z + h`_{t-1} U`_z + c C_z)
        r_t  = σ(e(y_{t-1}) W`_r + h`_{t-1} U`_r + c C_r)
        h~_t = tanh(e(y_{t-1}) W` + r_t * (h`_{t-1} U` + c C))
        h`_t = z_t * h`_{t-1} + (1 - z_t) * h~_t
        s_t  = maxout(h`_t O_h + e(y_{t-1}) O_y + c O_c)
        p(y_t) = softmax(s_t G),  G = G_r G_l

    c enters both gates, the candidate and the output at every step, and e(y_0) = 0. In
    the decoder the reset gate stands after the product and scales c C too.

    `variant="groundhog"` is the authors' code, which differs in four places: the reset
    gate stands before the product and leaves c C alone; the update gate takes the new
    state, (1 - z) * h + z * h~; the output reads h`_{t-1}; c is h_S itself.

    The input matrices of rank 100 of section 4.1 are word vectors of that size,
    `embedding_dim`; the output's is `output_rank`. The paper's source ends with an end
    symbol, here with its last word. The paper leaves the biases out; those here start
    at zero (`use_bias`). The alignment weights of `step` and `align` are 0: there is no
    attention.

    Args:
        vocabulary_size: source vocabulary. Paper: 15,000.
        target_vocabulary_size: None, the default, for that of the source.
        hidden_dim: units of encoder and decoder. Paper: 1000.
        embedding_dim: size of the word vectors. Paper: 100.
        maxout_dim: maxout units of two inputs each. Paper: 500.
        output_rank: rank of G; None for a whole matrix. Paper: 100.
        variant: "paper" or "groundhog".
        use_bias: whether GRUs, V, V`, the readout and G have biases.
        dropout: on word vectors and on s_t; not in the paper.
        initializer_range: standard deviation of the matrices that are not recurrent;
            those are orthogonal, each gate's by itself. Paper: 0.01.
        dtype: dtype policy.

    Call arguments:
        inputs: dict of `source_ids` int (B, S) and `target_ids` int (B, T), the target
            shifted right (start token first), both padded at the right with 0.

    Returns:
        Logits `(B, T, target vocabulary)` of the next target token.

    Raises:
        ValueError: for an unknown variant, a size or range that is not positive, or a
            dropout rate outside [0, 1).

    Example:
        >>> import numpy as np
        >>> model = RNNEncoderDecoder(20, hidden_dim=8, embedding_dim=6, maxout_dim=5,
        ...                           output_rank=4)
        >>> ids = np.array([[4, 5, 6, 0], [7, 8, 0, 0]])
        >>> model({"source_ids": ids, "target_ids": ids}).shape
        (2, 4, 20)
    """

    vocabulary_size: Size = 15000
    target_vocabulary_size: Size | None = None
    hidden_dim: Size = 1000
    embedding_dim: Size = 100
    maxout_dim: Size = 500
    output_rank: Size | None = 100
    variant: Literal["paper", "groundhog"] = "paper"
    use_bias: bool = True
    dropout: Rate = 0.0
    initializer_range: AboveZero = 0.01

    def setup(self) -> None:
        paper = self.variant == "paper"
        update = "keep" if paper else "replace"
        options: dict[str, Any] = {"use_bias": self.use_bias, "update": update}
        gates = PerGate("orthogonal", 3)
        self.make_embeddings(self.embedding_dim, self.normal)
        self.encoder = RecurrentStack(
            self.hidden_dim,
            kernel_initializer=self.normal(),
            recurrent_initializer=gates,
            cell="gru",
            cell_options=options,
            **self.named("encoder"),
        )
        self.summarize = self.dense(self.hidden_dim, "V", activation="tanh")
        self.summarize = self.summarize if paper else None
        self.start_layer = self.dense(self.hidden_dim, "V_start", activation="tanh")
        cell = GRUCell(
            self.hidden_dim,
            reset_after=paper,
            kernel_initializer=self.normal(),
            recurrent_initializer=gates,
            **self.named("decoder_gru"),
            **options,
        )
        self.decoder = FixedContextDecoder(cell, **self.named("decoder"))
        self.maxout = MaxoutReadout(
            self.maxout_dim, self.use_bias, self.normal(), **self.named("maxout")
        )
        self.low_rank = None
        if self.output_rank is not None:
            self.low_rank = self.dense(self.output_rank, "G_r", use_bias=False)
        self.drop = keras.layers.Dropout(self.dropout, dtype=self.dtype_policy)
        self.output_layer = self.dense(self.target_size, "G_l")
        self.build(None)

    initializer = Seq2SeqBackbone.normal

    def dense(self, units: int, name: str, **options: Any) -> keras.layers.Dense:
        return super().dense(units, name, **{"use_bias": self.use_bias, **options})

    def parts(self) -> Any:
        m, n = self.embedding_dim, self.hidden_dim
        return [
            (self.encoder, m),
            (self.summarize, n),
            (self.start_layer, n),
            (self.decoder, m, n),
            (self.maxout, n, m, n),
            (self.low_rank, self.maxout_dim),
            (self.output_layer, self.output_rank or self.maxout_dim),
        ]

    # === The contract ===
    def encode(self, source_ids: Tensor, training: bool = False) -> Memory:
        words, mask = self.source_words(source_ids)
        words = self.drop(words, training=training)
        _, [[context]] = self.encoder(words, mask=mask, training=training)
        if self.summarize is not None:
            context = self.summarize(context)
        return Memory(context, mask, self.start_layer(context))

    def start(self, memory: Memory) -> State:
        shares = self.decoder.project(memory.context)
        return State(memory.start, memory.context, shares)

    def step(
        self, token_ids: Tensor, state: State, memory: Memory
    ) -> tuple[Tensor, State, Tensor]:
        word = self.target_words(token_ids)  # e(y_{t-1})
        h = self.decoder.step(word, state.h, *state.shares)  # z_t, r_t, h~_t and h`_t
        read = h if self.variant == "paper" else state.h
        s = self._readout(read, word, state.c)  # s_t G_r
        return self.logits(s), state._replace(h=h), no_weights(word, memory.mask)

    def target_words(self, target_ids: Tensor, training: bool = False) -> Tensor:
        """e(y_{t-1}), with e(y_0) = 0 for the start token."""
        words = super().target_words(target_ids)
        real = ops.not_equal(ops.cast(target_ids, "int32"), START_ID)[..., None]
        words = ops.where(real, words, ops.zeros_like(words))
        return self.drop(words, training=training)

    def _readout(self, states, words, context, training=False):
        """s_t, and its product with G_r where there is one."""
        features = self.maxout(states, words, context)
        features = self.drop(features, training=training)
        return features if not self.low_rank else apply_dense(self.low_rank, features)

    def features(self, inputs: dict[str, Tensor], training: bool = False) -> Tensor:
        memory, words = self.read(inputs, training)
        states, contexts = self.decoder(
            words, memory.context, memory.start, training=training
        )
        if self.variant == "groundhog":
            states = shift_right(states, memory.start)
        return self._readout(states, words, contexts, training)

    def align(self, source_ids: Tensor, target_ids: Tensor) -> Tensor:
        return no_weights(self.target_words(target_ids), source_ids)
