"""The programs of tools/tfa_program.py in zoo's layers, not loaded yet."""

from pathlib import Path

import keras

from zoo.layers import (
    AdditiveAttention,
    AttentionCell,
    GRUCell,
    LSTMCell,
    MultiplicativeAttention,
)

FOLDER = Path(__file__).parent / "tfa"
VOCABULARY, EMBEDDING, UNITS = 14, 5, 6


def lstm(units=UNITS):
    return keras.layers.LSTM(units, return_sequences=True, return_state=True)


def gru():
    return keras.layers.GRU(UNITS, return_sequences=True, return_state=True)


# Encoder, size of the memory, cells, attention, options of the AttentionCell.
PROGRAMS = {
    "luong": (
        lstm,
        UNITS,
        lambda: LSTMCell(UNITS),
        lambda: MultiplicativeAttention("general"),
        {"units": 9, "vector": "linear"},
    ),
    "luong_scaled": (
        gru,
        UNITS,
        lambda: GRUCell(UNITS, reset_after=True),
        lambda: MultiplicativeAttention("general"),
        {"units": 8},
    ),
    "bahdanau": (
        lambda: keras.layers.Bidirectional(lstm(4)),
        8,
        lambda: keras.layers.LSTMCell(UNITS),
        lambda: AdditiveAttention(7),
        {"vector": "context"},
    ),
    "bahdanau_normalized": (
        gru,
        UNITS,
        lambda: keras.layers.GRUCell(UNITS),
        lambda: AdditiveAttention(7, use_bias=True),
        {"units": 10, "vector": "linear", "input_feeding": False},
    ),
    "stacked": (
        lstm,
        UNITS,
        lambda: [LSTMCell(5), LSTMCell(UNITS)],
        lambda: MultiplicativeAttention("general"),
        {"units": 9, "vector": "linear"},
    ),
}


def make(name, **changed):
    """The layers of a program by their places in the old one, built."""
    encoder, size, cells, attention, options = PROGRAMS[name]
    options = {**options, **changed}
    cells, attention = options.pop("cells", cells), options.pop("attention", attention)
    layers = {
        "encoder/embedding": keras.layers.Embedding(VOCABULARY, EMBEDDING),
        "encoder/rnn": encoder(),
        "decoder/embedding": keras.layers.Embedding(VOCABULARY, EMBEDDING),
        "decoder/rnn": AttentionCell(cells(), attention(), **options),
        "decoder/output_layer": keras.layers.Dense(VOCABULARY),
    }
    for place in ("encoder", "decoder"):
        layers[f"{place}/embedding"].build((None, None))
    layers["encoder/rnn"].build((None, None, EMBEDDING))
    layers["decoder/rnn"].build((None, EMBEDDING), (None, None, size))
    layers["decoder/output_layer"].build((None, layers["decoder/rnn"].units))
    return layers
