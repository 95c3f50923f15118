"""Long Short-Term Memory-Networks for Machine Reading: Cheng, Dong & Lapata 2016.

EMNLP 2016 (arXiv 1601.06733).
"""

from typing import Any, Literal, NamedTuple

import keras
from keras import ops

from zoo.backend import Tensor
from zoo.layers import LSTMN
from zoo.layers.configured import AboveZero, Rate, Size
from zoo.models.seq2seq import Seq2SeqBackbone


class Memory(NamedTuple):
    """All that decoding needs of the source; see `LSTMNEncoderDecoder.encode`."""

    source: list[dict[str, Tensor]]  # of each layer, see `LSTMNCell.project_source`
    states: list[list[Tensor]]  # the last h and c of each layer, (B, n)


@keras.saving.register_keras_serializable(package="zoo")
class LSTMNEncoderDecoder(Seq2SeqBackbone):
    """Cheng, Dong & Lapata 2016, section 4: two LSTMNs with attention between them.

    Encoder and decoder attend to their own past, `zoo.layers.LSTMNCell`'s equations;
    the decoder reads the encoder's tapes by deep fusion (the source's memory enters the
    decoder's through a gate of its own) or shallow fusion (the attended hidden state is
    one more input). Its tapes begin with the encoder's last h and c, and

        p(y_t) = softmax(h_t W)

    The paper describes this for two given sequences and evaluates it on inference
    between sentences: it has no translator. The default sizes are those of its largest
    model there (450 units, word vectors of 300), and its language model's 10,000 words.
    It does not say how weights start: here Glorot uniform or uniform within a range,
    biases 0, the forget gates' 1. In a stack layer k reads tapes of the encoder's
    layer k. The source carries no end token.

    The decoder's tapes have room for 2 S + 50 target positions from `start(memory)`,
    for `length` from `start_for(memory, length)`; a step beyond gives NaN. The
    alignment is the top layer's attention to the source.

    Args:
        vocabulary_size: source vocabulary. Paper: 10,000.
        target_vocabulary_size: None, the default, for that of the source.
        num_layers: depth of encoder and decoder. Paper: 1.
        hidden_dim: units of each layer. Paper: 450.
        embedding_dim: size of the word vectors. Paper: 300.
        fusion: "deep" or "shallow".
        dropout: on the inputs of the layers and of the softmax. Paper: tuned in 0.1 to
            0.4.
        initializer_range: r of U(-r, r), for all weights but biases; None, the default,
            for Glorot uniform.
        dtype: dtype policy.

    Call arguments:
        inputs: dict of `source_ids` int (B, S) and `target_ids` int (B, T), the target
            shifted right (start token first), both padded at the right with 0.

    Returns:
        Logits `(B, T, target vocabulary)` of the next target token.

    Raises:
        ValueError: for another fusion, sizes or a range that are not positive, or a
            dropout rate outside [0, 1).

    Example:
        >>> import numpy as np
        >>> model = LSTMNEncoderDecoder(20, hidden_dim=8, embedding_dim=6)
        >>> ids = np.array([[4, 5, 6, 0], [7, 8, 0, 0]])
        >>> model({"source_ids": ids, "target_ids": ids}).shape
        (2, 4, 20)
    """

    vocabulary_size: Size = 10000
    target_vocabulary_size: Size | None = None
    num_layers: Size = 1
    hidden_dim: Size = 450
    embedding_dim: Size = 300
    fusion: Literal["deep", "shallow"] = "deep"
    dropout: Rate = 0.0
    initializer_range: AboveZero | None = None

    def setup(self) -> None:
        self.make_embeddings(self.embedding_dim, self.initializer)
        self.encoder, self.decoder = (
            LSTMN(
                self.hidden_dim,
                self.num_layers,
                fusion=kind,
                dropout=self.dropout,
                kernel_initializer=self.initializer(),
                **self.named(name),
            )
            for name, kind in (("encoder", None), ("decoder", self.fusion))
        )
        self.drop = keras.layers.Dropout(self.dropout, dtype=self.dtype_policy)
        self.output_layer = self.dense(self.target_size, "W")
        self.build(None)

    def initializer(self) -> Any:
        if self.initializer_range is None:
            return keras.initializers.GlorotUniform()
        return self.uniform()

    def parts(self) -> Any:
        m, n = self.embedding_dim, self.hidden_dim
        return (self.encoder, m), (self.decoder, m), (self.output_layer, n)

    # === The contract ===
    def encode(self, source_ids: Tensor, training: bool = False) -> Memory:
        words, mask = self.source_words(source_ids)
        tapes, _, states = self.encoder.run(words, mask, training=training)
        return Memory(self.decoder.project_source(tapes, mask), states)

    def start(self, memory: Memory) -> list[Any]:
        length = ops.shape(memory.source[0]["mask"])[1]
        return self.start_for(memory, 2 * length + 50)

    def start_for(self, memory: Memory, length: int) -> list[Any]:
        batch = ops.shape(memory.states[0][0])[0]
        return self.decoder.make_states(batch, length, memory.states)

    def step(
        self, token_ids: Tensor, state: list[Any], memory: Memory
    ) -> tuple[Tensor, list[Any], Tensor]:
        word = self.token_embedding(token_ids)  # x_t
        # h_t, layer by layer: section 3.2, and 4 by `LSTMNCell.equations`
        h, weights, state = self.decoder.step(word, state, memory.source)
        return self.logits(h), state, weights  # h_t W

    def run_steps(
        self,
        memory: Memory,
        words: Tensor,
        training: bool = False,
        return_alignments: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        tapes, weights, _ = self.decoder.run(
            words,
            initial_states=memory.states,
            source=memory.source,
            training=training,
            return_weights=return_alignments,
        )
        return tapes[-1][0], weights

    def features(self, inputs: dict[str, Tensor], training: bool = False) -> Tensor:
        outputs, _ = self.run_steps(*self.read(inputs, training), training)
        return self.drop(outputs, training=training)
