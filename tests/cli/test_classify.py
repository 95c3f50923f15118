import pytest

import zoo
from zoo.cli import main

pytestmark = pytest.mark.once

TEXTS = ["a good film", "bad", "a bad good bad film"]


def test_classify_writes_a_class_for_each_line(made, tmp_path, capsys):
    preset = made("classifier")
    expected = zoo.load(preset).classify(TEXTS)
    assert main(["classify", str(preset), *TEXTS]) == 0
    assert capsys.readouterr().out.splitlines() == expected
    (tmp_path / "in").write_text(f"{TEXTS[0]}\n\n{TEXTS[1]}\n")
    assert main(["classify", str(preset), "--input", str(tmp_path / "in")]) == 0
    assert capsys.readouterr().out == f"{expected[0]}\n\n{expected[1]}\n"


@pytest.mark.parametrize("task", ["classify", "translate", "generate"])
def test_a_preset_of_another_task_is_not_loaded(task, capsys):
    assert main([task, "birnn", "a"]) == 2
    message = capsys.readouterr().err
    assert f"birnn cannot {task}; the presets for it are " in message
    assert "loading" not in message
