"""The old program of docs/from_tfa.md, between the two marks.

It ran in an environment of its own, since tensorflow-addons has ended: TensorFlow 2.13
and tensorflow-addons 0.21. At commit 5301bd9 this file also trains the programs of
tests/presets/tfa and records what they compute.
"""

# === The program ===
import numpy as np
import tensorflow as tf
import tensorflow_addons as tfa

VOCABULARY, EMBEDDING, UNITS = 14, 5, 6
PAD, START, END = 0, 1, 2


class Encoder(tf.keras.Model):
    """Word vectors and a recurrent layer that returns its outputs and states."""

    def __init__(self, rnn=None):
        super().__init__()
        self.embedding = tf.keras.layers.Embedding(
            VOCABULARY, EMBEDDING, mask_zero=True
        )
        self.rnn = rnn or tf.keras.layers.LSTM(
            UNITS, return_sequences=True, return_state=True
        )

    def call(self, source, lengths):
        memory, *states = self.rnn(self.embedding(source))
        return memory, lengths, states


class Decoder(tf.keras.Model):
    """Word vectors, a cell in an `AttentionWrapper`, the output layer."""

    def __init__(self, cell=None, attention=None, **options):
        super().__init__()
        self.embedding = tf.keras.layers.Embedding(VOCABULARY, EMBEDDING)
        self.attention = attention or tfa.seq2seq.LuongAttention(UNITS)
        self.rnn = tfa.seq2seq.AttentionWrapper(
            cell or tf.keras.layers.LSTMCell(UNITS),
            self.attention,
            alignment_history=True,
            **(options or {"attention_layer_size": 9}),
        )
        self.output_layer = tf.keras.layers.Dense(VOCABULARY)

    def start(self, memory, lengths, states, beams=1):
        """Hands the memory to the mechanism; returns the wrapper's first state."""
        memory, lengths, states = (
            tfa.seq2seq.tile_batch(x, beams) for x in (memory, lengths, states)
        )
        self.attention.setup_memory(memory, memory_sequence_length=lengths)
        state = self.rnn.get_initial_state(batch_size=memory.shape[0], dtype=tf.float32)
        return state.clone(cell_state=states)

    def call(self, target, state):
        decoder = tfa.seq2seq.BasicDecoder(
            self.rnn, tfa.seq2seq.TrainingSampler(), self.output_layer
        )
        lengths = tf.fill([tf.shape(target)[0]], tf.shape(target)[1])
        outputs, state, _ = decoder(
            self.embedding(target), initial_state=state, sequence_length=lengths
        )
        return outputs.rnn_output, state

    def greedy(self, state, steps):
        """The likeliest word at each step."""
        decoder = tfa.seq2seq.BasicDecoder(
            self.rnn,
            tfa.seq2seq.GreedyEmbeddingSampler(),
            self.output_layer,
            maximum_iterations=steps,
        )
        table = self.embedding.variables[0]
        start = tf.fill([tf.shape(state.attention)[0]], START)
        outputs, _, _ = decoder(
            table, start_tokens=start, end_token=END, initial_state=state
        )
        return outputs.sample_id

    def beam(self, state, beams, steps):
        """The hypotheses of a beam search, best first, and their scores."""
        decoder = tfa.seq2seq.BeamSearchDecoder(
            self.rnn, beams, output_layer=self.output_layer, maximum_iterations=steps
        )
        table = self.embedding.variables[0]
        start = tf.fill([tf.shape(state.attention)[0] // beams], START)
        outputs, final, lengths = decoder(
            table, start_tokens=start, end_token=END, initial_state=state
        )
        ids = tf.transpose(outputs.predicted_ids, [0, 2, 1])
        return ids, final.log_probs


def batch(rng, size=16):
    """Sources of 1 to 7 words, and what is to be learned: the same words backwards."""
    lengths = rng.integers(1, 8, size)
    source = np.zeros((size, 7), "int32")
    target = np.zeros((size, 9), "int32")
    for row, length in enumerate(lengths):
        words = rng.integers(3, VOCABULARY, length)
        source[row, :length] = words
        target[row, : length + 2] = [START, *words[::-1], END]
    return source, lengths.astype("int32"), target


def read(encoder, decoder, source, lengths, target):
    """Teacher forcing: the loss, the logits and the wrapper's last state."""
    state = decoder.start(*encoder(source, lengths))
    logits, state = decoder(target[:, :-1], state)
    weights = tf.cast(target[:, 1:] != PAD, tf.float32)
    loss = tfa.seq2seq.sequence_loss(
        logits, tf.convert_to_tensor(target[:, 1:]), weights
    )
    return loss, logits, state


def train(encoder, decoder, steps):
    rng = np.random.default_rng(1)
    optimizer = tf.keras.optimizers.Adam(0.01)

    @tf.function
    def step(*arrays):
        with tf.GradientTape() as tape:
            loss, _, _ = read(encoder, decoder, *arrays)
        weights = encoder.trainable_variables + decoder.trainable_variables
        gradients = tape.gradient(loss, weights)
        optimizer.apply_gradients(zip(gradients, weights, strict=True))
        return loss

    for _ in range(steps):
        loss = step(*batch(rng))
    print(f"loss {loss:.3f}")
    return tf.train.Checkpoint(encoder=encoder, decoder=decoder, optimizer=optimizer)


# === The end of the program ===
