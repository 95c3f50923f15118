import pytest

from zoo.serving.server.request_batching import Request, joined, run_together
from zoo.serving.server.signatures import Signature

pytestmark = pytest.mark.backend_free


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
    requests = [
        one.request("a"),
        two.request("b", "c"),
        one.request(),
        one.request("d"),
    ]
    found = [rows["upper"] for rows in run_together(requests)]
    assert found == [["A"], ["B", "C"], [], ["D"]]
    assert (one.batches, two.batches) == ([["a", "d"]], [["b", "c"]])


def test_one_request_does_not_spoil_another():
    one = Upper()
    first, bad, last = run_together(
        [one.request("a"), one.request("b", "bad"), one.request("c")]
    )
    assert (first, last) == ({"upper": ["A"]}, {"upper": ["C"]})
    assert isinstance(bad, ValueError)
    assert one.batches == [["a", "b", "bad", "c"], ["a"], ["b", "bad"], ["c"]]


def test_a_large_request_runs_in_parts():
    parts = Upper().request(*"abcde").parts(2)
    assert [part.inputs["text"] for part in parts] == [["a", "b"], ["c", "d"], ["e"]]
    assert joined(run_together(parts)) == {"upper": list("ABCDE")}
    [none] = Upper().request().parts(2)
    assert run_together([none]) == [{"upper": []}]
