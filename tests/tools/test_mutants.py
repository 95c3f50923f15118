"""tools/mutants.py makes faults that are faults, and tells which tests see them."""

import ast

import pytest

from tools import mutants

pytestmark = pytest.mark.backend_free

SOURCE = '''"""Text with 1 < 2."""
def f(x: int = 3, mask=None):
    """More of it: 4 + 5."""
    if x < 2 and not mask:
        raise ValueError(f"{x - 1}")
    ä = g(x, mask=mask) if x else -1.5
    return ops.subtract(ä, 1), True, folder / "name"
'''
FAULTS = {
    ("one off", "3", "4"),
    ("and, or", "x < 2 and not mask", "(x < 2 or not mask)"),
    ("comparison", "x < 2", "(x <= 2)"),
    ("one off", "2", "3"),
    ("not", "not mask", "(mask)"),
    ("not", "g(x, mask=mask) if x else -1.5", "(-1.5 if x else g(x, mask=mask))"),
    ("mask", "g(x, mask=mask)", "g(x, mask=None)"),
    ("sign", "-1.5", "1.5"),
    ("constant", "1.5", "3.0"),
    ("operands", "ops.subtract(ä, 1)", "ops.subtract(1, ä)"),
    ("one off", "1", "2"),
    ("constant", "True", "False"),
}


def test_faults_stand_where_something_is_computed():
    found = mutants.mutants_of(SOURCE)
    assert {(x.kind, x.old, x.new) for x in found} == FAULTS
    for mutant in found:
        assert SOURCE[mutant.start : mutant.end] == mutant.old
        ast.parse(SOURCE[: mutant.start] + mutant.new + SOURCE[mutant.end :])


@pytest.fixture
def project(tmp_path):
    for name, text in {
        "zoo/layers/a.py": "def f(x):\n    return x + 1\n\n\nlimit = 7\n",
        "zoo/layers/b.py": "",
        "tests/layers/test_a.py": "from zoo.layers.a import f\n\n\n"
        "def test_f():\n    assert f(2) == 3\n",
        "tests/layers/test_everyday.py": "def test():\n    pass\n",
        "tests/test_refusals.py": "",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_what_is_caught_and_what_survives(project, tmp_path, capsys):
    path = project / "zoo" / "layers" / "a.py"
    whole = path.read_text()
    found, record = {}, tmp_path / "record.jsonl"
    made = mutants.mutants_of(whole, "layers", path, project)
    mutants.try_all(project, made, found, record)
    assert {row["old"]: row["caught"] for row in found.values()} == {
        "x + 1": True,
        "1": True,
        "7": False,
    }
    assert path.read_text() == whole
    assert mutants.read(record) == found
    told = mutants.table(found)
    assert "| layers | 3 | 2 |" in told
    assert "SURVIVED zoo/layers/a.py:5 (one off) 7 -> 8" in told
    capsys.readouterr()
    mutants.try_all(project, made, found, record)  # all of them are known
    assert capsys.readouterr().err == ""


def test_without_a_mirror_the_folder_counts(project):
    tests_of = mutants.tests_of
    files = ("layers/test_a.py", "layers/test_everyday.py", "test_refusals.py")
    all_of_it = [f"tests/{file}" for file in files]
    assert tests_of(project, "zoo/layers/a.py") == all_of_it
    assert tests_of(project, "zoo/layers/b.py") == all_of_it


def test_as_many_are_drawn_from_each_part():
    drawn = mutants.draw(mutants.ROOT, 24, seed=1)
    assert drawn == mutants.draw(mutants.ROOT, 24, seed=1)
    assert drawn != mutants.draw(mutants.ROOT, 24, seed=2)
    assert [x.part for x in drawn] == [part for part in mutants.PARTS for _ in range(4)]
