import pytest

from tests.presets_for_tests import opinionated
from zoo.data import reversal_pairs


@pytest.fixture(scope="session")
def sentences():
    """30 sentences of 1 to 3 invented words, and the same in reverse."""
    return reversal_pairs(30, seed=9, longest=3)


@pytest.fixture(scope="module")
def translator(sentences):
    return opinionated([*sentences[0], *sentences[1]], 30, window=2, dropout=0.1)
