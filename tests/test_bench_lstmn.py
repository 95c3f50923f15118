import pytest

pytestmark = pytest.mark.once


def test_it_times_both_gradients(tool, capsys, monkeypatch):
    bench = tool("bench_lstmn")
    monkeypatch.setattr(bench, "UNITS", 4)
    monkeypatch.setattr(bench, "SHAPES", ((2, 3, "deep"), (3, 2, None)))
    bench.main(["--runs", "1"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("|")[1].strip() for line in lines[2:]] == [
        "2, 3, deep",
        "3, 2, none",
    ]
    assert all(line.endswith(" x |") for line in lines[2:])
