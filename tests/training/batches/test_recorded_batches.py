"""A run goes on exactly, whichever version of the library began it."""

import hashlib

import pytest

from tests.training.batches.test_padded_batches import make_pairs
from zoo.data.store import RaggedIds
from zoo.training import PairBatches

pytestmark = pytest.mark.backend_free


def digest(batches):
    """A hash of all arrays of two epochs, without the first two batches."""
    found = hashlib.sha256()
    for epoch in (0, 3):
        batches.set_epoch(epoch, start=2)
        for index in range(len(batches)):
            x, labels, weights = batches[index]
            for array in (x["source_ids"], x["target_ids"], labels, weights):
                found.update(repr((array.shape, str(array.dtype))).encode())
                found.update(array.tobytes())
    return found.hexdigest()[:16]


@pytest.mark.parametrize("kind", ["lists", "ragged"])
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
def test_batches_are_those_recorded_at_148da69(kind, options, shard, expected):
    """Then each bucket held padded arrays of its own."""
    pairs = make_pairs()
    if kind == "ragged":
        pairs = [RaggedIds.of(side) for side in pairs]
    batches = PairBatches(*pairs, **options)
    if shard:
        batches.shard(*shard)
    assert digest(batches) == expected
