"""Arguments that constructors and functions refuse, with the messages."""

import inspect
from functools import partial
from typing import Literal, get_args, get_origin

import keras
import numpy as np
import pytest

from zoo import layers, models, text, training
from zoo.layers.configured import AboveZero, Configured, Count, Rate, Size, ZeroOrAbove
from zoo.layers.hard_attention import HardAttention
from zoo.layers.scores import DotScore

GENERAL = layers.MultiplicativeAttention()
WORDS = text.WordTokenizer(["a"])
FORGET, ONES = {"unit_forget_bias": True}, np.ones((2, 3, 4))
NO_TEXTS = ([], [""], ["", " \n\t"])
IMAGES = {"annotation_dim": 4, "image_shape": (16, 24, 3)}

# By what is called: keyword arguments, and a pattern of the message.
REFUSED = {
    # === Layers ===
    partial(layers.GRUCell, 4): [
        ({"update": "forget"}, "one of .*update=.forget"),
        ({"dropout": 0.1}, "GRUCell leaves dropout.*must be 0.*dropout=0.1"),
    ],
    partial(layers.RecurrentStack, 5): [
        ({"bidirectional": True}, "even number of units.*units=5"),
        ({"cell_options": {"update": "keep"}}, "update"),
        ({"cell_options": {"forget_gate": False, **FORGET}}, "needs biases and forget"),
    ],
    layers.LSTMN(4, fusion="deep").run: [
        ({"inputs": ONES}, "takes a `source`.*fusion='deep', no source"),
        ({"inputs": ONES, "source": [], "starts": ONES}, "`starts`.*a source and some"),
    ],
    layers.LocalMonotonicAttention: [({"score": "location"}, "one of.*'location'")],
    partial(layers.ContextCell, layers.GRUCell(4)): [
        ({"attention": None}, "`attention` must be.*None")
    ],
    partial(layers.ContextCell, attention=GENERAL): [
        ({"cell": keras.layers.SimpleRNNCell(4)}, "GRUCell or LSTMCell.*SimpleRNNCell")
    ],
    layers.ContextDecoder: [
        ({"cell": layers.GRUCell(4)}, "`cell` must be.*ContextCell")
    ],
    partial(layers.AttentionCell, attention=GENERAL): [
        ({"cells": keras.layers.Dense(3)}, "recurrent cell.*Dense"),
        ({"cells": keras.layers.GRUCell(4, dropout=0.3)}, "no dropout of their own"),
    ],
    layers.FixedContextDecoder: [
        ({"cell": layers.LSTMCell(4)}, "`cell` must be.*GRUCell.*LSTMCell")
    ],
    HardAttention: [({"attention": "x"}, "`attention` must be.*'x'")],
    layers.ImageEncoder: [
        ({"filters": ()}, "must not be empty"),
        ({"filters": (4, 0)}, "`filters` must be"),
    ],
    layers.ImageEncoder((2, 2)).build: [
        ({"input_shape": shape}, "known size, of 4 pixels or more.*Received")
        for shape in ((None, None, None, 3), (None, 3, 16, 3))
    ],
    layers.PerGate(): [({"shape": (4, 10)}, r"3 equal parts.*shape=\(4, 10\)")],
    layers.MultiHeadAttention(4).build: [
        (
            {"query_shape": (3, 5, 6), "memory_shape": (3, 7, 6)},
            "must divide.*num_heads=4, size=6",
        )
    ],
    partial(layers.sinusoids, np.arange(3)): [({"size": 7}, "must be even.*size=7")],
    DotScore().build: [
        (
            {"query_shape": (None, 4), "memory_shape": (None, None, 5)},
            "query size 4.*memory size 5",
        )
    ],
    # === Models ===
    models.Seq2Seq: [
        ({"hidden_dim": 1.5}, "`hidden_dim` must be a positive.*hidden_dim=1.5"),
        ({"num_layers": True}, "`num_layers` must be a positive.*num_layers=True"),
        ({"dropout": -0.1}, r"`dropout` must be in \[0, 1\)"),
        ({"initializer_range": float("inf")}, "above 0.*initializer_range=inf"),
        (FORGET, "needs biases.*'use_bias': False"),
    ],
    models.BiRNN: [({"delay": 2}, "has no delay. Received: delay=2, direction='both'")],
    partial(models.BiRNNWords, 9, 7, 4): [
        ({"window": 4}, "`window` must be odd. Received: window=4")
    ],
    models.Luong: [
        (
            {"tie_embeddings": "all", "embedding_dim": 6, "hidden_dim": 8},
            "embedding_dim=6, hidden_dim=8",
        ),
        (
            {"tie_embeddings": "all", "target_vocabulary_size": 9},
            "one vocabulary.*target_vocabulary_size=9",
        ),
    ],
    partial(models.RecurrentClassifier, 9): [
        ({"classes": classes}, "two different names")
        for classes in (["one"], ["one", "one"])
    ],
    models.Transformer: [
        (
            {"hidden_dim": size, "num_heads": heads},
            f"even and a multiple.*hidden_dim={size}, num_heads={heads}",
        )
        for size, heads in ((9, 2), (8, 3))
    ],
    partial(models.ShowAttendTell, annotation_dim=4): [
        ({"image_shape": (16, 24)}, "must be .height, width, channels.*24"),
        ({"image_shape": (16, 0, 3)}, "`image_shape` must be"),
        ({"image_shape": (4, 4, 3)}, "of 8 pixels or more"),
        ({"image_shape": None}, "must be .height, width, channels.*None"),
    ],
    partial(models.ShowAttendTell, **IMAGES): [
        (
            {"image_encoder": layers.ImageEncoder((4, 5))},
            r"`annotation_dim` numbers.*Received: one of output shape .None, 4, 6, 5",
        ),
        ({"image_encoder": keras.layers.Flatten()}, "must give grids of known size"),
    ],
    # === Text ===
    partial(text.WordPreprocessor, WORDS): [
        ({"sequence_length": 1}, "`sequence_length` must be an integer from 2")
    ],
    partial(text.SentimentPreprocessor, WORDS): [
        ({"sequence_length": 0}, "positive integer. Received: .*=0")
    ],
    text.WordTokenizer: [
        ({"vocabulary": words}, "different words without white space")
        for words in (["a", "a"], ["a", ""], ["a b"], ["a", "<s>"])
    ],
    partial(text.TaggerPreprocessor, words=["a"], characters=["a"], tags=["X"]): [
        ({"words": ["a", "a"]}, "words must be a list of different strings"),
        ({"words": []}, "words must be a list"),
        ({"tags": ["", "b"]}, "tags must be .* none of them empty"),
        ({"characters": "ab"}, "characters must be a list"),
        (
            {"word_length": 1},
            "`word_length` must be an integer from 2. Received: word_length=1",
        ),
        (
            {"word_length": 2.0},
            "`word_length` must be an integer from 2. Received: word_length=2.0",
        ),
    ],
    text.train_tokenizer: [
        *(({"texts": x, "vocabulary_size": 50}, "Received: ") for x in NO_TEXTS),
        *(
            (
                {"texts": ["a b c"], "vocabulary_size": size},
                "`vocabulary_size` must be an integer from 4",
            )
            for size in (0, -3, 3, 5.5, "50", None)
        ),
    ],
    # === Training ===
    training.ScheduledSampling: [
        ({"rate": rate}, "`rate` must be.*Received: ") for rate in (-0.1, 1.5)
    ],
    partial(training.PairBatches, [[4]], [[4]]): [
        ({}, "Received.*batch_tokens=None, batch_size=None"),
        ({"batch_size": 2, "batch_tokens": 9}, "Received.*=9, batch_size=2"),
        ({"batch_size": 0}, "Received.*batch_size=0"),
        ({"batch_size": -1}, "Received.*batch_size=-1"),
    ],
    partial(training.PairBatches, batch_size=2, buckets=[(8, 8)]): [
        ({"sources": [], "targets": []}, "Received.*0 sources and 0 targets"),
        (
            {"sources": [[4]], "targets": [[4], [5]]},
            "Received.*1 sources and 2 targets",
        ),
        ({"sources": [[4] * 9], "targets": [[4]]}, r"Received.*\(9, 2\)"),
        ({"sources": [[4]], "targets": [[4] * 8]}, r"Received.*\(1, 9\)"),
    ],
    partial(training.ArrayBatches, batch_size=2): [
        (
            {"parts": (np.zeros(3), np.zeros(2))},
            "of equal length and not empty. Received",
        ),
        (
            {"parts": (np.zeros(0), np.zeros(0))},
            "of equal length and not empty. Received",
        ),
    ],
    partial(training.StreamBatches, length=4): [
        ({"rows": [[4]], "batch_size": 0}, "batch_size=0"),
        ({"rows": [], "batch_size": 2}, "no rows"),
    ],
    training.choose_buckets: [({"sizes": []}, "empty")],
    partial(training.Monitor, "loss"): [
        ({"mode": "auto"}, "`mode` must be one of .*'auto'")
    ],
    training.SmoothedCrossEntropy: [
        ({"smoothing": 1.0}, "smoothing=1.0"),
        ({"smoothing": -0.1}, "smoothing=-0.1"),
        ({"smoothing": float("nan")}, "smoothing=nan"),
        ({"normalize": "batch"}, "normalize='batch'"),
    ],
    partial(training.WarmupLinearDecay, 1.0): [
        ({"warmup": warmup, "total": total}, f"warmup={warmup}, total={total}")
        for warmup, total in ((-1, 10), (10, 10), (11, 10), (0, 0))
    ],
    partial(training.InverseSquareRoot, 1.0): [
        ({"warmup": 0}, "`warmup` must be.*warmup=0")
    ],
    partial(training.NoamSchedule, hidden_dim=512): [
        ({"warmup": 0}, "`warmup` must be.*warmup=0"),
        ({"hidden_dim": 0}, "`hidden_dim` must be.*hidden_dim=0"),
    ],
    partial(training.HalvingSchedule, 1.0, 8): [
        ({"steps_per_epoch": 10, "every": 0}, "`every` must be.*every=0"),
        ({"steps_per_epoch": 0}, "steps_per_epoch=0"),
        ({"steps_per_epoch": -1}, "steps_per_epoch=-1"),
    ],
    partial(training.Optimizer, name="adam", learning_rate=1e-3): [
        (
            {"name": "adamm"},
            r"`name` must be one of \[.*'adam'.*Received: name='adamm'",
        ),
        (
            {"schedule": "cosinus"},
            "`schedule` must be one of .*Received: schedule='cosinus'",
        ),
        ({"learning_rate": 0.0}, "`learning_rate` must be above 0. Received: .*=0.0"),
        ({"learning_rate": float("nan")}, "`learning_rate` must be above 0"),
        ({"learning_rate": float("inf")}, "`learning_rate` must be above 0"),
        ({"clip": -1.0}, "`clip` must be above 0. Received: clip=-1.0"),
        ({"options": {"use_ema": True}}, "`options` can't be `use_ema`. Received: .*"),
        ({"warmup": -1}, "`warmup` must be an integer from 0. Received: warmup=-1"),
        ({"schedule": "noam"}, '`warmup` must be at least 1 for "noam"'),
        ({"halving_epochs": 0}, "`halving_epochs` must be above 0. Received: .*=0"),
        ({"hidden_dim": 0}, "`hidden_dim` must be above 0. Received: hidden_dim=0"),
        ({"constant_epochs": -2}, "`constant_epochs` must be an integer from 0"),
    ],
}
CASES = [(make, *row) for make, rows in REFUSED.items() for row in rows]


@pytest.mark.parametrize(("make", "arguments", "message"), CASES)
def test_bad_arguments(make, arguments, message):
    with pytest.raises(ValueError, match=message):
        make(**arguments)


# What arguments with these annotations refuse.
BAD = {Size: 0, Count: -1, Rate: 1.0, AboveZero: 0.0, ZeroOrAbove: -1.0}


def annotated():
    for room in (layers, models):
        for name, cls in vars(room).items():
            if name in ("AttentionCell", "ContextCell", "HardAttention"):  # of others
                continue
            if isinstance(cls, type) and issubclass(cls, Configured):
                for argument, parameter in inspect.signature(cls).parameters.items():
                    hint = parameter.annotation
                    kinds = {hint, *get_args(hint)} & {*BAD}
                    if kinds or get_origin(hint) is Literal:
                        bad = BAD[kinds.pop()] if kinds else "another"
                        yield pytest.param(cls, argument, bad, id=f"{name}-{argument}")


@pytest.mark.parametrize(("cls", "argument", "bad"), annotated())
def test_arguments_are_checked_by_their_annotations(cls, argument, bad):
    parameters = inspect.signature(cls).parameters.values()
    given = {x.name: 2 for x in parameters if x.default is x.empty and x.kind != 4}
    with pytest.raises(ValueError, match=f"`{argument}` must be.*: {argument}="):
        cls(**{**given, argument: bad})
