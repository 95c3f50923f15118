import pytest

from tools.site.docstrings import convert

pytestmark = pytest.mark.backend_free


def test_a_code_span_gets_two_backticks_and_the_rest_is_escaped():
    (line, _) = convert(["`s*` times h* and |x| of W_, not h_t: `f`s."])
    assert line == r"``s*`` times h\* and \|x\| of W\_, not h_t: ``f``\ s."


def test_a_code_span_may_go_over_a_line():
    assert convert(["one `a", "b` two"]) == ["one ``a", "b`` two", ""]


def test_an_indented_block_is_literal_with_its_blank_lines():
    given = ["Equations:", "", "    h* = `a`", "", "      b", "", "Then `c`."]
    assert convert(given) == [
        *("Equations:", "", "::", "", "    h* = `a`", "", "      b", ""),
        *("Then ``c``.", ""),
    ]


def test_an_argument_after_a_blank_line_is_no_literal():
    given = ["Args:", "    a: one.", "", "    b: two."]
    assert convert(given) == ["Args:", "    a: one.", "", "    b: two.", ""]


def test_a_fence_becomes_a_code_block():
    given = ["Example:", "    ```python", "    a = `b`", "", "    c", "    ```", "End."]
    assert convert(given) == [
        *("Example:", "", "    .. code-block:: python", ""),
        *("       a = `b`", "", "       c", "", "End.", ""),
    ]


def test_an_example_is_kept_as_it_is():
    given = ["Example:", "    >>> f(`a`, *b)", "    |c|"]
    assert convert(given) == ["Example:", "", *given[1:], ""]


def test_list_items_stand_apart():
    assert convert(["Kinds:", "- `a`;", "  more", "- b."]) == [
        *("Kinds:", "", "- ``a``;", "  more", "", "- b.", "")
    ]


def test_returns_becomes_a_field_so_that_no_type_is_read_into_it():
    given = ["Returns:", "    Weights: `(B, S)`."]
    assert convert(given) == [":returns:", "    Weights: ``(B, S)``.", ""]
