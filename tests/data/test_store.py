import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zoo.data import store
from zoo.data.store import RaggedIds, tokenise
from zoo.training import PairBatches

pytestmark = pytest.mark.backend_free

ROWS = [[4, 5, 6], [], [7, 8], [9], [10, 11, 12, 13, 14]]


# === Rows in memory ===


def test_rows_of_different_lengths():
    ids = RaggedIds.of(ROWS)
    assert len(ids) == 5 and [row.tolist() for row in ids] == ROWS
    assert ids[-1].tolist() == ROWS[-1] and ids.lengths.tolist() == [3, 0, 2, 1, 5]
    assert RaggedIds.of(ids) is ids
    with pytest.raises(IndexError, match="row 5 of 5"):
        ids[5]


def test_some_of_the_rows():
    ids = RaggedIds.of(ROWS)
    for chosen in (ids[np.array([4, 0, 4])], ids[1:][np.array([3, 0])][:1]):
        assert chosen[0].tolist() == ROWS[4] and chosen.lengths[0] == 5
        assert chosen.take([0], 6).tolist() == [[*ROWS[4], 0]]
        assert np.shares_memory(chosen[0], ids[4])
    assert lists(ids[np.array([4, 0, 4])]) == [ROWS[4], ROWS[0], ROWS[4]]


rows = st.lists(st.lists(st.integers(0, 65_535), max_size=7), max_size=7)


@given(rows, st.integers(1, 9), st.data())
def test_taken_rows_are_padded_and_cut(rows, width, data):
    numbers = st.lists(st.integers(0, max(0, len(rows) - 1)), max_size=5)
    wanted = data.draw(numbers) if rows else []
    taken = RaggedIds.of(rows).take(np.array(wanted, int), width)
    assert taken.dtype == "int32" and taken.shape == (len(wanted), width)
    padded = [(rows[row] + [0] * width)[:width] for row in wanted]
    assert taken.tolist() == padded


# === Rows in a file ===


def numbers(texts):
    return [[int(word) for word in text.split()] for text in texts]


def negated(texts):
    return [row[::-1] for row in numbers(texts)]


PAIRS = [(f"{n} 7", " ".join(["5"] * (n % 5) + [str(n)])) for n in range(4, 31)]


def lists(ragged):
    return [row.tolist() for row in ragged]


def make(folder, pairs=PAIRS, encode=numbers, **options):
    options = {"key": "a", **options}
    return tokenise([pairs], encode, negated, cache=folder, **options)


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr(store, "CHUNK", 4)


@pytest.mark.parametrize(("size", "dtype"), [(None, "int32"), (65_536, "uint16")])
def test_pairs_are_tokenised_in_chunks_into_a_file(tmp_path, small_chunks, size, dtype):
    told = []
    sides = make(tmp_path, vocabulary_size=size, progress=told.append)
    assert lists(sides[0]) == numbers(source for source, _ in PAIRS)
    assert lists(sides[1]) == negated(target for _, target in PAIRS)
    assert sides[0][0].dtype == dtype
    assert told == [4, 8, 12, 16, 20, 24, 27]
    mapped = sides[1][0]
    while mapped.base is not None and not isinstance(mapped, np.memmap):
        mapped = mapped.base
    assert isinstance(mapped, np.memmap)


def test_ids_beyond_the_vocabulary_are_refused(tmp_path):
    with pytest.raises(OverflowError):
        make(tmp_path, [("65536", "4")], vocabulary_size=100)
    assert not list(tmp_path.glob("*.ids")) and not list(tmp_path.glob("*.part"))


def never(texts):
    raise AssertionError("tokenised again")


def test_a_second_call_reads_the_file(tmp_path):
    first = make(tmp_path)
    again = make(tmp_path, encode=never)
    assert lists(first[0]) == lists(again[0]) and lists(first[1]) == lists(again[1])
    with pytest.raises(AssertionError, match="again"):
        make(tmp_path, encode=never, key="b")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: data[:-8],
        lambda data: data[:-3],
        lambda data: data[:100],
        lambda data: b"",
        lambda data: data + bytes(8),
        lambda data: b"something else" + data,
        lambda data: b"[1]" + (3).to_bytes(8, "little"),
        lambda data: data[:-8] + b"\xff" * 8,
        lambda data: data.replace(b"pairs 2", b"pairs 1"),
        lambda data: data.replace(b'"int32"', b'"float"'),
    ],
)
def test_a_file_that_is_cut_or_foreign_is_made_anew(tmp_path, spoil):
    make(tmp_path)
    (path,) = tmp_path.glob("*.ids")
    data = path.read_bytes()
    path.write_bytes(spoil(data))
    with pytest.raises(AssertionError, match="again"):
        make(tmp_path, encode=never)
    assert lists(make(tmp_path)[0]) == numbers(source for source, _ in PAIRS)
    assert path.read_bytes() == data


def test_the_file_of_another_key_is_not_taken(tmp_path):
    make(tmp_path)
    (path,) = tmp_path.glob("*.ids")
    make(tmp_path / "b", PAIRS[:3], key="b")
    path.write_bytes(next((tmp_path / "b").glob("*.ids")).read_bytes())
    assert len(make(tmp_path)[0]) == len(PAIRS)


def test_an_error_leaves_no_file(tmp_path):
    with pytest.raises(ValueError, match="invalid literal"):
        make(tmp_path, [*PAIRS, ("x", "4")])
    assert [path.suffix for path in tmp_path.iterdir()] == [".lock"]


def test_weights_and_what_is_kept(tmp_path):
    parts = [[("4", "5 6"), ("4 4 4", "5")], [("7", "8"), ("9 9", "")]]
    sources, targets = tokenise(
        parts,
        numbers,
        numbers,
        key="a",
        cache=tmp_path,
        weights=[2, 3],
        keep=lambda s, t: (s < 3) & (t > 0),
    )
    assert lists(sources) == [[4]] * 2 + [[7]] * 3
    assert lists(targets) == [[5, 6]] * 2 + [[8]] * 3


def test_no_pair_at_all(tmp_path):
    sources, targets = make(tmp_path, [])
    assert len(sources) == len(targets) == 0
    assert sources.take([], 3).shape == (0, 3)


def test_batches_of_a_file_are_those_of_the_lists(tmp_path):
    mapped = PairBatches(*make(tmp_path), batch_size=3, seed=1)
    plain = PairBatches(*map(lists, make(tmp_path)), batch_size=3, seed=1)
    assert len(mapped) == len(plain)
    for index in range(len(plain)):
        (x, *rest), (y, *others) = mapped[index], plain[index]
        for one, other in zip(
            [*x.values(), *rest], [*y.values(), *others], strict=True
        ):
            assert one.dtype == other.dtype and one.tolist() == other.tolist()


def test_of_two_at_once_one_works(tmp_path):
    """Here two threads: the lock is of an open file, whoever holds it."""
    chunks = []

    def slow(texts):
        chunks.append(len(texts))
        time.sleep(0.2)
        return numbers(texts)

    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda _: make(tmp_path, encode=slow), range(2)))
    assert chunks == [len(PAIRS)]
    assert lists(found[0][0]) == lists(found[1][0])
