import keras
import pytest

from tests.decoding.reference import Table
from tests.presets_for_tests import WORDS, opinionated
from zoo.ids import END_ID
from zoo.models import Luong, LuongTranslator


@pytest.fixture(scope="module")
def table():
    return Table()


@pytest.fixture(scope="session")
def texts():
    """Eight sentences of one to three words, in two length buckets."""
    return [" ".join((WORDS * 2)[i : i + 1 + i % 3]) for i in range(8)]


@pytest.fixture(scope="module")
def translator(texts):
    return opinionated(texts, 26, window=2, dropout=0.0)


@pytest.fixture(scope="module")
def terse(translator):
    """The same model, but one that ends its translations early or late: the other one
    goes on to the length limit."""
    backbone = Luong.from_config(translator.backbone.get_config())
    backbone.set_weights(translator.backbone.get_weights())
    kernel = keras.ops.convert_to_numpy(backbone.output_layer.kernel).copy()
    kernel[:, END_ID] *= 3
    backbone.output_layer.kernel.assign(kernel)
    return LuongTranslator(backbone, translator.preprocessor)
