import pytest

from zoo.data.own.cleaning import EMPTY, LONG, UNLIKE, clean
from zoo.data.own.python import as_pairs

pytestmark = pytest.mark.backend_free


@pytest.mark.parametrize(
    ("source", "target", "reason"),
    [
        ("a", "b", None),
        (" \t", "b", EMPTY),
        ("a", "", EMPTY),
        ("a" * 2000, "b" * 2000, None),
        ("a" * 2001, "b" * 2000, LONG),
        ("a" * 2000, "b" * 2001, LONG),
        ("a" * 2001, "b", LONG),
        ("a", "b" * 39, None),
        ("a", "b" * 40, UNLIKE),
        ("a" * 120, "b" * 10, None),
        ("a" * 121, "b" * 10, UNLIKE),
        ("a" * 39, " b ", None),
    ],
)
def test_each_rule(source, target, reason):
    part, left_out = as_pairs([(source, target)] * 2), {}
    kept = list(clean(part, left_out=left_out))
    if reason is None:
        assert kept == [(source.strip(), target.strip())] * 2 and not left_out
        return
    assert kept == [] and list(left_out) == [reason]
    assert left_out[reason].count == 2
    assert str(left_out[reason]) == f"2 {reason} (the first: pair 0 of the data)"
    assert len(list(clean(part, only_empty=True))) == (0 if reason == EMPTY else 2)
