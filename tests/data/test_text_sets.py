import pytest

from zoo.data import Pairs
from zoo.data.text_sets import direction_name

pytestmark = pytest.mark.backend_free


def test_pairs_are_a_frozen_sequence_of_two_texts():
    pairs = Pairs("mine", "train", "en", "de", ["a", "b"], ["x", "y"])
    assert len(pairs) == 2 and list(pairs) == [("a", "x"), ("b", "y")]
    assert pairs.references == [["x"], ["y"]]
    assert repr(pairs) == "Pairs(mine train, en-de, 2 pairs)"
    with pytest.raises(AttributeError):
        pairs.sources = []
    with pytest.raises(ValueError, match="received 2, 1 and 1"):
        Pairs("mine", "train", "en", "de", ["a", "b"], ["x"])


def test_a_direction_in_words():
    pytest.importorskip("babel")
    assert direction_name("mul", "en") == direction_name("de", "und") == ""
    assert direction_name("tlh", "xx") == "Klingon to xx"
    assert direction_name("pt-BR", "ja") == "Brazilian Portuguese to Japanese"
