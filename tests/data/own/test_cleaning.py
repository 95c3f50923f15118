import pytest

from zoo.data.own import as_pairs
from zoo.data.own.cleaning import Findings, clean
from zoo.data.own.own_pairs import EMPTY, LONG, UNLIKE

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
    part, findings = as_pairs([(source, target)] * 2), Findings()
    kept = list(clean(part, findings=findings))
    if reason is None:
        assert kept == [(source.strip(), target.strip())] * 2
        assert not findings.lost and list(findings) == []
        return
    assert kept == [] and findings.lost == 2
    (line,) = findings
    assert line == f"left out 2 {reason} (the first: pair 0 of the data)"
    assert len(list(clean(part, keep_all=True))) == (0 if reason == EMPTY else 2)
