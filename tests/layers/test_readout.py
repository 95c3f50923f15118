import numpy as np
import pytest

from tests.harness import close, randomize
from tests.layers import reference
from zoo.layers import MaxoutReadout

RNG = np.random.default_rng(6)
STATE, WORD, CONTEXT = (RNG.normal(size=(2, 3, n)).astype("float32") for n in (4, 5, 6))


@pytest.mark.parametrize("use_bias", [True, False])
def test_maxout_is_the_papers(use_bias):
    layer = MaxoutReadout(7, use_bias=use_bias)
    layer.build(STATE.shape, WORD.shape, CONTEXT.shape)
    randomize(layer)
    weights = reference.named(layer)
    got = layer(STATE, WORD, CONTEXT)
    for b, t in np.ndindex(2, 3):
        wanted = reference.maxout(STATE[b, t], WORD[b, t], CONTEXT[b, t], weights)
        close(got[b, t], wanted)
    close(layer(STATE[:, 1], WORD[:, 1], CONTEXT[:, 1]), got[:, 1])
