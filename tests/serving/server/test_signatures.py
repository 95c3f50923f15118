import numpy as np
import pytest

from zoo.serving.server.signatures import (
    Request,
    Signature,
    joined,
    run_together,
    stack,
)

pytestmark = pytest.mark.backend_free


def test_rows_are_stacked():
    numbers = stack([1, 2.5], "number", 1)
    assert numbers.dtype == np.float32 and numbers.tolist() == [1, 2.5]
    assert stack(["a", "b"], "text", 1).tolist() == ["a", "b"]
    words = stack([["a"], [], ["b", "c"]], "text", 2).tolist()
    assert words == [["a", ""], ["", ""], ["b", "c"]]
    rows = [np.ones((1, 3)), np.ones((2, 0)), np.ones((0, 2))]
    found = stack(rows, "number", 3)
    assert found.shape == (3, 2, 3) and found.sum(axis=(1, 2)).tolist() == [3, 0, 0]
    for rank in (1, 2, 3):
        assert stack([], "text", rank).shape == (0,) * rank


class Upper:
    """A function of texts that notes its batches."""

    def __init__(self):
        self.batches = []
        self.signature = Signature(self, ("text",), {"upper": ("text", 1)})

    def __call__(self, inputs):
        self.batches.append(inputs["text"])
        if "bad" in inputs["text"]:
            raise ValueError("a bad text")
        return {"upper": [text.upper() for text in inputs["text"]]}

    def request(self, *texts):
        return Request(self.signature, {"text": list(texts)})


def test_requests_of_a_signature_run_together():
    one, two = Upper(), Upper()
    requests = one.request("a"), two.request("b", "c"), one.request(), one.request("d")
    found = [rows["upper"] for rows in run_together(requests)]
    assert found == [["A"], ["B", "C"], [], ["D"]]
    assert (one.batches, two.batches) == ([["a", "d"]], [["b", "c"]])


def test_one_request_does_not_spoil_another():
    one = Upper()
    requests = one.request("a"), one.request("b", "bad"), one.request("c")
    first, bad, last = run_together(requests)
    assert (first, last) == ({"upper": ["A"]}, {"upper": ["C"]})
    assert isinstance(bad, ValueError)
    assert one.batches == [["a", "b", "bad", "c"], ["a"], ["b", "bad"], ["c"]]


def test_a_large_request_runs_in_parts():
    parts = Upper().request(*"abcde").parts(2)
    assert [part.inputs["text"] for part in parts] == [["a", "b"], ["c", "d"], ["e"]]
    assert joined(run_together(parts)) == {"upper": list("ABCDE")}
    [none] = Upper().request().parts(2)
    assert run_together([none]) == [{"upper": []}]
