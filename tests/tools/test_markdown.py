import pytest

from tools.markdown import table

pytestmark = pytest.mark.backend_free


def test_numbers_are_aligned_to_the_right():
    heads, rows = ["a", "b", "c"], [["1", "2", "3"]]
    assert table(heads, rows) == "| a | b | c |\n| --- | ---: | ---: |\n| 1 | 2 | 3 |"
    assert table(["a", "b"], [[2.25, None]]).endswith("| 2.2 | – |")
    assert "| --- | --- | ---: |" in table(heads, rows, numbers_from=2)
    assert "| --- | --- | --- |" in table(heads, rows, numbers_from=None)
