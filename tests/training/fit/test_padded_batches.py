import collections
import hashlib
import random

import keras
import numpy as np
import pytest

from zoo.data.store import RaggedIds
from zoo.training import ArrayBatches, PairBatches, StreamBatches
from zoo.training.fit.padded_batches import as_dataset

START, END = 2, 3


def make_pairs(count=203, seed=0):
    """Pairs that are all different, of ids from 4."""
    rng = random.Random(seed)
    sources, targets = [], []
    for row in range(count):
        sources.append([4 + row, *rng.choices(range(4, 50), k=rng.randint(0, 16))])
        targets.append([4 + row, *rng.choices(range(4, 50), k=rng.randint(0, 12))])
    return sources, targets


@pytest.fixture(scope="module")
def pairs():
    return make_pairs()


def rows_of(batches):
    """Every row of an epoch, in order, as tuples."""
    for index in range(len(batches)):
        x, labels, weights = batches[index]
        arrays = (x["source_ids"], x["target_ids"], labels, weights)
        yield from zip(*arrays, strict=True)


def pairs_of(batches):
    return [
        (source[source != 0].tolist(), labels[weights > 0].tolist()[:-1])
        for source, _, labels, weights in rows_of(batches)
        if weights.any()
    ]


def first_ids(batches):
    return [source[0] for source, *_ in rows_of(batches)]


# === One epoch ===


@pytest.mark.parametrize(
    "lengths", [[(3, 3)], [(3, 3), (3, 7), (7, 3)], [(3, 3), (7, 7), (11, 7)]], ids=str
)
@pytest.mark.parametrize("seed", [None, 1])
def test_whatever_the_buckets_each_pair_comes_once(lengths, seed):
    """And, as TensorFlow wants it, the first two batches differ in what varies."""
    sources = [[4 + n] * s for s, _ in lengths for n in range(20)]
    targets = [[4 + n] * t for _, t in lengths for n in range(20)]
    batches = PairBatches(sources, targets, batch_size=4, seed=seed)
    assert len(batches.buckets) == len(lengths)
    expected = sorted(map(list, zip(sources, targets, strict=True)))
    for epoch in range(3):
        batches.set_epoch(epoch)
        assert len(batches) == 5 * len(lengths)
        assert sorted(map(list, pairs_of(batches))) == expected
        for side, shapes in enumerate(zip(*batches.buckets, strict=True)):
            first, second = (
                (batch[0]["source_ids"], batch[1])[side].shape[1]
                for batch in (batches[0], batches[1])
            )
            assert (first != second) == (len(set(shapes)) > 1)


def test_inputs_are_shifted_labels_end_and_weights_tell_what_is_real(pairs):
    real = empty = 0
    for source, target, labels, weights in rows_of(PairBatches(*pairs, batch_size=16)):
        count = int(weights.sum())
        assert set(weights.tolist()) <= {0.0, 1.0}
        if not count:  # it fills a batch up
            assert not (source.any() or target.any() or labels.any())
            empty += 1
            continue
        assert weights[:count].all()
        assert labels[count - 1] == END and target[0] == START
        assert target[1:count].tolist() == labels[: count - 1].tolist()
        assert not labels[count:].any() and not target[count:].any()
        assert (source != 0).sum() == np.flatnonzero(source)[-1] + 1  # pads at the end
        real += 1
    assert real == len(pairs[0]) and empty


@pytest.mark.parametrize("size", [{"batch_size": 16}, {"batch_tokens": 200}])
def test_a_bucket_has_one_shape_and_tokens_and_padding_are_counted(pairs, size):
    batches = PairBatches(*pairs, seed=1, **size)
    shapes, real, padded = collections.Counter(), 0, []
    for index in range(len(batches)):
        x, labels, weights = batches[index]
        assert x["source_ids"].dtype == x["target_ids"].dtype == labels.dtype == "int32"
        assert weights.dtype == "float32"
        assert x["target_ids"].shape == labels.shape == weights.shape
        shapes[(x["source_ids"].shape, labels.shape)] += 1
        real += weights.sum()
        padded.append(labels.size)
    assert len(shapes) <= len(batches.buckets) <= 14
    assert sum(shapes.values()) == len(batches) > len(shapes)
    if "batch_tokens" in size:
        assert max(padded) <= 200 and min(padded) > 100
    expected = sorted(map(list, zip(*pairs, strict=True)))
    for epoch in (0, 3):
        batches.set_epoch(epoch)
        assert sorted(map(list, pairs_of(batches))) == expected  # each pair once
    assert batches.tokens == real == sum(len(target) + 1 for target in pairs[1])
    assert batches.padding == pytest.approx(1 - real / sum(padded))


# === Order ===


def test_the_order_depends_on_seed_and_epoch_alone(pairs):
    batches = PairBatches(*pairs, batch_size=16, seed=1)
    epochs = []
    for epoch in range(3):
        batches.set_epoch(epoch)
        epochs.append(first_ids(batches))
    assert epochs[0] != epochs[1] != epochs[2] != epochs[0]
    # Another object, and epochs visited in another order, as after a resume.
    again = PairBatches(*make_pairs(), batch_size=16, seed=1)
    again.set_epoch(2)
    assert first_ids(again) == epochs[2]
    again.set_epoch(0)
    assert first_ids(again) == epochs[0]
    assert first_ids(PairBatches(*pairs, batch_size=16, seed=1)) == epochs[0]
    assert first_ids(PairBatches(*pairs, batch_size=16, seed=2)) != epochs[0]
    unseeded = PairBatches(*pairs, batch_size=16)
    first = first_ids(unseeded)
    unseeded.set_epoch(1)
    assert first_ids(unseeded) == first


def test_an_epoch_can_begin_with_any_batch(pairs):
    batches = PairBatches(*pairs, batch_size=16, seed=5)
    batches.set_epoch(2)
    whole = [batches[index] for index in range(len(batches))]
    for start in (3, 9, 0):
        batches.set_epoch(2, start)
        assert (batches.start, len(batches)) == (start, len(whole) - start)
        for index, one in enumerate(whole[start:]):
            arrays = map(keras.tree.flatten, (batches[index], one))
            for found, wanted in zip(*arrays, strict=True):
                np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    ("options", "shard", "expected"),
    [
        ({"batch_size": 16, "seed": 1}, None, "312281749176cd81"),
        ({"batch_tokens": 200}, None, "65d502d843c8e00c"),
        ({"batch_size": 10, "seed": 2}, (1, 2, 4), "344a88d794711ad2"),
        (
            {"batch_size": 16, "seed": 1, "buckets": [(17, 14), (8, 14), (17, 7)]},
            None,
            "8a8a71aafd207587",
        ),
    ],
)
def test_batches_are_those_recorded_at_148da69(options, shard, expected):
    """A run goes on exactly, whichever version of the library began it."""
    batches = PairBatches(*map(RaggedIds.of, make_pairs()), **options)
    if shard:
        batches.shard(*shard)
    found = hashlib.sha256()
    for epoch in (0, 3):
        batches.set_epoch(epoch, start=2)
        for index in range(len(batches)):
            x, labels, weights = batches[index]
            for array in (x["source_ids"], x["target_ids"], labels, weights):
                found.update(repr((array.shape, str(array.dtype))).encode())
                found.update(array.tobytes())
    assert found.hexdigest()[:16] == expected


# === Shards ===


@pytest.mark.parametrize(
    ("size", "processes", "devices"),
    [
        ({"batch_size": 16}, 3, 3),
        ({"batch_size": 16}, 1, 5),
        ({"batch_tokens": 200}, 2, 6),
    ],
)
def test_the_processes_rows_make_the_whole_batch(pairs, size, processes, devices):
    whole = PairBatches(*pairs, seed=1, **size)
    parts = [PairBatches(*pairs, seed=1, **size) for _ in range(processes)]
    for process, part in enumerate(parts):
        part.shard(process, processes, devices)
    for batches in (whole, *parts):
        batches.set_epoch(2)
    assert {len(part) for part in parts} == {len(whole)}
    for index in range(len(whole)):
        wanted = keras.tree.flatten(whole[index])
        shares = [keras.tree.flatten(part[index]) for part in parts]
        for expected, *found in zip(wanted, *shares, strict=True):
            assert len({array.shape for array in found}) == 1
            joined = np.concatenate(found)
            assert len(joined) % devices == 0
            assert len(joined) - len(expected) < devices
            np.testing.assert_array_equal(joined[: len(expected)], expected)
            assert not joined[len(expected) :].any()


def test_each_device_needs_a_sentence(pairs):
    batches = PairBatches(*pairs, batch_size=10)
    with pytest.raises(ValueError, match="each of the 16 devices.*batches of 10 sent"):
        batches.shard(0, 8, 16)


# === Buckets ===


def test_a_pair_goes_into_the_smallest_bucket_that_holds_it():
    batches = PairBatches(
        [[4] * 3, [5] * 7], [[4] * 3, [5] * 3], batch_size=1, buckets=[(8, 8), (4, 4)]
    )
    shapes = {batches[i][0]["source_ids"].shape[1] for i in range(len(batches))}
    assert shapes == {4, 8}


# === Arrays ===


def array_parts():
    """Rows of two shapes, each number once."""
    short = np.arange(10).reshape(5, 2)
    long = np.arange(10, 31).reshape(7, 3)
    return [({"ids": part}, part[:, 0]) for part in (short, long)]


def read_arrays(batches):
    return [batches[i] for i in range(len(batches))]


def test_every_row_of_arrays_comes_in_batches_of_its_part():
    batches = ArrayBatches(array_parts(), batch_size=2, seed=3)
    assert len(batches) == 3 + 4 and batches.tokens == 12
    seen = set()
    for x, y, weights in read_arrays(batches):
        assert x["ids"].shape[0] == 2 and weights.tolist() == [1, 1]
        assert x["ids"][:, 0].tolist() == y.tolist()
        seen |= set(y.tolist())
    assert seen == {0, 2, 4, 6, 8, *range(10, 31, 3)}
    # Which sizes vary, Keras's TensorFlow trainer learns from the first two.
    assert batches[0][0]["ids"].shape != batches[1][0]["ids"].shape


def test_the_order_of_arrays_is_the_epochs():
    def order(seed, epoch, **options):
        batches = ArrayBatches(array_parts(), batch_size=2, seed=seed)
        batches.set_epoch(epoch, **options)
        return [y.tolist() for _, y, _ in read_arrays(batches)]

    assert order(1, 0) == order(1, 0)
    assert order(1, 0) != order(1, 1) and order(1, 0) != order(2, 0)
    assert order(1, 1, start=4) == order(1, 1)[4:]
    plain = ArrayBatches(array_parts()[0], batch_size=4)
    assert [y.tolist() for _, y, _ in read_arrays(plain)] == [
        [0, 2, 4, 6],
        [8, 0, 2, 4],
    ]


def test_a_function_draws_an_epochs_arrays_anew_and_the_same_again():
    def draw(epoch):
        x = np.random.default_rng((7, epoch)).normal(size=(12, 2))
        return {"x": x}, x.sum(1)

    batches = ArrayBatches(draw, batch_size=4)
    assert (len(batches), batches.tokens) == (3, 12)
    first = [batches[i][0]["x"] for i in range(3)]
    np.testing.assert_array_equal(np.concatenate(first), draw(0)[0]["x"])
    batches.set_epoch(3)
    assert (batches[0][0]["x"] != first[0]).all()
    batches.set_epoch(3, start=1)  # resumed
    assert len(batches) == 2
    np.testing.assert_array_equal(batches[0][1], draw(3)[1][4:8])
    batches.set_epoch(0)
    np.testing.assert_array_equal(batches[0][0]["x"], first[0])


# === A stream ===


def test_batches_follow_each_other():
    rows = [[4, 5, 6], [7, 8], [4, 4, 8, 6, 5], [6], [8, 8, 7]]
    batches = StreamBatches(rows, batch_size=2, length=4)
    assert (len(batches), batches.tokens, batches.unit) == (3, 19, "words")
    keeps = [batches[i][0]["keep"].tolist() for i in range(3)]
    assert keeps == [[0, 0], [1, 1], [1, 1]]
    for i in range(3):
        (inputs, labels, weights) = batches[i]
        assert (weights == (labels > 0)).all() and inputs["token_ids"].shape == (2, 4)
    batches.set_epoch(1, start=1)
    assert len(batches) == 2 and batches[0][0]["keep"].tolist() == [1, 1]


# === As TensorFlow reads them ===


def test_tensorflow_reads_an_epoch_when_it_begins_from_where_it_begins():
    rows = [[n] * (1 + n % 3) for n in range(4, 24)]
    own = PairBatches(rows, rows[::-1], batch_size=2, seed=1, buckets=[(1, 4), (3, 4)])
    if keras.backend.backend() != "tensorflow":
        assert as_dataset(own) is own
        return

    def read(data):
        flat = map(keras.tree.flatten, data)
        return [[np.asarray(x).tolist() for x in one] for one in flat]

    data, iterator = as_dataset(own), iter(as_dataset(own))
    own.set_epoch(1)
    wanted = read(own[index] for index in range(len(own)))
    assert read(iterator) == read(data) == wanted
    own.set_epoch(1, 3)
    rest = as_dataset(own)
    assert int(rest.cardinality()) == len(wanted) - 3 and read(rest) == wanted[3:]
    assert rest.options().autotune.enabled is False
