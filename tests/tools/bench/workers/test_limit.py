import pytest

from tools.bench.workers import limit

pytestmark = pytest.mark.backend_free


def test_operations_are_those_of_the_model_s_matrices():
    # Each weight matrix takes part once a position: 2 operations, 3 passes.
    encoder = 2 * (256 * 512 + 128 * 512) + 256 * 256
    decoder = 256 * 1024 + 512 * 1024 + 512 * 256 + 256 * 6000
    scores = 2 * 256 * 12  # with the annotations, and of them
    expected = 6 * (12 * encoder + 14 * (decoder + scores)) * 64
    assert limit.training_operations(64, 12, 14) == expected
    assert limit.limit(expected, 64, 12, 14) == 64 * 14


def test_large_products_count_two_operations_each():
    products = {name: rest for name, *rest in limit.products(2, 3, 5, 7, 11, 13 * 2)}
    assert products["vocabulary"] == [1, 10, 26, 7]
    assert products["decoder, recurrent"] == [5, 2, 52, 104]
