import pytest

from zoo.text import SentimentPreprocessor, WordTokenizer

pytestmark = pytest.mark.once

TOKENIZER = WordTokenizer(["a", "good", "film"])


def test_arrays():
    preprocessor = SentimentPreprocessor(TOKENIZER, sequence_length=3)
    x, y = preprocessor(["a film", ""], y=[1, 0])
    assert x["token_ids"].tolist() == [[4, 6, 0], [0, 0, 0]] and y == [1, 0]
    assert preprocessor("good")["token_ids"].tolist() == [5, 0, 0]


def test_bad_arguments():
    with pytest.raises(TypeError, match="WordTokenizer. Received: str"):
        SentimentPreprocessor("words")
