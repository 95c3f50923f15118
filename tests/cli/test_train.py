import json
from pathlib import Path

import pytest

from zoo.cli import main
from zoo.files import sha256
from zoo.training.recipe import recipes

pytestmark = pytest.mark.backend_free

ROOT = Path(__file__).resolve().parents[2]

RECIPE = """
class RECIPE:
    def main(argv):
        print("recipe", argv)
        if "--stop" in argv:
            raise SystemExit("no data")
        return 3 if "--fail" in argv else 0
"""


@pytest.fixture
def mine(tmp_path):
    (tmp_path / "mine.py").write_text(RECIPE)
    return str(tmp_path / "mine.py")


def test_train_runs_a_file_with_the_other_arguments(mine, capsys):
    assert main(["train", mine, "--scale", "tiny", "--help"]) == 0
    assert capsys.readouterr().out == "recipe ['--scale', 'tiny', '--help']\n"
    assert main(["train", mine, "--fail"]) == 3
    assert main(["train", mine, "--stop"]) == 1
    assert capsys.readouterr().err == "zoo: error: no data\n"


@pytest.mark.parametrize("name", ["no_such_recipe", "nowhere/mine.py", "../setup"])
def test_train_unknown_recipe(name, capsys):
    assert main(["train", name]) == 2
    assert name in capsys.readouterr().err


def test_train_refuses_a_file_without_a_recipe(tmp_path, capsys):
    (tmp_path / "mine.py").write_text("x = 1")
    assert main(["train", str(tmp_path / "mine.py")]) == 2
    assert "defines RECIPE" in capsys.readouterr().err


def test_train_lists_the_recipes(capsys):
    assert main(["train", "--list"]) == 0
    names = capsys.readouterr().out.split()
    assert names == sorted(recipes()) and "luong_local" in names
    assert all((ROOT / "recipes" / f"{name}.py").is_file() for name in names)
    for arguments in ([], ["--scale", "tiny"], ["--list", "more"]):
        assert main(["train", *arguments]) == 2
        assert ", ".join(names) in capsys.readouterr().err
    assert main(["train", "--help"]) == 0
    assert "--resume DIR" in capsys.readouterr().out


def write_run(folder, file, name="mine", sha256="0"):
    told = {"recipe": {"name": name, "file": str(file), "sha256": sha256}}
    told |= {"arguments": {}, "set": [], "hyper_parameters": {}, "backend": "jax"}
    (folder / "config.json").write_text(json.dumps(told))


def test_train_runs_no_code_that_a_folder_names(mine, tmp_path, capsys):
    Path(mine).write_text(f"{RECIPE}\nopen({str(tmp_path / 'ran')!r}, 'w')")
    write_run(tmp_path, mine, sha256=sha256(mine))
    resume = ["--resume", str(tmp_path)]
    assert main(["train", *resume]) == 2
    assert f"zoo train FILE.py --resume {tmp_path}" in capsys.readouterr().err
    # Whatever stands beside it, a name of the zoo's is the zoo's recipe.
    write_run(tmp_path, mine, "luong_local", sha256(mine))
    assert main(["train", *resume, "--help"]) == 0
    assert "usage: luong_local" in capsys.readouterr().out
    assert not (tmp_path / "ran").exists()
    assert main(["train", mine, *resume, "--epochs", "3"]) == 0
    assert capsys.readouterr().out == f"recipe {[*resume, '--epochs', '3']}\n"


def test_train_resume_refuses_what_is_no_run(tmp_path, capsys):
    assert main(["train", "--resume", str(tmp_path)]) == 2
    assert "not the folder of a run" in capsys.readouterr().err
    (tmp_path / "config.json").write_text("{")
    assert main(["train", "--resume", str(tmp_path)]) == 2
    assert "config.json is damaged" in capsys.readouterr().err
    assert main(["train", "--resume"]) == 2
