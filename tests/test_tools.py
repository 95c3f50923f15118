import types

import keras
import numpy as np
import pytest

from tests.conftest import pytest_ignore_collect
from tools import run_tests

pytestmark = pytest.mark.backend_free


# === run_tests ===

SUITE = """
import os, pytest

def test_contract():
    assert "ZOO_QUICK_TESTS" in os.environ and "ZOO_DATA_DIR" not in os.environ

def test_backend(): assert os.environ["KERAS_BACKEND"] == "jax"
def test_skips(): pytest.skip("a reason")

@pytest.fixture
def broken():
    yield
    raise OSError
def test_fails_twice(broken): assert False

@pytest.mark.once
def test_variant(): pass

@pytest.mark.backend_free
def test_data(): pass

@pytest.mark.long
def test_whole_recipe(): pass
"""


def test_run_tests_counts_what_its_markers_choose(tmp_path, monkeypatch, capfd):
    for name in ("ZOO_QUICK_TESTS", "ZOO_DATA_DIR"):
        monkeypatch.delenv(name, raising=False)
    suite = tmp_path / "test_suite.py"
    suite.write_text(SUITE)
    alone = ("--numprocesses=0", "--dist=no")  # more processes would take a while
    backends = ["--backend", "jax", "--backend", "torch"]
    assert run_tests.main([*backends, str(suite), *alone]) == 1
    lines = capfd.readouterr().out.splitlines()
    assert sum("slowest" in line for line in lines) == 2
    assert lines[-1] == "5 passed, 3 failed, 2 skipped"
    assert [line.split()[:4] for line in lines[-3:-1]] == [
        ["jax", "2", "1", "1"],
        ["torch", "3", "2", "1"],
    ]


@pytest.mark.parametrize(
    ("first", "all_of_them", "expression"),
    [
        (True, False, "not long"),
        (False, False, "not long and not backend_free and not once"),
        (True, True, ""),
        (False, True, "not backend_free"),
    ],
)
def test_run_tests_chooses_by_markers(first, all_of_them, expression):
    assert run_tests.selection(first, all_of_them) == expression


@pytest.fixture
def commands(tmp_path, monkeypatch):
    """pytest's commands, which end at once, without a report; and a suite of three
    folders."""
    commands = types.SimpleNamespace(given=[])

    def call(command, cwd, env):
        commands.given.append((command, env.get("ZOO_QUICK_TESTS")))
        return 5

    monkeypatch.delenv("ZOO_QUICK_TESTS", raising=False)
    monkeypatch.setattr(run_tests.subprocess, "call", call)
    monkeypatch.setattr(run_tests, "ROOT", tmp_path)
    for name in ("models", "recipes", "text"):
        (tmp_path / "tests" / name).mkdir(parents=True)
    return commands


def test_run_tests_begins_anew_for_each_part_of_the_whole_suite(commands):
    run_tests.main(["--all", "--backend", "jax"])
    ignored = ["--ignore=tests/recipes", "--ignore=tests/models"]
    parts = [["tests/recipes"], ["tests/models"], ["tests", *ignored]]
    for (given, quick), part in zip(commands.given, parts, strict=True):
        assert given[-len(part) :] == part and quick is None
    for arguments in (["tests/text"], ["tests/text/test_text.py::test"]):
        (run_tests.ROOT / "tests/text/test_text.py").touch()
        assert run_tests.split(["-m", "", *arguments]) == [[]]


@pytest.mark.parametrize(
    "compute",
    [
        lambda: keras.ops.softmax(np.ones(2)),
        lambda: keras.random.normal((2,)),
        lambda: keras.Variable(np.ones(2)),
        lambda: keras.layers.Flatten()(np.ones((1, 2))),
    ],
)
def test_what_is_backend_free_computes_nothing(compute):
    """As all is in this file."""
    with pytest.raises(pytest.fail.Exception, match="marked `backend_free`"):
        compute()


@pytest.mark.parametrize(
    "expression, kept",
    [
        ("", ["long", "once", "both", "none"]),
        ("not long", ["once", "both", "none"]),
        ("not long and not once", ["none"]),
        ("not long or once", ["long", "once", "both", "none"]),
        ("once", ["long", "once", "both", "none"]),
    ],
)
def test_files_that_marks_leave_out_are_not_imported(tmp_path, expression, kept):
    lines = {
        "long": "pytestmark = pytest.mark.long",
        "once": "pytestmark = pytest.mark.once  # why",
        "both": "pytestmark = [pytest.mark.once, pytest.mark.usefixtures('long')]",
        "none": "mark = pytest.mark.long\n# pytestmark = pytest.mark.once",
    }
    config = types.SimpleNamespace(getoption={"markexpr": expression}.get)
    for name, line in lines.items():
        (tmp_path / f"{name}.py").write_text(line)
    paths = {name: tmp_path / f"{name}.py" for name in lines}
    assert kept == [n for n, p in paths.items() if not pytest_ignore_collect(p, config)]
    assert not pytest_ignore_collect(tmp_path, config)
