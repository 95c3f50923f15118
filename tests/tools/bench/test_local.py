import pytest

from tools.bench import local

pytestmark = pytest.mark.once


def test_words_of_each_length_are_timed(capsys, tmp_path):
    plot = tmp_path / "local.svg"
    arguments = ["--lengths", "3,30", "--runs", "1", "--plot", str(plot)]
    local.main(arguments)
    rows = capsys.readouterr().out.splitlines()[-3:]
    assert [row.split(" | ")[0] for row in rows] == [
        "| global",
        "| local-m",
        "| local-p",
    ]
    assert all(float(cell) > 0 for row in rows for cell in row.split(" | ")[1:2])
    assert plot.read_text("utf-8").startswith("<?xml")
