import keras
import pytest

from zoo.data import reversal_pairs
from zoo.models import Luong, LuongPreprocessor, LuongTranslator
from zoo.text import Tokenizer, train_tokenizer


@pytest.fixture(scope="session")
def sentences():
    """30 sentences of 1 to 3 invented words, and the same in reverse."""
    return reversal_pairs(30, seed=9, longest=3)


@pytest.fixture(scope="module")
def translator(sentences):
    """An untrained model whose weights are large enough for it to have opinions."""
    keras.utils.set_random_seed(5)
    proto = train_tokenizer([*sentences[0], *sentences[1]], vocabulary_size=30)
    backbone = Luong(
        vocabulary_size=30,
        num_layers=1,
        hidden_dim=8,
        embedding_dim=6,
        window=2,
        dropout=0.1,
        initializer_range=1.0,
    )
    return LuongTranslator(backbone, LuongPreprocessor(Tokenizer(proto=proto)))
