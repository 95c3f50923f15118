"""Schuster & Paliwal 1997, "Bidirectional Recurrent Neural Networks"."""

from typing import Any, Literal

import keras
from keras import ops

from zoo.backend import Tensor
from zoo.ids import PAD_ID, UNKNOWN_ID
from zoo.layers.configured import AboveZero, Count, Rate, Size
from zoo.layers.fast_loops.decoder_loop import run_cell
from zoo.layers.functional import gather_rows, read_mask
from zoo.layers.recurrent import CELLS
from zoo.models.backbone import Backbone


@keras.saving.register_keras_serializable(package="zoo")
class BiRNN(Backbone):
    """Two chains of states that never feed each other, and one output layer for both.

        hf_t = tanh(x_t W_f + hf_{t-1} U_f + b_f)      t = 1 … T, from hf_0 = 0.5
        hb_t = tanh(x_t W_b + hb_{t+1} U_b + b_b)      t = T … 1, from hb_{T+1} = 0.5
        y_t  = g(V_f hf_t + V_b hb_t + c)

    So y_t sees the whole sequence, and the weights of both chains are trained for it
    together. V_f over V_b is one matrix `V`. The outputs are those of the identity g
    (the paper's regression); for classes they are logits, and the loss has the softmax.
    The states before the first step and behind the last real one are unknown: a
    constant, 0.5 in the paper.

    The paper compares it with nets of one chain, `direction="forward"` (RNN-FOR) and
    "backward" (RNN-BACK). These may answer later: with a `delay` of d frames y_t is
    read from hf_{t+d} (or hb_{t-d}), and at the sequence's end from its last state. Two
    such nets, trained by themselves, whose outputs are averaged, are its MERGE.

    Args:
        input_dim: numbers in a frame. Default 66, as in the paper's phoneme segments.
        output_dim: size of y_t. Default 61, the paper's phonemes.
        hidden_dim: units of each chain. Default 39: it gives the 13,000 parameters of
            the paper's nets, whose units aren't known here.
        cell: "rnn", the paper's and the default; "lstm" or "gru", whose first states
            all are `initial_state` too.
        direction: "both", "forward" or "backward".
        delay: frames by which a net of one chain answers later. Default 0.
        initial_state: of the chains. Default 0.5.
        dropout: on the inputs of the chains and of the output layer. Default 0: the
            paper has none.
        initializer_range: r of U(-r, r), for all weights. Default 0.05.
        dtype: dtype policy.

    Call arguments:
        inputs: frames `(B, T, input_dim)`.
        mask: bool `(B, T)`, true where real, padded at the right; or None. What stands
            on pads changes nothing.

    Returns:
        `(B, T, output_dim)`. On pads it means nothing.

    Raises:
        ValueError: for a size or range that is not positive, a cell or direction that
            there isn't, or a delay together with both directions.

    Example:
        >>> import numpy as np
        >>> model = BiRNN(input_dim=3, output_dim=2, hidden_dim=4)
        >>> model(np.ones((5, 7, 3), "float32")).shape
        (5, 7, 2)
    """

    input_dim: Size = 66
    output_dim: Size = 61
    hidden_dim: Size = 39
    cell: Literal["lstm", "gru", "rnn"] = "rnn"
    direction: Literal["both", "forward", "backward"] = "both"
    delay: Count = 0
    initial_state: float = 0.5
    dropout: Rate = 0.0
    initializer_range: AboveZero = 0.05

    def setup(self) -> None:
        self.initial_state = float(self.initial_state)
        both = self.direction == "both"
        if self.delay and both:
            raise ValueError(
                "A net of both directions sees all frames and has no delay. "
                f"Received: delay={self.delay}, direction={self.direction!r}"
            )
        self.supports_masking = True
        names = ("forward", "backward") if both else (self.direction,)
        lstm = self.cell == "lstm"
        options: dict[str, Any] = {"unit_forget_bias": False} if lstm else {}
        self.chains = [
            CELLS[self.cell](
                self.hidden_dim,
                kernel_initializer=self.uniform(),
                recurrent_initializer=self.uniform(),
                bias_initializer=self.uniform(),
                **self.named(name),
                **options,
            )
            for name in names
        ]
        self.drop = keras.layers.Dropout(self.dropout, dtype=self.dtype_policy)
        self.output_layer = self.dense(
            self.output_dim,
            "V",
            kernel_initializer=self.uniform(),
            bias_initializer=self.uniform(),
        )
        self.build((None, None, self.input_dim))

    def parts(self) -> Any:
        width = len(self.chains) * self.hidden_dim
        chains = [(cell, self.input_dim) for cell in self.chains]
        return [*chains, (self.output_layer, width)]

    def call(
        self, inputs: Tensor, mask: Tensor | None = None, training: bool = False
    ) -> Any:
        states = self.states(inputs, read_mask(mask, inputs), training)
        return self.output_layer(self.drop(states, training=training))

    def states(
        self, inputs: Tensor, mask: Tensor | None = None, training: bool = False
    ) -> Any:
        """The states that y_t is read from, `(B, T, chains * hidden_dim)`."""
        frames = ops.cast(inputs, self.compute_dtype)
        frames = self.drop(frames, training=training)
        shape = (ops.shape(frames)[0], self.hidden_dim)
        first = [ops.full(shape, self.initial_state, dtype=frames.dtype)]
        first = 2 * first if self.cell == "lstm" else first
        outputs = []
        for cell in self.chains:
            backward = cell.name == "backward"
            states, _ = run_cell(cell, frames, first, mask, backward, training)
            outputs.append(self._delayed(states, mask, backward))
        return ops.concatenate(outputs, axis=-1)

    def _delayed(self, states, mask, backward):
        if not self.delay:
            return states
        batch, length = ops.shape(states)[0], ops.shape(states)[1]
        steps = ops.arange(length, dtype="int32")[None]
        if backward:
            places = ops.maximum(steps - self.delay, 0)
        else:
            lengths = length if mask is None else ops.sum(mask, axis=1, keepdims=True)
            last = ops.maximum(ops.cast(lengths, "int32") - 1, 0)
            places = ops.minimum(steps + self.delay, last)
        places = places + ops.zeros((batch, 1), dtype="int32")
        return gather_rows(states, places[..., None])[:, :, 0]


@keras.saving.register_keras_serializable(package="zoo")
class BiRNNWords(Backbone):
    """Words, by their vectors and their letters, read by a `BiRNN`.

        e_t = [w_t E; max_j tanh(K c_{j..j+k})]        the word's vector and letters
        y_t = BiRNN(e_1 … e_T)                          logits of the tags

    None of this but the `BiRNN` is in the paper, which tags frames of speech. The
    letters are read by a convolution whose largest response counts (as in dos Santos &
    Zadrozny 2014); a word's end is where the zeros begin. The defaults are those of the
    preset: an LSTM in each direction instead of the paper's simple cells, dropout, and
    words that are unknown now and then in training, so that the net learns to go by
    their letters.

    Args:
        vocabulary_size: word ids, 0 for pads and 1 for unknown words included.
        character_size: character ids, likewise.
        output_dim: tags.
        embedding_dim: size of a word's vector. Default 100.
        character_dim: size of a character's vector. Default 32.
        filters: features of a word's letters. Default 128.
        window: characters that a filter sees, an odd number. Default 5.
        hidden_dim: units of each chain. Default 128.
        cell: "lstm", the default, "gru" or "rnn".
        dropout: on the BiRNN's inputs and states. Default 0.4.
        word_dropout: share of the words that are unknown in training. Default 0.2.
        initializer_range: r of U(-r, r) for all weights. Default 0.1.
        dtype: dtype policy.

    Call arguments:
        inputs: dict of `word_ids` int `(B, T)` and `character_ids` int `(B, T, C)`,
            both padded at the right with 0.

    Returns:
        Logits `(B, T, output_dim)`; at padding they are undefined. They carry the mask
        of the words, so Keras's losses are means over real words.

    Raises:
        ValueError: for a size or range that is not positive, a rate outside [0, 1), an
            even window, or a cell that there isn't.

    Example:
        >>> import numpy as np
        >>> model = BiRNNWords(vocabulary_size=20, character_size=9, output_dim=3)
        >>> letters = np.ones((2, 5, 4), "int32")
        >>> model({"word_ids": letters[:, :, 0], "character_ids": letters}).shape
        (2, 5, 3)
    """

    vocabulary_size: Size
    character_size: Size
    output_dim: Size
    embedding_dim: Size = 100
    character_dim: Size = 32
    filters: Size = 128
    window: Size = 5
    hidden_dim: Size = 128
    cell: Literal["lstm", "gru", "rnn"] = "lstm"
    dropout: Rate = 0.4
    word_dropout: Rate = 0.2
    initializer_range: AboveZero = 0.1

    def setup(self) -> None:
        if self.window % 2 == 0:
            raise ValueError(f"`window` must be odd. Received: window={self.window}")
        self.seed_generator = keras.random.SeedGenerator()
        self.token_embedding, self.character_embedding = (
            keras.layers.Embedding(*sizes, self.uniform(), **self.named(name))
            for name, *sizes in (
                ("words", self.vocabulary_size, self.embedding_dim),
                ("characters", self.character_size, self.character_dim),
            )
        )
        self.convolution = self.dense(self.filters, "convolution")
        self.birnn = BiRNN(
            self.embedding_dim + self.filters,
            self.output_dim,
            self.hidden_dim,
            cell=self.cell,
            dropout=self.dropout,
            initializer_range=self.initializer_range,
            **self.named("birnn"),
        )
        self.build(None)

    initializer = Backbone.uniform

    def parts(self) -> Any:
        return [
            (self.token_embedding, 1),
            (self.character_embedding, 1),
            (self.convolution, self.window * self.character_dim),
        ]

    def call(self, inputs: Tensor, training: bool = False) -> Any:
        word_ids = ops.cast(inputs["word_ids"], "int32")
        letters = self.read_letters(inputs["character_ids"])
        mask = ops.not_equal(word_ids, PAD_ID)
        if training and self.word_dropout:
            word_ids = self._forget(word_ids)
        frames = ops.concatenate([self.token_embedding(word_ids), letters], axis=-1)
        return self.birnn(frames, mask=mask, training=training)

    @property
    def output_layer(self) -> Any:
        """The layer that gives the tags' logits, that of the `BiRNN`."""
        return self.birnn.output_layer

    def read_letters(self, character_ids: Tensor) -> Any:
        """Features of each word's letters: `(B, T, C)` to `(B, T, filters)`."""
        ids = ops.cast(character_ids, "int32")
        batch, time, length = ops.shape(ids)
        ids = ops.reshape(ids, (-1, length))
        real = ops.not_equal(ids, PAD_ID)[..., None]
        letters = ops.where(real, self.character_embedding(ids), 0.0)
        side = self.window // 2
        padded = ops.pad(letters, ((0, 0), (side, side), (0, 0)))
        windows = [padded[:, i : i + length] for i in range(self.window)]
        responses = ops.tanh(self.convolution(ops.concatenate(windows, axis=-1)))
        # Above -1, the least that tanh can give; a word without letters has zeros.
        responses = ops.where(real, responses, -1.0)
        responses = ops.where(ops.any(real, axis=1), ops.max(responses, axis=1), 0.0)
        return ops.reshape(responses, (batch, time, self.filters))

    def _forget(self, word_ids):
        """Makes some words unknown, but no pads."""
        drawn = keras.random.uniform(ops.shape(word_ids), seed=self.seed_generator)
        forgotten = ops.logical_and(drawn < self.word_dropout, word_ids != PAD_ID)
        return ops.where(forgotten, UNKNOWN_ID, word_ids)
