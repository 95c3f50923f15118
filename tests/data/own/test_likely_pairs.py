import random

import numpy as np
import pytest

from zoo.data import CorpusError
from zoo.data.own.likely_pairs import parting_line, read_aligned_lines

pytestmark = pytest.mark.backend_free


def lengths(count, seed):
    """Lengths of sentences, and of translations about 1.2 times as long."""
    rng = np.random.default_rng(seed)
    source = rng.integers(5, 150, count)
    return source, np.maximum(1, (source * rng.normal(1.2, 0.15, count)).astype(int))


@pytest.mark.parametrize("count", [60, 5000])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_lost_line_is_found_nearly(count, share):
    errors = []
    for seed in range(21):
        source, target = lengths(count, seed)
        place = int(count * share)
        errors.append(abs(parting_line(source, np.delete(target, place)) - place - 1))
    assert np.median(errors) <= 5 and np.quantile(errors, 0.9) <= 30


@pytest.mark.parametrize(
    ("lost", "line"), [([700, 701, 1500, 4000], 701), (range(4700, 5000), 4701)]
)
def test_lines_lost_in_several_places_or_at_the_end(lost, line):
    source, target = lengths(5000, 1)
    assert abs(parting_line(source, np.delete(target, lost)) - line) < 10


@pytest.mark.parametrize("sides", [([3, 4], []), ([], [3])])
def test_an_empty_side_parts_at_once(sides):
    assert parting_line(*(np.array(side, int) for side in sides)) == 1


def test_unequal_counts_are_told_with_the_place(tmp_path):
    rng = random.Random(0)
    texts = ["x" * rng.randint(3, 99) for _ in range(200)]
    paths = tmp_path / "a.en", tmp_path / "a.de"
    paths[0].write_text("\n".join(texts))
    paths[1].write_text("\n".join(texts[:150]) + "\n")
    with pytest.raises(CorpusError) as caught:
        list(read_aligned_lines(*paths))
    assert str(caught.value) == (
        f"the two files must have the same number of lines, received 200 lines in "
        f"{paths[0]} and 150 in {paths[1]}; they seem to go out of step near line 151"
    )


def test_errors_of_the_files_stay(tmp_path):
    paths = tmp_path / "a.en", tmp_path / "a.de"
    paths[0].write_bytes(b"a\n")
    paths[1].write_bytes(b"\xff\n")
    with pytest.raises(CorpusError, match="a.de should be UTF-8"):
        list(read_aligned_lines(*paths))
