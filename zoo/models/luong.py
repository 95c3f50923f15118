"""Effective Approaches to Attention-based Neural Machine Translation.

Minh-Thang Luong, Hieu Pham & Christopher D. Manning, EMNLP 2015 (arXiv 1508.04025).
"""

from typing import Any, Literal, NamedTuple

import keras
from keras import ops

from zoo.backend import Tensor
from zoo.layers import (
    AttentionCell,
    AttentionDecoder,
    ConcatAttention,
    LocalMonotonicAttention,
    LocalPredictiveAttention,
    LocationAttention,
    LSTMCell,
    MultiplicativeAttention,
    RecurrentStack,
)
from zoo.layers.configured import AboveZero, Rate, Size
from zoo.layers.functional import columns, scan
from zoo.models.seq2seq import Seq2SeqBackbone, Tie


class Memory(NamedTuple):
    """All that decoding needs of the source; see `Luong.encode`."""

    annotations: Tensor  # hbar, (B, S, d)
    keys: Tensor  # what the score makes of them, (B, S, k)
    mask: Tensor  # bool (B, S)
    states: list[Tensor]  # of the encoder: h and c of each layer, (B, d)


class State(NamedTuple):
    """The decoder's state between two words, in R rows."""

    cells: list[Tensor]  # h and c of each layer, (R, d)
    fed: list[Tensor]  # h~_{t-1} (R, d) with input feeding, nothing without
    t: Tensor  # the target position, int32 (R,)


@keras.saving.register_keras_serializable(package="zoo")
class Luong(Seq2SeqBackbone):
    """Luong, Pham & Manning 2015: stacked LSTMs with global or local attention.

    Equations, for target step t:

        h_t  = LSTM stack([y_{t-1} E; h~_{t-1}], h_{t-1})    section 3.3, input feeding
        a_t  = align(h_t, memory)                            equations 7 to 10
        c_t  = sum_s a_t(s) hbar_s
        h~_t = tanh([c_t; h_t] W_c)                          equation 5
        p(y_t) = softmax(h~_t W_s)                           equation 6

    The memory hbar is the top layer of an encoder of the decoder's depth, whose final
    states start the decoder. The source is read from its last word to its first; the
    memory is kept in source order all the same, so that alignments need no turning
    round and local-m's window is centred on source position t (the mirrored position
    of the reversed reading, as in the authors' code).

    As in the authors' code: no bias anywhere; every parameter from U(-0.1, 0.1);
    dropout on the input of every LSTM layer and on no recurrent connection (Zaremba
    et al. 2014). Where paper and code differ the paper is followed: p_t = S · sigmoid
    (the code maps to 1 … S), W_a whole in the concat score (the code fixes half of it).
    The source carries no end token, so S counts its pieces.

    Args:
        vocabulary_size: source vocabulary; the paper's 50,000 by default.
        target_vocabulary_size: None, the default, for that of the source. A
            translator with a preprocessor has one vocabulary for both.
        num_layers: depth of encoder and decoder. Paper: 4.
        hidden_dim: LSTM cells of each layer. Paper: 1000.
        embedding_dim: size of the word vectors. Paper: 1000.
        attention: "global", "local_m", "local_p" or "location".
        score: "dot", "general", "concat" or "scaled_dot"; not used by "location".
        window: D of the local kinds. Paper: 10.
        input_feeding: whether h~_{t-1} is fed to the decoder's first layer. Without
            it the decoder runs as one recurrent call and one batched attention.
        reverse_source: whether the encoder reads backwards. Paper: True.
        bidirectional: whether the encoder reads in both directions (not in the
            paper; each direction then has half of the cells, and `reverse_source`
            has no effect). Read backwards only, a state has just read the word that
            follows its own, and the attention may peak one word to the left of the word
            translated (docs/papers/luong.md has figures; the preset `luong_reversed`).
        dropout: on the inputs of the LSTM layers. Paper: 0.2.
        readout_dropout: on h~_t before the softmax, as in Zaremba et al. but not in
            the authors' code. Paper: 0.
        tie_embeddings: None, the default and the paper's; "target" reads the logits
            off the target's word vectors, W_s = E^T (Press & Wolf 2017); "all" has one
            matrix for source, target and W_s (Vaswani et al. 2017, section 3.4). Both
            need `embedding_dim` equal to `hidden_dim`, "all" one vocabulary too.
        max_source_length: length of the vector of "location". Paper: 50.
        initializer_range: r of U(-r, r). Paper: 0.1.
        dtype: dtype policy.

    Call arguments:
        inputs: dict of `source_ids` int (B, S) and `target_ids` int (B, T), the target
            shifted right (start token first), both padded at the right with 0.

    Returns:
        Logits `(B, T, target vocabulary)` of the next target token.

    Raises:
        ValueError: for an unknown attention, score or tie, a size or range that is not
            positive, a dropout rate outside [0, 1), or sizes that can't be tied.

    Example:
        >>> import numpy as np
        >>> model = Luong(vocabulary_size=20, num_layers=2, hidden_dim=8,
        ...               embedding_dim=8)
        >>> ids = np.array([[4, 5, 6, 0], [7, 8, 0, 0]])
        >>> logits = model({"source_ids": ids, "target_ids": ids})
        >>> logits.shape
        (2, 4, 20)
    """

    vocabulary_size: Size = 50000
    target_vocabulary_size: Size | None = None
    num_layers: Size = 4
    hidden_dim: Size = 1000
    embedding_dim: Size = 1000
    attention: Literal["global", "local_m", "local_p", "location"] = "local_p"
    score: Literal["dot", "general", "concat", "scaled_dot"] = "general"
    window: Size = 10
    input_feeding: bool = True
    reverse_source: bool = True
    bidirectional: bool = False
    dropout: Rate = 0.2
    readout_dropout: Rate = 0.0
    tie_embeddings: Tie = None
    max_source_length: Size = 50
    initializer_range: AboveZero = 0.1

    def setup(self) -> None:
        if self.tie_embeddings and self.embedding_dim != self.hidden_dim:
            raise ValueError(
                "Tied embeddings need `embedding_dim` equal to `hidden_dim`. Received: "
                f"embedding_dim={self.embedding_dim}, hidden_dim={self.hidden_dim}"
            )

        self.make_embeddings(self.embedding_dim, self.uniform, self.tie_embeddings)
        self.encoder = RecurrentStack(
            self.hidden_dim,
            self.num_layers,
            bidirectional=self.bidirectional,
            reverse=self.reverse_source,
            dropout=self.dropout,
            kernel_initializer=self.uniform(),
            cell_options={"use_bias": False},
            **self.named("encoder"),
        )
        cells = [
            LSTMCell(
                self.hidden_dim,
                use_bias=False,
                unit_forget_bias=False,
                kernel_initializer=self.uniform(),
                recurrent_initializer=self.uniform(),
                **self.named(f"decoder_lstm_{layer}"),
            )
            for layer in range(self.num_layers)
        ]
        cell = AttentionCell(
            cells,
            self._make_attention(),
            input_feeding=self.input_feeding,
            dropout=self.dropout,
            kernel_initializer=self.uniform(),
            **self.named("decoder_cell"),
        )
        self.decoder = AttentionDecoder(cell, **self.named("decoder"))
        self.readout_drop = keras.layers.Dropout(
            self.readout_dropout, dtype=self.dtype_policy
        )
        self.output_layer = None
        if not self.tie_embeddings:
            self.output_layer = self.dense(self.target_size, "W_s", use_bias=False)
        self.build(None)

    def _make_attention(self):
        options = {"kernel_initializer": self.uniform(), **self.named("attention")}
        if self.attention == "location":
            return LocationAttention(self.max_source_length, **options)
        if self.attention == "local_m":
            return LocalMonotonicAttention(self.score, self.window, **options)
        if self.attention == "local_p":
            return LocalPredictiveAttention(self.score, self.window, **options)
        if self.score == "concat":
            options["vector_initializer"] = self.uniform()
            return ConcatAttention(self.hidden_dim, **options)
        return MultiplicativeAttention(self.score, **options)

    initializer = Seq2SeqBackbone.uniform

    def parts(self) -> Any:
        m, d = self.embedding_dim, self.hidden_dim
        return (self.encoder, m), (self.decoder, m, d), (self.output_layer, d)

    # === The contract ===
    def encode(self, source_ids: Tensor, training: bool = False) -> Memory:
        words, mask = self.source_words(source_ids)
        annotations, states = self.encoder(words, mask=mask, training=training)
        keys = self.decoder.cell.attention.project(annotations)
        return Memory(annotations, keys, mask, [x for pair in states for x in pair])

    def start(self, memory: Memory) -> State:
        batch, count = ops.shape(memory.annotations)[0], len(memory.states)
        *states, t = self.decoder.cell.get_initial_state(batch, memory.states)
        return State(states[:count], states[count:], t)

    def step(
        self, token_ids: Tensor, state: State, memory: Memory
    ) -> tuple[Tensor, State, Tensor]:
        decoder, (hbar, keys, mask, _) = self.decoder.cell, memory
        word = self.token_embedding(token_ids)  # y_{t-1} E
        h, cells = decoder.recur([word, *state.fed], state.cells)  # h_t
        c, a = decoder.attend(h, hbar, mask, keys, state.t)  # equations 7 to 10
        h_tilde = decoder.combine(c, h)  # tanh([c_t; h_t] W_c), equation 5
        fed = [h_tilde] if self.input_feeding else []
        return self.logits(h_tilde), State(cells, fed, state.t + 1), a  # equation 6

    def features(self, inputs: dict[str, Tensor], training: bool = False) -> Tensor:
        outputs, _ = self.run_steps(*self.read(inputs, training), training)
        return self.readout_drop(outputs, training=training)

    def align_details(
        self, source_ids: Tensor, target_ids: Tensor
    ) -> tuple[Tensor, ...]:
        if self.attention not in ("local_m", "local_p"):
            return super().align_details(source_ids, target_ids)
        memory, cell = self.encode(source_ids), self.decoder.cell
        top = sum(cell.counts[:-1])  # the place of h_t, the last cell's, in the state
        view = self.loop_view(cell)

        def step(word, state):
            _, state, weights = Luong.step(view, word, state, memory)
            return ops.concatenate([state.cells[top], weights], axis=-1), state

        words = self.token_embedding(ops.cast(target_ids, "int32"))
        outputs, _ = scan(step, words, self.start(memory))
        hidden = columns(outputs, 0, self.hidden_dim)
        weights = outputs[..., self.hidden_dim :]
        return (weights, *cell.attention.attention_window(hidden, memory.mask))
