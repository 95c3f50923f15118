"""Language models and classifiers of words by RNN, LSTM, GRU and LSTMN.

The sizes are those of Cheng, Dong & Lapata 2016, who compare them on the Penn Treebank
(section 4.1) and on the sentiment of sentences (section 4.2). A language model's state
is an input and an output; nothing is remembered between calls.
"""

from typing import Any, Literal

import keras
from keras import ops

from zoo.backend import Tensor
from zoo.ids import END_ID, PAD_ID
from zoo.layers import LSTMN, RecurrentStack
from zoo.layers.configured import AboveZero, Rate, Size
from zoo.layers.functional import apply_dense
from zoo.models.backbone import Backbone

Cell = Literal["lstm", "gru", "rnn", "lstmn"]


class RecurrentBackbone(Backbone):
    """Word vectors and the recurrent net that reads them; `cell` is `RecurrentLM`'s."""

    def make_layers(self, vectors: Any, matrices: Any) -> None:
        """Makes them, drawn by an initializer each, and dropout."""
        sizes = self.vocabulary_size, self.embedding_dim
        self.token_embedding = keras.layers.Embedding(
            *sizes, vectors, **self.named("token_embedding")
        )
        sizes = self.hidden_dim, self.num_layers
        options = {"dropout": self.dropout, "kernel_initializer": matrices}
        options |= self.named("recurrent")
        if self.cell == "lstmn":
            self.recurrent = LSTMN(*sizes, **options)
        else:
            self.recurrent = RecurrentStack(*sizes, cell=self.cell, **options)
        self.drop = keras.layers.Dropout(self.dropout, dtype=self.dtype_policy)

    def words(self, token_ids: Tensor) -> tuple[Tensor, Tensor]:
        """The words' vectors `(B, T, m)` and their mask `(B, T)`."""
        token_ids = ops.cast(token_ids, "int32")
        return self.token_embedding(token_ids), ops.not_equal(token_ids, PAD_ID)


@keras.saving.register_keras_serializable(package="zoo")
class RecurrentLM(RecurrentBackbone):
    """A recurrent language model over words w_1 … w_T (Mikolov et al. 2010).

        h_t          = cell(E w_t, h_{t-1})      `num_layers` of them, one on another
        p(w_{t+1})   = softmax(h_t W + b)

    Input and output words have matrices of their own. Dropout is on the inputs of the
    recurrent layers and of the softmax alone (Zaremba et al. 2014). All weights start
    from U(-r, r), biases from 0; the paper doesn't say how.

    A pad (id 0) leaves the state as it is.

    Args:
        vocabulary_size: words. Paper: 10,000.
        embedding_dim: size of the word vectors. Paper: 150.
        hidden_dim: units of each recurrent layer. Paper: 300.
        num_layers: depth. Paper: 1 (and 3).
        cell: "lstm" (with forget gate), "gru" (Cho et al. 2014's), "rnn" (tanh) or
            "lstmn" (`zoo.layers.LSTMN`).
        tapes: how far an LSTMN's go, which the paper doesn't say: "sentence", the
            default, to the last end token, or "call", to the first word of a call. In
            both cases they have of what is before it the last state alone, as their
            first slot. A model saved before there was this argument ran with "call":
            give it.
        dropout: see above. Default 0.
        initializer_range: r. Default 0.05, an option of the paper's code.
        dtype: dtype policy.

    Call arguments:
        inputs: dict of `token_ids` int (B, T), padded with 0 at the right, and, where
            the text goes on from an earlier call's, its `states`.
        return_states: whether the states are returned too.

    Returns:
        Logits `(B, T, vocabulary)` of the words that follow; with `return_states`
        `(logits, states)`, a list for each layer of the states `(B, hidden_dim)` after
        its last real word. The logits carry the mask of the words, so Keras's losses
        are means over real words.

    Raises:
        ValueError: for a size or range that is not positive, a dropout rate outside
            [0, 1), or another cell.

    Example:
        >>> import numpy as np
        >>> model = RecurrentLM(20, embedding_dim=6, hidden_dim=8)
        >>> ids = np.array([[3, 4, 5, 6], [3, 7, 8, 0]])
        >>> logits, states = model({"token_ids": ids}, return_states=True)
        >>> logits.shape, len(states)
        ((2, 4, 20), 1)
        >>> model({"token_ids": ids[:, :1], "states": states}).shape
        (2, 1, 20)
    """

    vocabulary_size: Size = 10000
    embedding_dim: Size = 150
    hidden_dim: Size = 300
    num_layers: Size = 1
    cell: Cell = "lstm"
    dropout: Rate = 0.0
    initializer_range: AboveZero = 0.05
    tapes: Literal["sentence", "call"] = "sentence"

    def setup(self) -> None:
        self.make_layers(self.uniform(), self.uniform())
        self.output_layer = self.dense(self.vocabulary_size, "W")
        self.build(None)

    initializer = Backbone.uniform

    def parts(self) -> Any:
        m, n = self.embedding_dim, self.hidden_dim
        return (self.token_embedding, 1), (self.recurrent, m), (self.output_layer, n)

    def initial_states(self, batch_size: int) -> Any:
        """The states before the first word: zeros."""
        _, shapes = self.recurrent.compute_output_shape(
            (batch_size, 1, self.embedding_dim)
        )
        return [
            [ops.zeros(shape, dtype=self.compute_dtype) for shape in layer]
            for layer in shapes
        ]

    def start(self, batch_size: int, length: int) -> Any:
        """The states before the first of at most `length` calls of `step`."""
        if self.cell == "lstmn":
            return self.recurrent.make_states(batch_size, length)
        return self.initial_states(batch_size)

    def step(self, token_ids: Tensor, states: Any) -> Any:
        """Reads one word: `(B,)` ids, `start`'s states to `(logits (B, V), states)`."""
        if self.cell == "lstmn":
            words, _ = self.words(token_ids)
            starts = self._starts(token_ids[:, None])
            outputs, _, states = self.recurrent.step(words, states, starts=starts)
            return apply_dense(self.output_layer, outputs), states
        outputs, states = self.read(token_ids[:, None], states)
        return apply_dense(self.output_layer, outputs[:, 0]), states

    def _starts(self, token_ids):
        """Where an LSTMN's tapes start anew, or None."""
        token_ids = ops.cast(token_ids, "int32")
        return ops.equal(token_ids, END_ID) if self.tapes == "sentence" else None

    def read(
        self, token_ids: Tensor, states: Any = None, training: bool = False
    ) -> Any:
        """The input of the output layer, `(B, T, hidden_dim)`, and the states."""
        words, mask = self.words(token_ids)
        more = {"starts": self._starts(token_ids)} if self.cell == "lstmn" else {}
        outputs, states = self.recurrent(
            words, mask=mask, initial_states=states, training=training, **more
        )
        return self.drop(outputs, training=training), states

    def call(
        self, inputs: Tensor, training: bool = False, return_states: bool = False
    ) -> Any:
        features, states = self.read(
            inputs["token_ids"], inputs.get("states"), training=training
        )
        logits = apply_dense(self.output_layer, features)
        return (logits, states) if return_states else logits


@keras.saving.register_keras_serializable(package="zoo")
class RecurrentClassifier(RecurrentBackbone):
    """Words w_1 … w_T read by a recurrent net; its mean hidden state has the class.

        h_t      = cell(E w_t, h_{t-1})      `num_layers` of them, one on another
        v        = 1/T Σ_t h_t
        p(class) = softmax(relu(v W_1 + b_1) W_2 + b_2)

    (The mean is that of the paper's classifier of sentence pairs.) Dropout is on the
    inputs of all layers but the word vectors. Word vectors and recurrent matrices start
    from U(-r, r), biases from 0. Pads (id 0) are read by nobody.

    Args:
        vocabulary_size: words.
        classes: the classes' names.
        embedding_dim: size of the word vectors. Paper: 300.
        hidden_dim: units of each layer. Paper: 168.
        num_layers: depth. Paper: 1 and 2.
        cell: "lstmn" (`zoo.layers.LSTMN`), "lstm", "gru" or "rnn".
        dropout: see above. Paper: 0.5.
        initializer_range: r.
        dtype: dtype policy.

    Call arguments:
        inputs: dict of `token_ids` int (B, T), padded with 0 at the right.

    Returns:
        Logits `(B, classes)`.

    Raises:
        ValueError: for a size or range that is not positive, a dropout rate outside
            [0, 1), another cell, or fewer than two different classes.

    Example:
        >>> import numpy as np
        >>> model = RecurrentClassifier(20, embedding_dim=6, hidden_dim=8)
        >>> model({"token_ids": np.array([[4, 5, 6], [7, 8, 0]])}).shape
        (2, 2)
    """

    vocabulary_size: Size
    classes: Any = ("negative", "positive")
    embedding_dim: Size = 300
    hidden_dim: Size = 168
    num_layers: Size = 1
    cell: Cell = "lstmn"
    dropout: Rate = 0.5
    initializer_range: AboveZero = 0.05

    def setup(self) -> None:
        self.classes = list(self.classes)
        if len(set(self.classes)) < 2 or len(set(self.classes)) < len(self.classes):
            raise ValueError(
                "`classes` must be two different names or more. "
                f"Received: classes={self.classes!r}"
            )
        uniform = self.uniform()
        self.make_layers(uniform.clone(), uniform)
        self.hidden = self.dense(self.hidden_dim, "hidden", activation="relu")
        self.output_layer = self.dense(len(self.classes), "output")
        self.build(None)

    def parts(self) -> Any:
        m, n = self.embedding_dim, self.hidden_dim
        return [
            (self.token_embedding, 1),
            (self.recurrent, m),
            (self.hidden, n),
            (self.output_layer, n),
        ]

    def call(self, inputs: Tensor, training: bool = False) -> Any:
        vector = self.drop(self.read(inputs["token_ids"], training), training=training)
        vector = self.drop(self.hidden(vector), training=training)
        return self.output_layer(vector)

    def read(self, token_ids: Tensor, training: bool = False) -> Any:
        """The vector v of each sentence, `(B, hidden_dim)`; zeros without a word."""
        words, mask = self.words(token_ids)
        # 0 on pads, so that a sum is that of the real steps.
        outputs, _ = self.recurrent(words, mask=mask, training=training)
        count = ops.sum(ops.cast(mask, outputs.dtype), axis=1, keepdims=True)
        return ops.sum(outputs, axis=1) / ops.maximum(count, 1)

    def intra_attention(self, token_ids: Tensor) -> Tensor:
        """Computes `zoo.layers.LSTMN.intra_attention` of texts `(B, T)`."""
        return self.recurrent.intra_attention(*self.words(token_ids))
