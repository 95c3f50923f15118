import pytest

from tools.bench import corpora

pytestmark = pytest.mark.backend_free


def test_pairs_are_written_with_a_few_empty_ones(tmp_path, monkeypatch):
    monkeypatch.setattr(corpora, "_AT_ONCE", 300)
    paths = corpora.write_pairs(tmp_path, 1000)
    sides = [path.read_text("utf-8").split("\n")[:-1] for path in paths]
    assert [len(side) for side in sides] == [1000, 1000]
    lengths = [[len(line.split()) for line in side] for side in sides]
    assert lengths[0] == lengths[1] and max(lengths[0]) <= 60
    assert 1 <= lengths[0].count(0) <= 30


def test_a_row_of_the_table():
    first = {
        "seconds": dict(zip(corpora.PHASES, [1, 2, 3, 4, 5], strict=True)),
        "peak": 1234.5,
        "private": 99,
    }
    again = {
        "seconds": {"read": 0.1, "tokenise": 0.2, "batches": 0.3, "epoch": 9},
        "peak": 500,
        "private": 50,
    }
    row = corpora.row(1000, first, again)
    assert row[:7] == ["1,000", "1.0", "2.0", "3.0", "4.0", "5.0", "0.6"]
    assert row[7:] == ["1,234", "99", "500", "50"] and len(row) == len(corpora.HEADS)
