import json
import shutil

import numpy as np
import pytest

from tests.marks import long
from tests.runtime.test_onnx import TRANSLATE, same
from zoo import runtime
from zoo.runtime import litert
from zoo.runtime.litert import Buckets, BySentence

TEXTS = [
    "A man in a blue shirt is standing on a ladder cleaning a window.",
    "",
    "Two dogs play in the snow while a small child with a red hat watches them.",
    "A dog runs.",
    "qwxz 日本 dog",
    "Three people sit at a table, eat and talk.",
]
OTHERS = """
    bahdanau dates lstmn luong_concat luong_dot luong_global luong_local luong_local_m
    luong_location luong_reversed rnn_encoder_decoder seq2seq transformer
""".split()


# === Without LiteRT ===
class FakeGraph:
    """A step for one sentence: `rows` tokens, states (rows, 2), a memory (1, 3)."""

    inputs = ("token_ids", "state_0", "memory_0")

    def __init__(self, rows):
        self.rows, self.described, self.calls = rows, {"inputs": [rows]}, 0

    def __call__(self, arrays):
        self.calls += 1
        shapes = {name: arrays[name].shape for name in self.inputs}
        wanted = {"token_ids": (self.rows,), "state_0": (self.rows, 2)}
        assert shapes == {**wanted, "memory_0": (1, 3)}
        logits = arrays["token_ids"][:, None] * arrays["memory_0"]
        return {"logits": logits, "new_state_0": arrays["state_0"] + 1}


@pytest.mark.backend_free
@pytest.mark.parametrize(
    ("sentences", "rows", "calls"), [(3, 1, 3), (1, 5, 1), (3, 2, 3), (2, 7, 4)]
)
def test_sentences_and_rows_of_any_number(sentences, rows, calls):
    one, several = FakeGraph(1), FakeGraph(5)
    tokens = np.arange(1, 1 + sentences * rows)
    states = np.arange(2.0 * len(tokens)).reshape(-1, 2)
    memory = np.arange(3.0 * sentences).reshape(-1, 3)
    outputs = BySentence([one, several])(
        {"token_ids": tokens, "state_0": states, "memory_0": memory, "length": 7}
    )
    wanted = tokens[:, None] * np.repeat(memory, rows, axis=0)
    np.testing.assert_array_equal(outputs["logits"], wanted)
    np.testing.assert_array_equal(outputs["new_state_0"], states + 1)
    assert (one.calls, several.calls) == ((calls, 0) if rows == 1 else (0, calls))


def encoder(length):
    graph = FakeGraph(1)
    graph.length = length
    return {"encode": graph, "start": graph, "step": graph}


@pytest.mark.backend_free
def test_the_smallest_graphs_that_fit_are_chosen():
    for room in (None, 42), (None, None):
        buckets = Buckets([(16, room[1], encoder(16)), (32, None, encoder(32))])
        for width, length, wanted in (
            (9, 42, 16),
            (16, 43, 32 if room[1] else 16),
            (17, 1, 32),
        ):
            graphs, ids = buckets.fit(np.full((2, width), 7), length)
            assert graphs.graphs["encode"].length == wanted
            assert ids.shape == (2, wanted) and (ids[:, width:] == 0).all()
    with pytest.raises(ValueError, match="room for 32 pieces .* Received: 33 pieces"):
        buckets.fit(np.ones((1, 33)), 1)
    buckets = Buckets([(16, 42, encoder(16))])
    with pytest.raises(ValueError, match="16 pieces .* and 42 steps .* 43 steps"):
        buckets.fit(np.ones((1, 9)), 43)


# === With LiteRT ===
@pytest.mark.parametrize("name", [*map(long, OTHERS)])
def test_translations_are_those_of_keras(export, name):
    task, folder = export(name, "litert")
    found = runtime.load(folder)
    texts = TEXTS if name != "dates" else ["3 May 1994", "", "den 12. März 2001", "x"]
    for options in ({"beam_size": 1}, {"beam_size": 5, "n_best": 3}):
        several = options["beam_size"] > 1
        pairs = zip(
            found.translate(texts, return_details=True, **options),
            task.translate(texts, return_details=True, **options),
            strict=True,
        )
        for one, other in pairs:
            records = zip(one, other, strict=True) if several else [(one, other)]
            for record, wanted in records:
                same(record, wanted)
