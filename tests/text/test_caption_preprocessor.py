import numpy as np
import pytest

from tests.harness import same_config
from zoo.text import CaptionPreprocessor, Tokenizer, train_tokenizer

pytestmark = pytest.mark.once
TEXTS = ["a red ring", "a star"]
SHAPE = (5, 7, 3)
IMAGES = np.random.default_rng(2).integers(0, 256, (2, *SHAPE)).astype("uint8")


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer(train_tokenizer(TEXTS, 8, model_type="word"))


def test_arrays_for_fit(tokenizer):
    x, y, weights = CaptionPreprocessor(tokenizer, SHAPE, 6)(
        {"image": IMAGES / 255.0, "caption": TEXTS}
    )
    assert (x["images"] == IMAGES).all() and x["images"].dtype == np.uint8
    rows = tokenizer.tokenize(TEXTS)
    assert x["target_ids"].tolist() == [[2, *rows[0], 0, 0], [2, *rows[1], 0, 0, 0]]
    assert y.tolist() == [[*rows[0], 3, 0, 0], [*rows[1], 3, 0, 0, 0]]
    assert weights.tolist() == [[1, 1, 1, 1, 0, 0], [1, 1, 1, 0, 0, 0]]


def test_one_image_has_no_batch_axis(tokenizer):
    preprocessor = CaptionPreprocessor(tokenizer, SHAPE, 6)
    x, y, _ = preprocessor({"image": IMAGES[0], "caption": TEXTS[0]})
    assert x["images"].shape == SHAPE and y.shape == (6,)
    assert preprocessor.decode([y]) == TEXTS[:1]


def test_long_captions_are_cut(tokenizer):
    preprocessor = CaptionPreprocessor(tokenizer, SHAPE, 3)
    with pytest.warns(UserWarning, match="more than 2 pieces and were cut"):
        _, y, _ = preprocessor({"image": IMAGES, "caption": TEXTS})
    assert y.shape == (2, 3)


def test_config(tokenizer):
    config = CaptionPreprocessor(tokenizer, SHAPE, 9).get_config()
    assert config["image_shape"] == list(SHAPE) and config["target_length"] == 9
    again = same_config(CaptionPreprocessor(tokenizer, SHAPE, 9))
    assert again.image_shape == SHAPE


def test_bad_arguments(tokenizer):
    with pytest.raises(TypeError, match="must be a zoo.text.Tokenizer"):
        CaptionPreprocessor("words", SHAPE)
    with pytest.raises(ValueError, match="must be .height, width, channels"):
        CaptionPreprocessor(tokenizer, (5, 7))
    with pytest.raises(ValueError, match="`image_shape` must be"):
        CaptionPreprocessor(tokenizer, (5, -7, 3))
    preprocessor = CaptionPreprocessor(tokenizer, SHAPE)
    with pytest.raises(ValueError, match='keys "image" and "caption"'):
        preprocessor({"image": IMAGES})
    with pytest.raises(ValueError, match="equally many. Received: 2 and 1"):
        preprocessor({"image": IMAGES, "caption": TEXTS[:1]})
