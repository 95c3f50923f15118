"""`PairBatches` with other pieces in each epoch."""

import collections
import random

import keras
import numpy as np
import pytest

from tests.training.test_batching import pairs_of
from zoo.text import SubwordSampling, Tokenizer, train_tokenizer
from zoo.training import PairBatches

pytestmark = pytest.mark.backend_free


@pytest.fixture(scope="module")
def sampled():
    """A tokenizer, and pairs of sentences by their ids."""
    words = (
        "ein eine einer hund hunde hunden rennt rennen durch den schnee wald walden "
        "katze katzen schlafen springen schläft springt"
    ).split()
    rng = random.Random(1)
    texts = [" ".join(rng.choices(words, k=rng.randint(1, 6))) for _ in range(60)]
    tokenizer = Tokenizer(proto=train_tokenizer(texts, vocabulary_size=43))
    ids = tokenizer.tokenize(texts)
    return tokenizer, ids[:30], ids[30:]


def sampling_batches(sampled, **options):
    tokenizer, sources, targets = sampled
    sampling = SubwordSampling(tokenizer.proto, alpha=0.0)
    options = {"batch_size": 8, "buckets": 3, "seed": 1, **options}
    return PairBatches(sources, targets, sampling=sampling, **options)


def test_each_epoch_has_the_same_pairs_in_other_pieces(sampled):
    tokenizer, sources, targets = sampled
    batches, count = sampling_batches(sampled), 0
    texts = collections.Counter(
        zip(tokenizer.detokenize(sources), tokenizer.detokenize(targets), strict=True)
    )
    epochs = []
    for epoch in range(3):
        batches.set_epoch(epoch)
        epochs.append(pairs_of(batches))
        assert texts == collections.Counter(
            tuple(map(tokenizer.detokenize, pair)) for pair in epochs[-1]
        )
        count += sum(batches[i][2].sum() for i in range(len(batches)))
    assert epochs[0] != epochs[1]
    other = [pair for pair in epochs[0] if pair[0] not in sources]
    assert len(other) > 15  # of 30
    assert abs(count / 3 - batches.tokens) < 0.1 * batches.tokens


def test_a_resumed_epoch_draws_the_same_pieces(sampled):
    batches, resumed = sampling_batches(sampled), sampling_batches(sampled)
    batches.set_epoch(2)
    resumed.set_epoch(2, start=3)
    rest = [batches[i] for i in range(3, len(batches))]
    assert len(rest) == len(resumed) > 0
    for one, other in zip(rest, map(resumed.__getitem__, range(9)), strict=False):
        for a, b in zip(*map(keras.tree.flatten, (one, other)), strict=True):
            np.testing.assert_array_equal(a, b)


def test_processes_draw_the_same_pieces(sampled):
    whole = sampling_batches(sampled)
    parts = [sampling_batches(sampled) for _ in range(2)]
    for process, part in enumerate(parts):
        part.shard(process, 2)
    for index in range(len(whole)):
        both = np.concatenate([part[index][1] for part in parts])
        np.testing.assert_array_equal(both, whole[index][1])


def test_sampling_without_a_seed_is_refused(sampled):
    with pytest.raises(ValueError, match="seed=None"):
        sampling_batches(sampled, seed=None)
