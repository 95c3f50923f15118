import re

import numpy as np
import pytest

from zoo.data.generated.lstm_tasks import (
    ORDER,
    REBER,
    adding,
    reber_arrays,
    reber_strings,
    temporal_order,
)

pytestmark = pytest.mark.backend_free

EMBEDDED = re.compile(
    # The Reber grammar as an automaton, without the one of the generator.
    r"B(T|P)B(?:TS*X(?:XT*V(?:PXT*V)*(?:PS|V)|S)|PT*V(?:PXT*V)*(?:PS|V))E\1E"
)


@pytest.mark.parametrize("length", [20, 100])
def test_adding(length):
    x, targets = adding(4000, length, seed=3)
    inputs, mask = x["inputs"], x["mask"]
    lengths = mask.sum(1)
    assert (lengths.min(), lengths.max()) == (length, length + length // 10)
    assert (mask == (np.arange(mask.shape[1]) < lengths[:, None])).all()
    assert (inputs[~mask] == 0).all()
    values, markers = inputs[..., 0], inputs[..., 1]
    assert ((markers == 1).sum(1) == 2).all()
    places = np.array([np.flatnonzero(row == 1) for row in markers])
    assert (places[:, 0] < 10).all() and places.max() == length // 2 - 1
    assert set(np.unique(places)) == set(range(length // 2))
    # -1 stands on the last step, and on the first one if that isn't marked.
    assert (markers[np.arange(4000), lengths - 1] == -1).all()
    first = markers[:, 0]
    assert set(first) == {-1.0, 1.0} and (values[first == 1, 0] == 0).all()
    assert ((markers == -1).sum(1) == 1 + (first == -1)).all()
    both = (values * (markers == 1)).sum(1)
    np.testing.assert_allclose(targets[:, 0], 0.5 + both / 4, atol=1e-6)
    real = values[mask]
    assert real.min() < -0.99 and real.max() > 0.99 and abs(real.mean()) < 0.01
    again, _ = adding(4000, length, seed=3)
    assert (again["inputs"] == inputs).all()


@pytest.mark.parametrize(
    ("relevant", "places"),
    [(2, [(10, 20), (50, 60)]), (3, [(10, 20), (33, 43), (66, 76)])],
)
def test_temporal_order(relevant, places):
    x, classes = temporal_order(3000, 100, seed=5, relevant=relevant)
    lengths = x["mask"].sum(1)
    assert (lengths.min(), lengths.max()) == (100, 110)
    seen = [set() for _ in places]
    for row, length, label in zip(x["inputs"], lengths, classes, strict=True):
        text = "".join(ORDER[i] for i in row[:length].argmax(1))
        assert text[0] == "E" and text[-1] == "B" and (row[length:] == 0).all()
        found = [i for i, symbol in enumerate(text) if symbol in "XY"]
        assert len(found) == relevant and set(text[1:-1]) <= set("abcdXY")
        for place, index in zip(seen, found, strict=True):
            place.add(index)
        order = "".join(text[i] for i in found)
        wanted = int(order.translate(str.maketrans("XY", "01")), 2)
        assert label == wanted
    for (low, high), place in zip(places, seen, strict=True):
        assert (min(place), max(place)) == (low, high)
    assert set(classes) == set(range(2**relevant))


def test_reber_strings_are_different_and_of_the_grammar():
    strings = reber_strings(512, seed=7)
    assert len(set(strings)) == 512
    assert all(EMBEDDED.fullmatch(text) for text in strings)
    assert not EMBEDDED.fullmatch("BTBTXSEPE") and EMBEDDED.fullmatch("BTBTXSETE")
    assert reber_strings(512, seed=7) == strings
    assert min(map(len, strings)) == 9


def test_reber_arrays():
    strings = [*reber_strings(60, seed=1), "BTBTXSETE"]
    x, labels, possible = reber_arrays(strings)
    for row, text in enumerate(strings):
        steps = len(text) - 1
        assert x["mask"][row].sum() == steps
        assert (
            "".join(REBER[i] for i in x["inputs"][row, :steps].argmax(1)) == text[:-1]
        )
        assert "".join(REBER[i] for i in labels[row, :steps]) == text[1:]
        assert possible[row, np.arange(steps), labels[row, :steps]].all()
        assert (x["inputs"][row, steps:] == 0).all() and not possible[row, steps:].any()
    # What follows a prefix in any of many strings, and nothing else.
    follow = {}
    for text in reber_strings(2000, seed=2):
        for step in range(1, min(len(text), 7)):
            follow.setdefault(text[:step], set()).add(text[step])
    for row, text in enumerate(strings):
        for step in range(1, min(len(text), 7)):
            told = {REBER[i] for i in np.flatnonzero(possible[row, step - 1])}
            assert told == follow[text[:step]]
    assert possible[-1].sum(1).tolist()[:8] == [2, 1, 2, 2, 2, 1, 1, 1]


def test_bad_arguments():
    for task in (adding, temporal_order):
        with pytest.raises(ValueError, match="at least 20. Received: length=19"):
            task(2, 19, seed=1)
    with pytest.raises(ValueError, match="2 or 3. Received: relevant=4"):
        temporal_order(2, 20, seed=1, relevant=4)
