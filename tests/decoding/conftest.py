import keras
import pytest

from zoo.models import Luong, LuongPreprocessor, LuongTranslator
from zoo.text import Tokenizer, train_tokenizer

WORDS = "a dog cat runs sleeps ein hund die katze rennt".split()


@pytest.fixture(scope="session")
def texts():
    """Eight sentences of one to three words, in two length buckets."""
    return [" ".join((WORDS * 2)[i : i + 1 + i % 3]) for i in range(8)]


@pytest.fixture(scope="module")
def translator(texts):
    """An untrained model whose weights are large enough for it to have opinions."""
    keras.utils.set_random_seed(5)
    tokenizer = Tokenizer(proto=train_tokenizer(texts, vocabulary_size=26))
    backbone = Luong(
        vocabulary_size=26,
        num_layers=1,
        hidden_dim=8,
        embedding_dim=6,
        window=2,
        dropout=0.0,
        initializer_range=1.0,
    )
    return LuongTranslator(backbone, LuongPreprocessor(tokenizer))
