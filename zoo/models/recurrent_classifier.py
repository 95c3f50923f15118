"""Sentiment of sentences by LSTM or LSTMN: Cheng, Dong & Lapata 2016, section 4.2."""

from typing import Any

import keras
from keras import ops

from zoo.backend import Shape, Tensor
from zoo.ids import PAD_ID
from zoo.layers.configured import AboveZero, Rate, Size
from zoo.models.backbone import Backbone
from zoo.models.recurrent_lm import Cell, recurrent_layer


@keras.saving.register_keras_serializable(package="zoo")
class RecurrentClassifier(Backbone):
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

    def __init__(
        self,
        vocabulary_size: Size,
        classes: Any = ("negative", "positive"),
        embedding_dim: Size = 300,
        hidden_dim: Size = 168,
        num_layers: Size = 1,
        cell: Cell = "lstmn",
        dropout: Rate = 0.5,
        initializer_range: AboveZero = 0.05,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(dtype=dtype, **kwargs)
        self.configure(locals())
        self.classes = list(classes)
        if len(set(self.classes)) < 2 or len(set(self.classes)) < len(self.classes):
            raise ValueError(
                "`classes` must be two different names or more. "
                f"Received: classes={classes!r}"
            )
        uniform = self.uniform()
        self.token_embedding = self.embedding(
            vocabulary_size, embedding_dim, "token_embedding", uniform.clone()
        )
        self.recurrent = recurrent_layer(
            cell,
            hidden_dim,
            num_layers,
            dropout=dropout,
            kernel_initializer=uniform,
            dtype=self.dtype_policy,
            name="recurrent",
        )
        self.drop = keras.layers.Dropout(dropout, dtype=self.dtype_policy)
        self.hidden = self.dense(hidden_dim, "hidden", activation="relu")
        self.output_layer = self.dense(len(self.classes), "output")
        self.build(None)

    def build(self, input_shape: Shape | None = None) -> None:
        self.token_embedding.build((None, None))
        self.recurrent.build((None, None, self.embedding_dim))
        self.hidden.build((None, self.hidden_dim))
        self.output_layer.build((None, self.hidden_dim))
        self.built = True

    def call(self, inputs: Tensor, training: bool = False) -> Any:
        vector = self.drop(self.read(inputs["token_ids"], training), training=training)
        vector = self.drop(self.hidden(vector), training=training)
        return self.output_layer(vector)

    def read(self, token_ids: Tensor, training: bool = False) -> Any:
        """The vector v of each sentence, `(B, hidden_dim)`; zeros without a word."""
        token_ids = ops.cast(token_ids, "int32")
        mask = ops.not_equal(token_ids, PAD_ID)
        # 0 on pads, so that a sum is that of the real steps.
        outputs, _ = self.recurrent(
            self.token_embedding(token_ids), mask=mask, training=training
        )
        count = ops.sum(ops.cast(mask, outputs.dtype), axis=1, keepdims=True)
        return ops.sum(outputs, axis=1) / ops.maximum(count, 1)

    def intra_attention(self, token_ids: Tensor) -> Tensor:
        """Computes `zoo.layers.LSTMN.intra_attention` of texts `(B, T)`."""
        token_ids = ops.cast(token_ids, "int32")
        mask = ops.not_equal(token_ids, PAD_ID)
        return self.recurrent.intra_attention(self.token_embedding(token_ids), mask)
