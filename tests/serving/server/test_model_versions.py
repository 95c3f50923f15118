import asyncio
import gc
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tests.serving.server.conftest import fake_signatures, run
from zoo.serving.server import model_versions as models
from zoo.serving.server.model_versions import ServedModel, open_models
from zoo.serving.server.signatures import Refusal, Signature

pytestmark = pytest.mark.backend_free
BEST = {"upper": ("text", 1)}


def export(folder, number, broken=False):
    """A version as it appears: under its name when it is complete."""
    part = folder / f".part{number}"
    part.mkdir()
    if broken:
        (part / "broken").touch()
    part.rename(folder / str(number))


def refusal(ask, **given):
    with pytest.raises(Refusal) as refused:
        ask(**given)
    return refused.value.code, str(refused.value)


def test_the_newest_three_are_served_while_they_are_there(model, folder):
    assert list(model.loaded) == [1, 2]
    for number in (10, 3):
        export(folder, number)
    model.refresh()
    assert list(model.loaded) == [2, 3, 10]
    assert (model.find(), model.find(label="previous"), model.find(3)) == (10, 3, 3)
    code, text = refusal(model.find, version=1)
    assert code == "NOT_FOUND" and "versions [2, 3, 10], received 1" in text
    for number in (2, 3):
        (folder / str(number)).rmdir()
    model.refresh()
    assert list(model.loaded) == [1, 10]
    (folder / "1").rmdir()
    model.refresh()
    assert model.find(label="stable") == 10
    code, text = refusal(model.find, label="previous")
    assert code == "INVALID_ARGUMENT" and "'previous'" in text
    folder.rename(folder.parent / "away")  # for a moment
    model.refresh()
    assert list(model.loaded) == [10]


def test_without_a_version_nothing_is_found(tmp_path):
    model = ServedModel("made", tmp_path / "none", run, fake_signatures)
    model.refresh()
    for given in ({}, {"version": 1}):
        code, text = refusal(model.find, **given)
        assert code == "NOT_FOUND" and "versions []" in text


def test_models_are_opened_with_a_version_each(folder, tmp_path, monkeypatch):
    threads = []

    def load(folder, threads_):
        threads.append(threads_)
        return fake_signatures(folder)

    monkeypatch.setattr(models, "load_version", lambda f, threads: load(f, threads))
    found = open_models({"a": folder, "b": str(folder)}, run, threads=3)
    assert [list(found[name].loaded) for name in "ab"] == [[1, 2]] * 2
    assert set(threads) == {3}
    with pytest.raises(ValueError, match="c cannot be served: there is no version in"):
        open_models({"a": folder, "c": tmp_path / "none"}, run)
    for number in (1, 2):
        (folder / str(number) / "broken").touch()
    with pytest.raises(ValueError, match="a cannot be served: .*broken"):
        open_models({"a": folder}, run)


def test_a_broken_version_is_passed_over_until_it_changes(model, folder):
    loads = []

    def load(path):
        loads.append(path.name)
        return fake_signatures(path)

    model._load = load
    export(folder, 3, broken=True)
    model.refresh()
    model.refresh()
    assert list(model.loaded) == [1, 2] and loads == ["3"]
    assert "3 is broken" in model.failures[3]
    (folder / "3" / "broken").unlink()  # now the copy is complete
    model.refresh()
    assert list(model.loaded) == [1, 2, 3] and not model.failures


def test_an_unloaded_version_leaves_memory(folder):
    class Weights:
        pass

    kept = []

    def load(path):
        weights = Weights()
        kept.append(weakref.ref(weights))
        upper = lambda inputs, weights=weights: {"upper": inputs["text"]}  # noqa: E731
        return {"serving_default": Signature(upper, ("text",), BEST)}

    model = ServedModel("made", folder, run, load)
    model.refresh()
    asyncio.run(model.answer(model.signature("", 1), {"text": ["a"]}))
    for number in (3, 4):
        export(folder, number)
    model.refresh()
    deadline = time.monotonic() + 10  # the worker may be about to let go of it
    while kept[0]() is not None and time.monotonic() < deadline:
        gc.collect()
    assert [ref() is None for ref in kept] == [True, False, False, False]


def test_the_watch_takes_over_under_load_without_a_lost_request(model, folder):
    model.watch(0.01)
    stop, found = threading.Event(), []

    async def ask():
        number = model.find()
        signature = model.signature("translate", number)
        return (await model.answer(signature, {"text": ["a"]}))["score"][0]

    def load():
        while not stop.is_set():
            found.append(asyncio.run(ask()))

    pool = ThreadPoolExecutor(4)
    loads = [pool.submit(load) for _ in range(4)]
    try:
        for number in range(2, 8):
            if number > 2:  # 2 is there already
                export(folder, number)
            deadline = time.monotonic() + 10
            while number not in found and time.monotonic() < deadline:
                time.sleep(0.005)
    finally:
        stop.set()
    for each in loads:
        each.result(10)
    pool.shutdown()
    assert set(found) == set(range(2, 8))


def test_answers_are_padded_arrays(folder):
    def pieces(inputs):
        return {
            "pieces": [text.split() for text in inputs["text"]],
            "weights": [np.ones((len(text), 2), "float32") for text in inputs["text"]],
        }

    like = {"pieces": ("text", 2), "weights": ("number", 3)}
    signature = Signature(pieces, ("text",), like)
    model = ServedModel("made", folder, run)
    found = asyncio.run(model.answer(signature, {"text": ["a bc", "", "d e f"]}))
    assert found["pieces"].tolist() == [["a", "bc", ""], [""] * 3, ["d", "e", "f"]]
    assert found["weights"].shape == (3, 5, 2)
    assert found["weights"].sum(axis=(1, 2)).tolist() == [8, 0, 10]
    none = asyncio.run(model.answer(signature, {"text": []}))
    assert (none["pieces"].shape, none["weights"].shape) == ((0, 0), (0, 0, 0))


@pytest.mark.parametrize(
    ("counts", "message"), [((1, 2), "equally many rows"), ((513, 513), "512 rows")]
)
def test_other_numbers_of_rows_are_refused(model, counts, message):
    inputs = {x: ["a"] * n for x, n in zip(("source", "target"), counts, strict=True)}
    answer = model.answer(model.signature("score", 2), inputs)
    code, text = refusal(asyncio.run, main=answer)
    assert code == "INVALID_ARGUMENT" and message in text
