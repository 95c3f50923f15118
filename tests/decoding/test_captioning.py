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


def test_json_has_a_member_for_each_attribute():
    assert json.loads(caption().to_json()) == {
        "text": "ring",
        "score": -0.75,
        "tokens": ["▁ri", "ng"],
        "image": [
            [
                [15 * row + 3 * column + channel for channel in range(3)]
                for column in range(5)
            ]
            for row in range(2)
        ],
        "alignment": [[[0.5, 0.25, 0.25]], [[0.0, 0.5, 0.5]]],
        "log_probs": [-0.25, -0.25, -0.25],
    }


@pytest.mark.parametrize("changes", [{}, {"log_probs": None}])
def test_a_caption_comes_back_from_json(changes):
    record = caption(**changes)
    read = Caption.from_json(record.to_json())
    assert (read.text, read.score, read.tokens) == ("ring", -0.75, ["▁ri", "ng"])
    for name in ("image", "alignment", "log_probs"):
        np.testing.assert_array_equal(getattr(read, name), getattr(record, name))
    assert read.image.dtype == "uint8"
    assert read.merge_words().alignment.tolist() == [[[0.25, 0.375, 0.375]]]


def test_an_empty_caption_comes_back():
    empty = caption(text="", tokens=[], alignment=np.zeros((0, 2, 2)), log_probs=None)
    read = Caption.from_json(empty.to_json())
    assert read.tokens == [] and len(read.alignment) == 0 and read.log_probs is None
    assert read.image.shape == (2, 5, 3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"image": [[1, 2], [3, 4]]}, r"`image` of the shape \(any, any, any\)"),
        ({"image": [[[]]]}, "`image` of the shape"),
        ({"image": None}, "`image` of the shape .* finite numbers"),
        ({"image": [[[0.5]]]}, "bytes, 0 to 255"),
        ({"image": [[[0, 256]]]}, "bytes, 0 to 255"),
        ({"alignment": [[0.5, 0.5]] * 2}, r"the shape \(2, any, any\)"),
        ({"alignment": [[[0.5]]]}, r"the shape \(2, any, any\)"),
        ({"alignment": [[[-0.5]]] * 2}, "a caption's record .* without negative"),
        ({"log_probs": [0.0]}, r"`log_probs` of the shape \(3,\)"),
        ({"tokens": [1, 2]}, "`tokens`, a list of strings"),
        ({"source_tokens": []}, r"Received: \['source_tokens'\]"),
    ],
)
def test_other_json_is_refused(change, message):
    values = json.loads(caption().to_json()) | change
    with pytest.raises(ValueError, match=message):
        Caption.from_json(json.dumps(values))
