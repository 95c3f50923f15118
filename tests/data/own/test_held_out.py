import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zoo.data.own import held_out
from zoo.data.own.held_out import Smallest, chunks, text_hashes

pytestmark = pytest.mark.backend_free


def offered(numbers, count, size):
    smallest = Smallest(count)
    for several in chunks(numbers, size):
        smallest.offer([n.to_bytes(4, "big") for n in several], several)
        assert len(smallest._items) <= 2 * count + size
        assert len(smallest._unique) < 20_000 + held_out.AT_ONCE
    return smallest


@given(st.lists(st.integers(0, 60), max_size=80), st.integers(1, 9), st.integers(1, 7))
def test_the_smallest_are_kept_each_once_in_any_order(numbers, count, size):
    assert offered(numbers, count, size).items() == sorted(set(numbers))[:count]


def test_memory_is_bounded():
    offered(random.Random(0).sample(range(100_000), 50_000), 10, 50)


@pytest.mark.parametrize(
    ("unique", "count"), [(1, 1), (9, 1), (40, 2), (19_990, 1000), (30_000, 1000)]
)
def test_a_twentieth_up_to_a_thousand(unique, count):
    found = offered([*range(unique)] * 2, held_out.HELD_OUT, held_out.AT_ONCE)
    assert found.held_out() == list(range(count))


def test_hashes_depend_on_text_and_seed_alone():
    texts = ["a", "ä", "\ud800", "a"]
    hashes = text_hashes(texts, 1)
    assert hashes[0] == hashes[3] and len(set(hashes)) == 3
    assert text_hashes(["a"], 1) != text_hashes(["a"], 2) != text_hashes(["a"], -1)
    assert {len(hashed) for hashed in hashes} == {8}
    # What a run held out stays so in later versions.
    assert text_hashes(["a\tb"], 1)[0].hex() == "cd4cc48cbe190c72"
