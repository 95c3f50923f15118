import pytest

from tests.translators import VOCABULARY
from zoo.text import Tokenizer, train_tokenizer


@pytest.fixture(scope="module")
def tokenizer():
    """A SentencePiece model of exactly the harness's vocabulary."""
    texts = ["ab ba cd dc", "abc cba dab", "bad cab dad", "da da ab cc bb"] * 5
    return Tokenizer(train_tokenizer(texts, VOCABULARY))
