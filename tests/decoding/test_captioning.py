"""`Caption` records; tests/tasks/test_captioner.py has the methods that make them."""

import json

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


# === JSON ===


def caption(**changes):
    values = {
        "text": "ring",
        "score": np.float32(-0.75),
        "tokens": ["▁ri", "ng"],
        "image": np.arange(30, dtype="uint8").reshape(2, 5, 3),
        "alignment": np.array([[[0.5, 0.25, 0.25]], [[0.0, 0.5, 0.5]]], "float32"),
        "log_probs": np.array([-0.25, -0.25, -0.25], "float32"),
    }
    return Caption(**{**values, **changes})


@pytest.mark.parametrize("changes", [{}, {"log_probs": None}])
def test_a_caption_comes_back_from_json(changes):
    record = caption(**changes)
    read = Caption.from_json(record.to_json())
    assert (read.text, read.score, read.tokens) == ("ring", -0.75, ["▁ri", "ng"])
    for name in ("image", "alignment", "log_probs"):
        np.testing.assert_array_equal(getattr(read, name), getattr(record, name))
    assert read.image.dtype == "uint8"
    assert read.merge_words().alignment.tolist() == [[[0.25, 0.375, 0.375]]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"image": [[1, 2], [3, 4]]}, r"`image` of the shape \(any, any, any\)"),
        ({"image": [[[0, 256]]]}, "bytes, 0 to 255"),
        ({"alignment": [[[0.5]]]}, r"the shape \(2, any, any\)"),
        ({"source_tokens": []}, r"Received: \['source_tokens'\]"),
    ],
)
def test_other_json_is_refused(change, message):
    values = json.loads(caption().to_json()) | change
    with pytest.raises(ValueError, match=message):
        Caption.from_json(json.dumps(values))
