"""RNNsearch and RNNencdec: Bahdanau, Cho & Bengio 2015."""

from typing import Any, Literal, NamedTuple

import keras
from keras import ops

from zoo.backend import Tensor
from zoo.layers import (
    AdditiveAttention,
    ContextCell,
    ContextDecoder,
    GRUCell,
    MaxoutReadout,
    RecurrentStack,
)
from zoo.layers.configured import AboveZero, PerGate, Rate, Size
from zoo.layers.functional import columns, join
from zoo.models.cho import RNNEncoderDecoder
from zoo.models.seq2seq import Seq2SeqBackbone


class Memory(NamedTuple):
    """All that decoding needs of the source; see `Bahdanau.encode`."""

    annotations: Tensor  # h, (B, S, 2 n)
    keys: Tensor  # h U_a, (B, S, n')
    mask: Tensor  # bool (B, S)
    start: Tensor  # s_0, (B, n)


class State(NamedTuple):
    """The decoder's state between two words, in R rows."""

    s: Tensor  # s_{i-1}, (R, n)
    i: Tensor  # the target position, int32 (R,)


@keras.saving.register_keras_serializable(package="zoo")
class Bahdanau(Seq2SeqBackbone):
    """Bahdanau, Cho & Bengio 2015: a GRU decoder that searches the source, RNNsearch.

    Equations of appendix A, for source position j and target step i:

        h_j  = [→h_j; ←h_j], two GRUs                            A.2.1
        s_0  = tanh(←h_1 W_s)                                    A.2.2
        e_ij = v_a · tanh(s_{i-1} W_a + h_j U_a)
        α_ij = softmax_j(e_ij),  c_i = Σ_j α_ij h_j              equations 5 and 6
        z_i  = σ(y_{i-1} E W_z + s_{i-1} U_z + c_i C_z)
        r_i  = σ(y_{i-1} E W_r + s_{i-1} U_r + c_i C_r)
        s~_i = tanh(y_{i-1} E W + (r_i * s_{i-1}) U + c_i C)
        s_i  = (1 - z_i) * s_{i-1} + z_i * s~_i
        t_i  = maxout(s_{i-1} U_o + y_{i-1} E V_o + c_i C_o)
        p(y_i) = softmax(t_i W_o)

    The source carries no end token. The first step reads the start token's vector,
    where the authors' code has zeros. The readout takes s_{i-1}, as the appendix and
    the authors' code do; equation 4 has s_i, `readout="current"`. The appendix leaves
    the biases out and section B.1 starts them at zero: `use_bias` is for the GRUs, W_s,
    the readout and W_o, the score has none (the authors' code has none in the gates
    either). The reset gate stands before the product, and the update gate takes the
    new state (the other way round than in Keras). The paper's other model is
    `RNNencdec`.

    As in the paper: recurrent matrices orthogonal, each gate's by itself; W_a and U_a
    from N(0, 0.001²), v_a and biases zero, all others from N(0, 0.01²). The authors'
    code has a softmax factorised at rank 620, which the paper doesn't mention: it is
    left out.

    Args:
        vocabulary_size: source vocabulary. Paper: 30,000.
        target_vocabulary_size: None, the default, for that of the source.
        hidden_dim: n, units of each direction and of the decoder. Paper: 1000.
        embedding_dim: m. Paper: 620.
        attention_dim: n'. Paper: 1000.
        maxout_dim: l. Paper: 500.
        readout: "previous" for s_{i-1}, "current" for s_i.
        use_bias: see above.
        dropout: on word vectors and on t_i; not in the paper.
        initializer_range: standard deviation of the other matrices. Paper: 0.01.
        dtype: dtype policy.

    Call arguments:
        inputs: dict of `source_ids` int (B, S) and `target_ids` int (B, T), the target
            shifted right (start token first), both padded at the right with 0.

    Returns:
        Logits `(B, T, target vocabulary)` of the next target token.

    Raises:
        ValueError: for an unknown readout, a size or range that is not positive, or a
            dropout rate outside [0, 1).

    Example:
        >>> import numpy as np
        >>> model = Bahdanau(vocabulary_size=20, hidden_dim=8, embedding_dim=6,
        ...                  attention_dim=8, maxout_dim=5)
        >>> ids = np.array([[4, 5, 6, 0], [7, 8, 0, 0]])
        >>> model({"source_ids": ids, "target_ids": ids}).shape
        (2, 4, 20)
    """

    vocabulary_size: Size = 30000
    target_vocabulary_size: Size | None = None
    hidden_dim: Size = 1000
    embedding_dim: Size = 620
    attention_dim: Size = 1000
    maxout_dim: Size = 500
    readout: Literal["previous", "current"] = "previous"
    use_bias: bool = True
    dropout: Rate = 0.0
    initializer_range: AboveZero = 0.01

    def setup(self) -> None:
        options: dict[str, Any] = {"use_bias": self.use_bias, "update": "replace"}
        self.make_embeddings(self.embedding_dim, self.normal)
        self.encoder = RecurrentStack(
            2 * self.hidden_dim,
            bidirectional=True,
            kernel_initializer=self.normal(),
            recurrent_initializer=PerGate("orthogonal", 3),
            cell="gru",
            cell_options=options,
            **self.named("encoder"),
        )
        self.start_layer = self.dense(
            self.hidden_dim, "W_s", activation="tanh", use_bias=self.use_bias
        )
        cell = GRUCell(
            self.hidden_dim,
            kernel_initializer=self.normal(),
            recurrent_initializer=PerGate("orthogonal", 3),
            **self.named("decoder_gru"),
            **options,
        )
        attention = AdditiveAttention(
            self.attention_dim,
            kernel_initializer=keras.initializers.RandomNormal(stddev=0.001),
            vector_initializer="zeros",
            **self.named("attention"),
        )
        cell = ContextCell(cell, attention, **self.named("decoder_cell"))
        self.decoder = ContextDecoder(cell, **self.named("decoder"))
        self.deep_output = MaxoutReadout(
            self.maxout_dim,
            use_bias=self.use_bias,
            kernel_initializer=self.normal(),
            **self.named("deep_output"),
        )
        self.drop = keras.layers.Dropout(self.dropout, dtype=self.dtype_policy)
        self.output_layer = self.dense(self.target_size, "W_o", use_bias=self.use_bias)
        self.build(None)

    initializer = Seq2SeqBackbone.normal

    def parts(self) -> Any:
        m, n = self.embedding_dim, self.hidden_dim
        return [
            (self.encoder, m),
            (self.start_layer, n),
            (self.decoder, m, 2 * n),
            (self.deep_output, n, m, 2 * n),
            (self.output_layer, self.maxout_dim),
        ]

    # === The contract ===
    def encode(self, source_ids: Tensor, training: bool = False) -> Memory:
        words, mask = self.source_words(source_ids)
        words = self.drop(words, training=training)
        annotations, [[final]] = self.encoder(words, mask=mask, training=training)
        keys = self.decoder.cell.attention.project(annotations)
        start = self.start_layer(final[:, self.hidden_dim :])  # of ←h_1
        return Memory(annotations, keys, mask, start)

    def start(self, memory: Memory) -> State:
        batch = ops.shape(memory.start)[0]
        return State(*self.decoder.cell.get_initial_state(batch, [memory.start]))

    def step(
        self, token_ids: Tensor, state: State, memory: Memory
    ) -> tuple[Tensor, State, Tensor]:
        decoder, (h, keys, mask, _) = self.decoder.cell, memory
        word = self.token_embedding(token_ids)  # y_{i-1} E
        c, a = decoder.attend(state.s, h, mask, keys, state.i)  # equations 5 and 6
        s, _ = decoder.recur([word, c], [state.s])  # z_i, r_i, s~_i and s_i
        read = state.s if self.readout == "previous" else s
        t = self.deep_output(read, word, c)  # t_i
        return self.logits(t), State(s, state.i + 1), a  # t_i W_o

    # Computed after the loop, for all steps at once.
    loop_parts = {"deep_output": lambda state, word, context: join(state, context)}

    def target_words(self, target_ids: Tensor, training: bool = False) -> Tensor:
        return self.drop(super().target_words(target_ids), training=training)

    def features(self, inputs: dict[str, Tensor], training: bool = False) -> Tensor:
        memory, words = self.read(inputs, training)
        outputs, _ = self.run_steps(memory, words, training)
        states = columns(outputs, 0, self.hidden_dim)
        contexts = columns(outputs, self.hidden_dim, 3 * self.hidden_dim)
        return self.drop(self.deep_output(states, words, contexts), training=training)

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        # True was the value of an argument once.
        own = {k: config[k] for k in config if (k, config[k]) != ("attention", True)}
        return super().from_config(own)


@keras.saving.register_keras_serializable(package="zoo")
class RNNencdec(RNNEncoderDecoder):
    """RNNencdec, which Bahdanau, Cho & Bengio 2015 compare RNNsearch with.

    It is Cho et al. 2014's model as in the authors' code: `RNNEncoderDecoder` with
    `variant="groundhog"`, of RNNsearch's sizes and without a factorised softmax. c is
    the last state of a forward encoder at every step, and s_0 = tanh(c W_s). Unlike
    `Bahdanau` it reads zeros for the start token, e(y_0) = 0.

    It takes the arguments of `RNNEncoderDecoder`; these have other defaults.

    Args:
        vocabulary_size: Paper: 30,000.
        embedding_dim: Paper: 620.
        output_rank: None.
        variant: "groundhog".

    Example:
        >>> import numpy as np
        >>> model = RNNencdec(20, hidden_dim=8, embedding_dim=6, maxout_dim=5)
        >>> ids = np.array([[4, 5, 6, 0], [7, 8, 0, 0]])
        >>> model({"source_ids": ids, "target_ids": ids}).shape
        (2, 4, 20)
    """

    vocabulary_size: Size = 30000
    embedding_dim: Size = 620
    output_rank: Size | None = None
    variant: Literal["paper", "groundhog"] = "groundhog"
