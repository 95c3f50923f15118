"""Trains small tfa.seq2seq programs; saves their checkpoints and what they compute.

It runs in an environment of its own, since tensorflow-addons has ended: its last
release, 0.23.0, was built for TensorFlow 2.15 and Keras 2. The committed files were
recorded with 0.21 under TensorFlow 2.13:

    python3.11 -m venv tfa-venv
    tfa-venv/bin/pip install tensorflow-cpu==2.13.1 tensorflow-addons==0.21.0
    tfa-venv/bin/python tools/tfa/record.py tests/presets/tfa

Between the two marks stands the old program of docs/from_tfa.md.
"""

import argparse
import os
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ADDONS_PY_OPS", "1")  # none of its compiled ones
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


class Separate(Encoder):
    """An encoder whose last states don't start the decoder: zeros do."""

    def __init__(self, rnn, *sizes):
        super().__init__(rnn)
        self.sizes = sizes

    def call(self, source, lengths):
        memory, lengths, _ = super().call(source, lengths)
        zeros = [tf.zeros([memory.shape[0], size]) for size in self.sizes]
        return memory, lengths, zeros


class GRUEncoder(Encoder):
    """A GRU cell's state is a tensor, not a list of one."""

    def call(self, source, lengths):
        memory, lengths, states = super().call(source, lengths)
        return memory, lengths, states[0]


def programs():
    """Names, encoders and decoders: the kinds that tests/presets/test_tfa.py loads."""
    layers, both = tf.keras.layers, {"return_sequences": True, "return_state": True}
    luong, bahdanau = tfa.seq2seq.LuongAttention, tfa.seq2seq.BahdanauAttention
    yield "luong", Encoder(), Decoder()
    tanh = layers.Dense(8, activation="tanh", use_bias=False)
    yield (
        "luong_scaled",
        GRUEncoder(layers.GRU(UNITS, **both)),
        Decoder(layers.GRUCell(UNITS), luong(UNITS, scale=True), attention_layer=tanh),
    )
    yield (
        "bahdanau",
        Separate(layers.Bidirectional(layers.LSTM(4, **both)), UNITS, UNITS),
        Decoder(layers.LSTMCell(UNITS), bahdanau(7), attention_layer_size=None),
    )
    yield (
        "bahdanau_normalized",
        GRUEncoder(layers.GRU(UNITS, **both)),
        Decoder(
            layers.GRUCell(UNITS),
            bahdanau(7, normalize=True),
            attention_layer_size=10,
            cell_input_fn=lambda inputs, attention: inputs,
        ),
    )
    cells = [layers.LSTMCell(5), layers.LSTMCell(UNITS)]
    yield "stacked", StackedEncoder(), Decoder(layers.StackedRNNCells(cells))


class StackedEncoder(Encoder):
    """Its states start the upper one of two cells."""

    def call(self, source, lengths):
        memory, lengths, states = super().call(source, lengths)
        zeros = [tf.zeros([memory.shape[0], 5])] * 2
        return memory, lengths, (zeros, states)


def record(encoder, decoder, beams=3, steps=11):
    """Returns a trained program's outputs for five sentences, by name, in NumPy."""
    source, lengths, target = batch(np.random.default_rng(2), 5)
    loss, logits, state = read(encoder, decoder, source, lengths, target)
    ids = decoder.greedy(decoder.start(*encoder(source, lengths)), steps)
    beam_state = decoder.start(*encoder(source, lengths), beams)
    beam_ids, scores = decoder.beam(beam_state, beams, steps)
    arrays = {
        "source": source,
        "target": target,
        "loss": loss,
        "logits": logits,
        "alignments": tf.transpose(state.alignment_history.stack(), [1, 0, 2]),
        "attention": state.attention,
        "greedy": ids,
        "beam": beam_ids,
        "scores": scores,
    }
    for place, tensor in enumerate(tf.nest.flatten(state.cell_state)):
        arrays[f"state_{place}"] = tensor
    return {name: np.asarray(array) for name, array in arrays.items()}


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="where the files go")
    parser.add_argument("--steps", type=int, default=300, help="of training, each")
    parser.add_argument("--from", type=Path, help="a folder to read weights from")
    arguments = parser.parse_args(argv)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    recorded = {"versions": np.array([tf.__version__, tfa.__version__])}
    for place, (name, encoder, decoder) in enumerate(programs()):
        tf.keras.utils.set_random_seed(place)
        if folder := vars(arguments)["from"]:
            checkpoint = tf.train.Checkpoint(encoder=encoder, decoder=decoder)
            restored = checkpoint.read(str(folder / name)).expect_partial()
        else:
            restored = None
            checkpoint = train(encoder, decoder, arguments.steps)
            checkpoint.write(str(arguments.folder / name))
        for key, array in record(encoder, decoder).items():
            recorded[f"{name}/{key}"] = array
        if restored:
            restored.assert_existing_objects_matched()
    np.savez_compressed(arguments.folder / "recorded.npz", **recorded)


if __name__ == "__main__":
    main()
