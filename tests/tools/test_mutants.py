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
    ("3", "4"),
    ("x < 2 and (not mask)", "x < 2 or not mask"),
    ("x < 2", "x <= 2"),
    ("2", "3"),
    ("not mask", "not not mask"),
    ("g(x, mask=mask) if x else -1.5", "-1.5 if x else g(x, mask=mask)"),
    ("g(x, mask=mask)", "g(x, mask=None)"),
    ("-1.5", "--1.5"),
    ("1.5", "3.0"),
    ("ops.subtract(ä, 1)", "ops.subtract(1, ä)"),
    ("1", "2"),
    ("True", "False"),
}
FILES = {
    "zoo/layers/a.py": "def f(x):\n    return x + 1\n\n\nlimit = 7\n",
    "zoo/layers/b.py": "",
    "tests/layers/test_a.py": "from zoo.layers.a import f\n\n\n"
    "def test_f():\n    assert f(2) == 3\n",
    "tests/layers/test_everyday.py": "def test():\n    pass\n",
    "tests/test_refusals.py": "",
}


def test_faults_stand_where_something_is_computed(tmp_path):
    path = tmp_path / "file.py"
    path.write_text(SOURCE)
    found = mutants.mutants(tmp_path, path)
    assert {(mutant.old, mutant.new) for mutant in found} == FAULTS
    for mutant in found:
        text = mutants.mutate(SOURCE, mutant.number)
        assert ast.unparse(ast.parse(SOURCE)) != text and mutant.new in text


@pytest.fixture
def project(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_what_is_caught_and_what_survives(project, tmp_path, capsys):
    path, record = project / "zoo" / "layers" / "a.py", tmp_path / "record.jsonl"
    made = mutants.mutants(project, path)
    found = mutants.try_all(project, made, record)
    fates = {mutant.old: caught for mutant, caught in found.items()}
    assert fates == {"x + 1": True, "1": True, "7": False}
    assert path.read_text() == FILES["zoo/layers/a.py"]
    told = mutants.table(found)
    assert told.startswith("layers: 2 of 3\nall: 2 of 3\n")
    assert told.endswith("SURVIVED zoo/layers/a.py:5 7 -> 8")
    capsys.readouterr()
    assert mutants.try_all(project, made, record) == found  # all of them are known
    assert capsys.readouterr().err == ""


def test_without_a_mirror_the_folder_counts(project):
    files = ("layers/test_a.py", "layers/test_everyday.py", "test_refusals.py")
    for file in ("zoo/layers/a.py", "zoo/layers/b.py"):
        tests = mutants.tests_of(project, file)
        assert tests == tuple(f"tests/{file}" for file in files)


def test_as_many_are_drawn_from_each_part():
    drawn = mutants.draw(mutants.ROOT, 12, seed=1)
    assert drawn == mutants.draw(mutants.ROOT, 12, seed=1)
    folders = "layers models decoding text presets training".split()
    names = [mutant.file.split("/")[1] for mutant in drawn]
    assert names == [folder for folder in folders for _ in range(2)]
