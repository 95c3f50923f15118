import pytest

from tools.bench.data import choose_words

pytestmark = pytest.mark.backend_free


def test_most_frequent_words_by_count_then_alphabet():
    assert choose_words(["b a b", "c a d"], 3) == ["a", "b", "c"]
    assert choose_words(["b a b", "c a d"], 9) == ["a", "b", "c", "d"]
