import pytest

from zoo.data import reversal_pairs

pytestmark = pytest.mark.backend_free


def test_the_target_is_the_source_in_reverse():
    sources, targets = reversal_pairs(100, seed=3)
    assert len(sources) == len(targets) == 100
    for source, target in zip(sources, targets, strict=True):
        assert target.split() == source.split()[::-1]
    assert sum(s != t for s, t in zip(sources, targets, strict=True)) > 50


@pytest.mark.parametrize(("shortest", "longest"), [(1, 8), (2, 2), (3, 5)])
def test_lengths_fill_the_range_asked_for(shortest, longest):
    sources, _ = reversal_pairs(300, 0, shortest, longest)
    lengths = {len(source.split()) for source in sources}
    assert lengths == set(range(shortest, longest + 1))


def test_the_seed_makes_it_repeatable():
    assert reversal_pairs(50, seed=1) == reversal_pairs(50, seed=1)
    assert reversal_pairs(50, seed=1) != reversal_pairs(50, seed=2)


def test_training_and_test_text_of_the_recipe_differ():
    """A recipe takes seed, seed + 1 and seed + 2."""
    train, valid, test = (set(reversal_pairs(200, seed)[0]) for seed in (1, 2, 3))
    assert len(test - train) > 100 and len(test - valid) > 100
