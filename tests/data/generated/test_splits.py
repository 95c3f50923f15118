import itertools

import pytest

from zoo.data.generated.splits import SPLITS, draw, split_of

pytestmark = pytest.mark.backend_free


def test_a_tenth_each_is_valid_and_test():
    found = [split_of(f"sentence {number}") for number in range(3000)]
    shares = {split: found.count(split) / len(found) for split in SPLITS}
    assert shares == pytest.approx({"train": 0.8, "valid": 0.1, "test": 0.1}, abs=0.03)
    # It is the same in every process, and always.
    assert split_of("a red star") == split_of("a red star")


def test_the_first_are_drawn():
    def numbers(split):
        return (f"{split} {number}" for number in itertools.count())

    assert draw(numbers, 2, "valid") == ["valid 0", "valid 1"]
    assert draw(numbers, 0, "train") == []


@pytest.mark.parametrize(("count", "split"), [(-1, "train"), (1, "dev")])
def test_what_cannot_be_drawn(count, split):
    with pytest.raises(ValueError, match=f"count={count}, split='{split}'"):
        draw(iter, count, split)
