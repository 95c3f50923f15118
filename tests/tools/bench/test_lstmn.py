import pytest

from tools.bench import lstmn

pytestmark = pytest.mark.once


def test_it_times_both_gradients(capsys, monkeypatch):
    monkeypatch.setattr(lstmn, "UNITS", 4)
    monkeypatch.setattr(lstmn, "SHAPES", ((2, 3, "deep"), (3, 2, None)))
    lstmn.main(["--runs", "1"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("|")[1].strip() for line in lines[2:]] == [
        "2, 3, deep",
        "3, 2, none",
    ]
    assert all(line.endswith(" x |") for line in lines[2:])
