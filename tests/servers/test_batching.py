import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from zoo.servers.batching import Batcher, Refusal

pytestmark = pytest.mark.backend_free


class Gate:
    """A function of texts that waits to be let through, and notes its batches."""

    def __init__(self, open=False):
        self.batches, self.began, self.gate = [], threading.Event(), threading.Event()
        if open:
            self.gate.set()

    def __call__(self, inputs):
        self.batches.append(list(inputs["text"]))
        self.began.set()
        assert self.gate.wait(10)
        if "bad" in inputs["text"]:
            raise ValueError("a bad text")
        return {"upper": [text.upper() for text in inputs["text"]]}


@pytest.fixture
def make():
    made = []

    def build(**options):
        made.append(Batcher(**options))
        return made[-1]

    yield build
    for batcher in made:
        batcher.close()


def ask(batcher, run, *texts):
    return batcher.submit(run, {"text": list(texts)})


def busy(batcher):
    """Keeps the only worker busy until the gate that it returns is opened."""
    gate = Gate()
    first = ask(batcher, gate, "first")
    assert gate.began.wait(10)
    return gate, first


def upper(future):
    return future.result(10)["upper"]


def test_requests_that_wait_together_run_together(make):
    batcher = make()
    gate, first = busy(batcher)
    futures = [ask(batcher, gate, "a"), ask(batcher, gate, "b", "c")]
    futures += [ask(batcher, gate), ask(batcher, gate, "d")]
    gate.gate.set()
    assert [upper(future) for future in futures] == [["A"], ["B", "C"], [], ["D"]]
    assert upper(first) == ["FIRST"]
    assert gate.batches == [["first"], ["a", "b", "c", "d"]]


def test_functions_are_not_mixed_and_keep_their_order(make):
    batcher = make()
    gate, _ = busy(batcher)
    other = Gate(open=True)
    futures = [ask(batcher, gate, "a"), ask(batcher, other, "b")]
    futures += [ask(batcher, gate, "c"), ask(batcher, other, "d")]
    gate.gate.set()
    assert [upper(future) for future in futures] == [["A"], ["B"], ["C"], ["D"]]
    assert gate.batches[1:] == [["a", "c"]] and other.batches == [["b", "d"]]


def test_a_batch_has_a_size_and_a_larger_request_runs_in_parts(make):
    batcher = make(batch_size=3)
    gate, _ = busy(batcher)
    futures = [ask(batcher, gate, *texts) for texts in ("ab", "cd", "e", "fghijkl")]
    gate.gate.set()
    found = ["".join(upper(future)) for future in futures]
    assert found == ["AB", "CD", "E", "FGHIJKL"]
    batches = ["".join(batch) for batch in gate.batches[1:]]
    assert batches == ["ab", "cde", "fgh", "ijk", "l"]


def test_a_part_that_fails_ends_the_rest(make):
    batcher = make(batch_size=1)
    gate, _ = busy(batcher)
    future = ask(batcher, gate, "a", "bad", "b", "c")
    gate.gate.set()
    with pytest.raises(ValueError, match="a bad text"):
        future.result(10)
    upper(ask(batcher, gate, "d"))
    assert "c" not in sum(gate.batches, [])


@pytest.mark.parametrize("count", [1, 3])
def test_a_request_that_nobody_waits_for_is_not_run(make, count):
    batcher = make(batch_size=1)
    gate, _ = busy(batcher)
    future = ask(batcher, gate, *["a"] * count)
    assert future.cancel()
    kept = ask(batcher, gate, "b")
    gate.gate.set()
    assert upper(kept) == ["B"]
    assert gate.batches == [["first"], ["b"]]


def test_a_bad_request_fails_alone(make):
    batcher = make()
    gate, _ = busy(batcher)
    good, bad, other = (ask(batcher, gate, text) for text in ("a", "bad", "b"))
    gate.gate.set()
    assert upper(good) == ["A"] and upper(other) == ["B"]
    with pytest.raises(ValueError, match="a bad text"):
        bad.result(10)
    assert gate.batches[1:] == [["a", "bad", "b"], ["a"], ["bad"], ["b"]]


def test_the_queue_is_bounded_in_characters_too(make, monkeypatch):
    monkeypatch.setattr("zoo.servers.batching._CHARACTERS", 10)
    batcher = make()
    gate, _ = busy(batcher)
    futures = [ask(batcher, gate, "a" * 20)]  # nothing else waits
    with pytest.raises(Refusal, match="20 characters are waiting, and at most 10"):
        ask(batcher, gate, "b")
    gate.gate.set()
    assert upper(futures[0]) == ["A" * 20]
    gate, _ = busy(batcher)
    both = {"text": ["a"], "other": ["bcde"]}  # 5, of both inputs
    futures = [batcher.submit(gate, both), ask(batcher, gate, "fg", "hij")]
    with pytest.raises(Refusal, match="10 characters are waiting"):
        ask(batcher, gate, "k")
    gate.gate.set()
    assert upper(futures[0]) == ["A"]


def test_beyond_its_bound_the_queue_refuses(make):
    batcher = make(queue=3)
    gate, _ = busy(batcher)
    waiting = ask(batcher, gate, "a", "b")
    with pytest.raises(Refusal, match="2 texts are waiting, and at most 3") as refused:
        ask(batcher, gate, "c", "d")
    assert refused.value.code == "RESOURCE_EXHAUSTED"
    third = ask(batcher, gate, "c")
    gate.gate.set()
    assert upper(waiting) == ["A", "B"] and upper(third) == ["C"]
    assert len(upper(ask(batcher, gate, *"abcde"))) == 5  # larger, and nothing waits


def test_what_was_cancelled_makes_room_and_is_not_run(make):
    batcher = make(queue=1)
    gate, _ = busy(batcher)
    assert ask(batcher, gate, "a").cancel()
    kept = ask(batcher, gate, "b")
    gate.gate.set()
    assert upper(kept) == ["B"]
    assert gate.batches == [["first"], ["b"]]


def test_what_is_too_late_is_not_run(make):
    batcher = make()
    gate, _ = busy(batcher)
    batcher.timeout = 0.05
    late = ask(batcher, gate, "late")
    time.sleep(0.1)
    gate.gate.set()
    with pytest.raises(Refusal, match="not begun within 0.05 s") as refused:
        late.result(10)
    assert refused.value.code == "DEADLINE_EXCEEDED"
    assert gate.batches == [["first"]]


def test_a_worker_may_wait_for_more(make):
    batcher = make(wait=5.0, batch_size=2)
    gate = Gate(open=True)
    futures = [ask(batcher, gate, "a")]
    time.sleep(0.05)
    assert not gate.batches
    futures.append(ask(batcher, gate, "b"))  # the batch is full
    assert [upper(future) for future in futures] == [["A"], ["B"]]
    assert gate.batches == [["a", "b"]]
    batcher.wait = 0.01
    assert upper(ask(batcher, gate, "c")) == ["C"]


def test_several_workers_run_several_batches(make):
    batcher = make(workers=2)
    gates = Gate(), Gate()
    futures = [ask(batcher, gate, "a") for gate in gates]
    assert all(gate.began.wait(10) for gate in gates)
    for gate in gates:
        gate.gate.set()
    assert [upper(future) for future in futures] == [["A"], ["A"]]


def test_each_of_many_gets_its_own_answer(make):
    batcher = make(workers=3, batch_size=7, queue=10_000)
    run = Gate(open=True)
    with ThreadPoolExecutor(16) as pool:
        texts = [[f"{n}.{k}" for k in range(n % 5)] for n in range(600)]
        found = pool.map(lambda several: upper(ask(batcher, run, *several)), texts)
        assert list(found) == texts
    assert max(map(len, run.batches)) <= 7


def test_it_lives_until_it_is_closed(make):
    batcher = make(workers=2)
    assert batcher.alive
    assert batcher.close(5) and not batcher.alive


def test_a_closed_batcher_answers_what_waits(make):
    batcher = make()
    gate, first = busy(batcher)
    waiting = ask(batcher, gate, "a")
    closing = threading.Thread(target=batcher.close)
    closing.start()
    while not batcher._closed:
        time.sleep(0.001)
    with pytest.raises(Refusal, match="stopping") as refused:
        ask(batcher, gate, "b")
    assert refused.value.code == "UNAVAILABLE"
    assert not batcher.close(seconds=0.01)
    gate.gate.set()
    closing.join(10)
    assert batcher.close()
    assert upper(first) == ["FIRST"] and upper(waiting) == ["A"]


def test_a_request_has_a_size(make):
    with pytest.raises(Refusal, match="512 rows, received 513") as refused:
        ask(make(), Gate(), *["a"] * 513)
    assert refused.value.code == "INVALID_ARGUMENT"


@pytest.mark.parametrize("name", ["workers", "batch_size", "queue", "timeout"])
def test_sizes_are_above_zero(name):
    with pytest.raises(ValueError, match=f"`{name}` must be"):
        Batcher(**{name: 0})
