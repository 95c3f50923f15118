"""`PairBatches` whose words are segmented anew in each epoch."""

import collections
import random

import keras
import numpy as np
import pytest

from tests.training.batches.test_padded_batches import pairs_of
from zoo.text import SubwordRegularization, Tokenizer, train_tokenizer
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


def make_batches(sampled, **options):
    tokenizer, sources, targets = sampled
    draw = SubwordRegularization(tokenizer.proto, alpha=0.0)
    options = {"batch_size": 4, "buckets": 3, "seed": 1, **options}
    return PairBatches(sources, targets, subword_regularization=draw, **options)


def test_each_epoch_has_the_same_pairs_in_other_pieces(sampled):
    tokenizer, sources, targets = sampled
    batches, count = make_batches(sampled), 0
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
    assert abs(count / 3 - batches.tokens) < 0.05 * batches.tokens
    assert count > 3.2 * sum(len(target) + 1 for target in targets)  # longer


def test_a_resumed_epoch_draws_the_same_pieces(sampled):
    batches, resumed = make_batches(sampled), make_batches(sampled)
    batches.set_epoch(2)
    resumed.set_epoch(2, start=3)
    rest = [batches[i] for i in range(3, len(batches))]
    assert len(rest) == len(resumed) > 3
    for index, one in enumerate(rest):
        parts = map(keras.tree.flatten, (one, resumed[index]))
        for a, b in zip(*parts, strict=True):
            np.testing.assert_array_equal(a, b)


def test_processes_draw_the_same_pieces(sampled):
    whole = make_batches(sampled)
    parts = [make_batches(sampled) for _ in range(2)]
    for process, part in enumerate(parts):
        part.shard(process, 2)
    for index in range(len(whole)):
        both = np.concatenate([part[index][1] for part in parts])
        np.testing.assert_array_equal(both, whole[index][1])


def test_what_is_too_long_for_its_bucket_keeps_its_pieces(sampled):
    tokenizer, sources, targets = sampled
    longest = max(map(len, sources)), max(map(len, targets)) + 1
    batches = make_batches(sampled, buckets=[longest])
    kept = 0
    for source, target in pairs_of(batches):
        assert len(source) <= longest[0] and len(target) < longest[1]
        place = sources.index(source) if source in sources else None
        kept += place is not None and len(source) > longest[0] / 2
    texts = sorted(tokenizer.detokenize(targets))
    found = [tokenizer.detokenize(target) for _, target in pairs_of(batches)]
    assert sorted(found) == texts and kept > 5


def test_without_a_seed_it_is_refused(sampled):
    with pytest.raises(ValueError, match="needs a seed.*seed=None"):
        make_batches(sampled, seed=None)
