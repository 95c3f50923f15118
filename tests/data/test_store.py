import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zoo.data import store
from zoo.data.store import RaggedIds, tokenise

pytestmark = pytest.mark.backend_free

ROWS = [[4, 5, 6], [], [7, 8], [9], [10, 11, 12, 13, 14]]


def test_rows_of_different_lengths():
    ids = RaggedIds.of(ROWS)
    assert len(ids) == 5 and [row.tolist() for row in ids] == ROWS
    assert ids[-1].tolist() == ROWS[-1] and ids.lengths.tolist() == [3, 0, 2, 1, 5]
    assert RaggedIds.of(ids) is ids
    with pytest.raises(IndexError):
        ids[5]


def lists(ragged):
    return [row.tolist() for row in ragged]


def test_some_of_the_rows():
    ids = RaggedIds.of(ROWS)
    for chosen in (ids[np.array([4, 0, 4])], ids[1:][np.array([3, 0])][:1]):
        assert chosen[0].tolist() == ROWS[4] and chosen.lengths[0] == 5
        assert chosen.take([0], 6).tolist() == [[*ROWS[4], 0]]
        assert np.shares_memory(chosen[0], ids[4])
    assert lists(ids[np.array([4, 0, 4])]) == [ROWS[4], ROWS[0], ROWS[4]]
    assert lists(ids[ids.lengths > 2]) == [ROWS[0], ROWS[4]]


rows = st.lists(st.lists(st.integers(0, 65_535), max_size=7), max_size=7)


@given(rows, st.integers(1, 9), st.data())
def test_taken_rows_are_padded_and_cut(rows, width, data):
    numbers = st.lists(st.integers(0, max(0, len(rows) - 1)), max_size=5)
    wanted = data.draw(numbers) if rows else []
    taken = RaggedIds.of(rows).take(np.array(wanted, int), width)
    assert taken.dtype == "int32" and taken.shape == (len(wanted), width)
    padded = [(rows[row] + [0] * width)[:width] for row in wanted]
    assert taken.tolist() == padded


@pytest.mark.parametrize("count", [0, 1, 8, 9])
def test_texts_are_tokenised_in_chunks(monkeypatch, count):
    monkeypatch.setattr(store, "CHUNK", 4)
    sizes, expected = [], [[n] * (n % 3) for n in range(count)]

    def encode(texts):
        sizes.append(len(texts))
        return [[int(word) for word in text.split()] for text in texts]

    ids = tokenise([" ".join(map(str, row)) for row in expected], encode)
    assert lists(ids) == expected and max(sizes, default=0) <= 4
    assert ids.take([], 3).shape == (0, 3)
