"""Links of an aligner: their file, and the scores of a model's attention by them."""

import numpy as np
import pytest

from tools.papers import aligner
from zoo.decoding import Translation

pytestmark = pytest.mark.backend_free


def test_a_file_of_links(tmp_path):
    path = tmp_path / "links.txt"
    path.write_text("0?0 1-1 10-2\n\n")
    links = [({(1, 1), (10, 2)}, {(0, 0), (1, 1), (10, 2)}), (set(), set())]
    assert aligner.read(path) == links


def test_the_committed_links_are_of_the_test_set():
    links = aligner.read()
    assert len(links) == 1000
    assert all(sure <= possible for sure, possible in links)
    assert 8 < np.mean([len(sure) for sure, _ in links]) < 14


def record(source, target, peaks):
    weights = np.full((len(target), len(source)), 0.01)
    weights[np.arange(len(target)), peaks] = 0.9
    return Translation(" ".join(target), 0.0, target, source, weights)


def test_counts_of_links():
    sure = {(0, 0), (1, 1), (3, 2)}
    known = ("A b c d", "W x y", sure, sure | {(2, 1)})
    other = ("e f", "u v", {(0, 0), (1, 0)}, {(0, 0), (1, 0), (1, 1)})
    records = [
        record(["A", "b", "c", "d"], ["W", "x", "y"], [0, 0, 2]),
        record(["e", "f"], ["u", "v"], [1, 1]),
        record(["e", "f", "g"], ["u", "v"], [1, 1]),  # cut otherwise
    ]
    found = aligner.link_counts(records, [known, other, other])
    # Links a-w, a-x, c-y; moved by one: b-w, b-x, d-y. Words with one link: all three.
    assert found[0].tolist() == [1, 1, 3, 3, 2, 2, 2, 1, 0, 3]
    # f-u, f-v, which can't be moved; u has two links and v has none.
    assert found[1].tolist() == [1, 2, 2, 2, 1, 2, 0, 0, 0, 0]
    assert not found[2].any()


def test_places_are_those_of_words_as_pieces_are_merged():
    pieces = ["▁A", "▁do", "g", ",", "▁an", "▁old", "-", "time", "▁House", "."]
    merged = Translation("", 0.0, pieces, ["▁x"], np.ones((10, 1))).merge_words()
    text = "A dog, an old-time House."
    assert [word.lower() for word in merged.tokens] == aligner.words(text)
