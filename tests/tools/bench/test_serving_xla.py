import numpy as np
import pytest

from tests.serving.conftest import make_translator, needs_tensorflow
from tools.bench.serving_xla import compare


@needs_tensorflow
@pytest.mark.long
def test_both_ways_find_the_same_and_are_timed():
    sources = np.random.default_rng(1).integers(4, 30, (3, 2, 2))
    found, equal = compare(make_translator(), 1, sources.astype("int32"))
    assert [way for way, *_ in found] == ["graph", "XLA"]
    assert equal == 1
    for _, first, median in found:
        assert first > 0 and median > 0
