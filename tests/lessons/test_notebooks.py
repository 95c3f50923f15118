"""The lessons are notebooks, have three exercises each, and run as they stand."""

import re
from pathlib import Path

import pytest

from zoo.lessons import EXERCISES

FOLDER = Path(__file__).resolve().parent.parent.parent / "docs" / "lessons"
LESSONS = sorted(FOLDER.glob("[0-9]*.md"))
HEAD = """\
---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
    format_version: 0.13
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---
"""
CELL = re.compile(r"^```\{code-cell\} ipython3\n(.*?)^```$", re.DOTALL | re.MULTILINE)
EMPTY = re.compile(r"lessons\.check\(\"([a-z0-9_.]+)\", (\w+)\)")


def cells(path):
    """The code cells of a lesson, with their tags."""
    for text in CELL.findall(path.read_text("utf-8")):
        tags, code = re.match(
            r"(?::tags: \[(.*?)\]\n\n?)?(.*)", text, re.DOTALL
        ).groups()
        yield tags, code


by_name = pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)


@pytest.mark.backend_free
def test_there_are_lessons():
    numbers = [int(path.stem[:2]) for path in LESSONS]
    assert numbers == list(range(1, len(LESSONS) + 1)) and numbers


@pytest.mark.backend_free
def test_a_lesson_asks_every_exercise():
    text = "".join(path.read_text("utf-8") for path in LESSONS)
    assert set(re.findall(r"lessons\.question\(\"(.*?)\"", text)) == set(EXERCISES)


@pytest.mark.backend_free
@by_name
def test_the_form_of_a_notebook(path):
    text = path.read_text("utf-8")
    assert text.startswith(HEAD)
    assert text.count("```") == 2 * text.count("```{code-cell} ipython3\n")
    number = int(path.stem[:2])
    # It opens with its drawing and asks a question.
    _, _, rest = text.partition(f"\n# {number}. ")
    assert re.match(r"[^\n]+\n\n!\[[^\]]+\]\([^)]+\.svg\)\n\n", rest)
    assert re.search(r"\*\*[^*]+\*\*[^?]*\?|\?\*\*", rest.partition("\n## ")[0])
    assert "\n**Remember**: " in text and "xperiment" in text
    assert {tags for tags, _ in cells(path)} >= {None, "remove-cell", "hide-cell"}


@pytest.mark.backend_free
@by_name
def test_three_exercises_and_their_answers(path):
    plain = "".join(code for tags, code in cells(path) if tags is None)
    [answers] = [code for tags, code in cells(path) if tags == "hide-cell"]
    names = [name for name, _ in EMPTY.findall(plain)]
    assert len(names) == (0 if path.stem == "14_is_it_true" else 3)  # experiments
    assert set(names) <= set(EXERCISES)
    assert re.findall(r"lessons\.answer\(\"(.*?)\"", answers) == names


@pytest.mark.long
@by_name
def test_a_lesson_runs(path, monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.chdir(tmp_path)
    scope = {"__name__": "__main__"}
    for number, (_, code) in enumerate(cells(path), 1):
        exec(compile(code, f"{path.name}, cell {number}", "exec"), scope)
    printed = capsys.readouterr().out
    asked = path.read_text("utf-8").count("lessons.question(")
    assert printed.count("Fill in the blank") == asked
    from matplotlib import pyplot

    pyplot.close("all")
