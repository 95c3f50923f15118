"""The padded shapes of batches."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zoo.training import choose_buckets

pytestmark = pytest.mark.backend_free


@settings(max_examples=60)
@given(
    sizes=st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), min_size=1),
    count=st.integers(1, 6),
)
def test_every_pair_fits_into_one_of_few_buckets(sizes, count):
    buckets = choose_buckets(sizes, count)
    assert 1 <= len(buckets) <= count
    assert buckets == sorted(set(buckets))
    for source, target in sizes:
        assert any(source <= s and target <= t for s, t in buckets)
    for side in (0, 1):
        longest = max(size[side] for size in sizes)
        assert max(bucket[side] for bucket in buckets) == longest


def test_two_clusters_get_a_bucket_each():
    sizes = list(itertools.product((3, 4), (5, 6))) + [(30, 31), (29, 32)]
    assert choose_buckets(sizes, count=2) == [(4, 6), (30, 32)]


def test_a_padded_target_position_costs_more_than_a_source_position():
    # (5, 5) joins (9, 4): 4 positions of a source and 1 of a target are padded. With
    # (4, 8) it would be 1 of a source and 3 of a target, which are fewer.
    assert choose_buckets([(5, 5), (9, 4), (4, 8)], count=2) == [(4, 8), (9, 5)]
