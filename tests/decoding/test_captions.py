"""`Caption` records; tests/models/test_xu_tasks.py has the methods that make them."""

import numpy as np
import pytest

from zoo.decoding import Caption

pytestmark = pytest.mark.backend_free


def test_words_have_the_mean_attention_of_their_pieces():
    weights = np.array([[[0.5, 0.25, 0.25]], [[0.0, 0.5, 0.5]], [[1.0, 0.0, 0.0]]])
    image = np.zeros((4, 12, 3), "uint8")
    log_probs = np.array([-1.0, -2.0, -0.5, -0.25])
    pieces = ["▁ri", "ng", "▁star"]
    merged = Caption(
        "ring star", -3.75, pieces, image, weights, log_probs
    ).merge_words()
    assert merged.tokens == ["ring", "star"]
    assert merged.alignment.tolist() == [[[0.25, 0.375, 0.375]], [[1.0, 0.0, 0.0]]]
    assert merged.log_probs.tolist() == [-3.0, -0.5, -0.25]
    assert merged.image is image and merged.text == "ring star"


def test_an_empty_caption_stays():
    empty = Caption("", 0.0, [], np.zeros((4, 4, 3), "uint8"), np.zeros((0, 2, 2)))
    merged = empty.merge_words()
    assert merged.tokens == [] and merged.alignment.shape == (0, 2, 2)
