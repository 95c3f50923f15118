import pytest

import zoo
from zoo.cli import main

pytestmark = pytest.mark.once


def test_tag_writes_a_line_for_each_line(made, tmp_path, capsys):
    preset = str(made("tagger"))
    (tmp_path / "in").write_text("A dog runs\n\nruns\n")
    assert main(["tag", preset, "--input", str(tmp_path / "in")]) == 0
    found = zoo.load(preset).tag(["A dog runs", "runs"])
    first, second = (" ".join(f"{w}/{tag}" for w, tag in row) for row in found)
    captured = capsys.readouterr()
    assert captured.out == f"{first}\n\n{second}\n"
    assert "zoo: 3 lines in " in captured.err
    assert main(["tag", "--preset", preset, "A dog", "runs"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2
