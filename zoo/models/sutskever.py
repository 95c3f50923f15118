"""Sequence to sequence learning: Sutskever, Vinyals & Le 2014.

(The contract of all models is in `zoo.models.seq2seq`.)
"""

from typing import Any, NamedTuple

import keras

from zoo.backend import Tensor
from zoo.layers import RecurrentStack
from zoo.layers.configured import AboveZero, Rate, Size
from zoo.models.seq2seq import Seq2SeqBackbone, no_weights


class Memory(NamedTuple):
    """All that decoding needs of the source; see `Seq2Seq.encode`."""

    mask: Tensor  # bool (B, S)
    states: list[list[Tensor]]  # v: the last h and c of each layer, (B, n)


@keras.saving.register_keras_serializable(package="zoo")
class Seq2Seq(Seq2SeqBackbone):
    """Sutskever, Vinyals & Le 2014: one deep LSTM reads, another writes; no attention.

    Section 2, for source x_1 … x_S and target y_1 … y_T:

        v      = the final (h, c) of all layers of an LSTM that reads x_S, …, x_1
        h_t    = LSTM stack(y_{t-1} E, h_{t-1}), started from v
        p(y_t) = softmax(h_t W)                                  equation 1

    The source is read backwards (section 3.3), the target forwards. Encoder and decoder
    have weights of their own. The paper takes its LSTM from Graves (2013), whose
    peepholes the text doesn't mention: there are none here; nor does it mention
    biases, and its 384M parameters come out without any (`use_bias=True` adds them).
    Every parameter starts from U(-0.08, 0.08), the forget gate's bias included;
    `unit_forget_bias` has it start at 1 (Gers et al. 2000, Jozefowicz et al. 2015). The
    source carries no end token; the start token stands for the one that the paper feeds
    before the first target word.

    The decoder sees of the source nothing but v, so `step` and `align` give alignment
    weights of 0.

    Args:
        vocabulary_size: source vocabulary. Paper: 160,000.
        target_vocabulary_size: None, the default, for that of the source. Paper:
            80,000.
        num_layers: depth of encoder and decoder. Paper: 4.
        hidden_dim: LSTM cells of each layer. Paper: 1000.
        embedding_dim: size of the word vectors. Paper: 1000.
        reverse_source: whether the encoder reads backwards. Paper: True.
        use_bias: whether LSTMs and softmax have biases. Paper: none.
        unit_forget_bias: whether the forget gates' biases start at 1, for which there
            must be biases: what has been read first is forgotten more slowly at the
            start of training. Default False, as in the paper.
        dropout: on the inputs of the LSTM layers and of the softmax (Zaremba et al.
            2014). Paper: 0.
        initializer_range: r of U(-r, r). Paper: 0.08.
        dtype: dtype policy.

    Call arguments:
        inputs: dict of `source_ids` int (B, S) and `target_ids` int (B, T), the target
            shifted right (start token first), both padded at the right with 0.

    Returns:
        Logits `(B, T, target vocabulary)` of the next target token.

    Raises:
        ValueError: for a size or range that is not positive, a dropout rate outside
            [0, 1), or `unit_forget_bias` without biases.

    Example:
        >>> import numpy as np
        >>> model = Seq2Seq(20, num_layers=2, hidden_dim=8, embedding_dim=6)
        >>> ids = np.array([[4, 5, 6, 0], [7, 8, 0, 0]])
        >>> model({"source_ids": ids, "target_ids": ids}).shape
        (2, 4, 20)
    """

    vocabulary_size: Size = 160000
    target_vocabulary_size: Size | None = None
    num_layers: Size = 4
    hidden_dim: Size = 1000
    embedding_dim: Size = 1000
    reverse_source: bool = True
    use_bias: bool = False
    unit_forget_bias: bool = False
    dropout: Rate = 0.0
    initializer_range: AboveZero = 0.08

    def setup(self) -> None:
        self.make_embeddings(self.embedding_dim, self.uniform)
        self.encoder, self.decoder = (
            RecurrentStack(
                self.hidden_dim,
                self.num_layers,
                reverse=reverse,
                dropout=self.dropout,
                kernel_initializer=self.uniform(),
                bias_initializer=self.uniform(),
                cell_options={
                    "use_bias": self.use_bias,
                    "unit_forget_bias": self.unit_forget_bias,
                },
                **self.named(name),
            )
            for name, reverse in (("encoder", self.reverse_source), ("decoder", False))
        )
        self.drop = keras.layers.Dropout(self.dropout, dtype=self.dtype_policy)
        self.output_layer = self.dense(
            self.target_size,
            "W",
            use_bias=self.use_bias,
            kernel_initializer=self.uniform(),
            bias_initializer=self.uniform(),
        )
        self.build(None)

    def parts(self) -> Any:
        m, n = self.embedding_dim, self.hidden_dim
        return (self.encoder, m), (self.decoder, m), (self.output_layer, n)

    # === The contract ===
    def encode(self, source_ids: Tensor, training: bool = False) -> Memory:
        words, mask = self.source_words(source_ids)
        _, states = self.encoder(words, mask=mask, training=training)
        return Memory(mask, states)

    def start(self, memory: Memory) -> list[list[Tensor]]:
        return memory.states

    def step(
        self, token_ids: Tensor, state: list[list[Tensor]], memory: Memory
    ) -> tuple[Tensor, list[list[Tensor]], Tensor]:
        word = self.token_embedding(token_ids)[:, None]  # y_{t-1} E
        h, state = self.decoder(word, initial_states=state)  # h_t
        h = h[:, 0]
        return self.logits(h), state, no_weights(h, memory.mask)  # equation 1

    def features(self, inputs: dict[str, Tensor], training: bool = False) -> Tensor:
        memory, words = self.read(inputs, training)
        outputs, _ = self.decoder(
            words, initial_states=memory.states, training=training
        )
        return self.drop(outputs, training=training)

    def align(self, source_ids: Tensor, target_ids: Tensor) -> Tensor:
        return no_weights(self.target_words(target_ids), source_ids)
