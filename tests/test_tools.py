import os
import shutil
import subprocess
import types

import keras
import numpy as np
import pytest

from tests.conftest import pytest_ignore_collect
from tools import ROOT, run_tests

pytestmark = pytest.mark.backend_free


# === run_tests ===

SUITE = """
import os, pytest

def test_passes(): pass
def test_backend(): assert os.environ["KERAS_BACKEND"] == "jax"
def test_skips(): pytest.skip("a reason")

@pytest.fixture
def broken():
    yield
    raise OSError
def test_fails_twice(broken): assert False
"""


def test_run_tests_counts_and_fails(tmp_path, capfd):
    suite = tmp_path / "test_suite.py"
    suite.write_text(SUITE)
    backends = ["--backend", "jax", "--backend", "torch"]
    code = run_tests.main([*backends, str(suite)])
    lines = capfd.readouterr().out.splitlines()
    assert code == 1
    assert lines[-1] == "3 passed, 3 failed, 2 skipped"
    assert "The slowest 8 of 8 tests" in lines
    assert [line.split()[:4] for line in lines[-3:-1]] == [
        ["jax", "2", "1", "1"],
        ["torch", "1", "2", "1"],
    ]


ALONE = ("--numprocesses=0", "--dist=no")  # two more processes would take a while


@pytest.mark.parametrize(
    "source, code, last",
    [
        ("def test_passes(): pass", 0, "1 passed, 0 failed, 0 skipped"),
        ("", 1, "0 passed, 0 failed, 0 skipped"),
        ("import nothing_of_this_name", 1, "0 passed, 1 failed, 0 skipped"),
        (
            "import os\ndef test_crash(): os._exit(3)",
            1,
            "0 passed, 1 failed, 0 skipped",
        ),
    ],
)
def test_run_tests_exit_code(tmp_path, capfd, source, code, last):
    suite = tmp_path / "test_suite.py"
    suite.write_text(source)
    assert run_tests.main(["--backend", "jax", str(suite), *ALONE]) == code
    assert capfd.readouterr().out.splitlines()[-1] == last


def test_run_tests_leaves_the_data_folder_to_its_caller(tmp_path, monkeypatch):
    suite = tmp_path / "test_suite.py"
    suite.write_text("import os\ndef test(): assert 'ZOO_DATA_DIR' not in os.environ")
    monkeypatch.delenv("ZOO_DATA_DIR", raising=False)
    assert run_tests.main(["--backend", "jax", str(suite), *ALONE]) == 0


MARKED = """
import os, pytest

def test_contract(): assert ("ZOO_QUICK_TESTS" in os.environ) == QUICK

@pytest.mark.once
def test_variant(): pass

@pytest.mark.backend_free
def test_data(): pass

@pytest.mark.long
def test_whole_recipe(): pass
"""


@pytest.mark.parametrize(
    ("options", "passed"), [([], (3, 1)), (["--all"], (4, 3))], ids=["", "all"]
)
def test_run_tests_chooses_by_markers(tmp_path, monkeypatch, capfd, options, passed):
    monkeypatch.delenv("ZOO_QUICK_TESTS", raising=False)
    suite = tmp_path / "test_suite.py"
    suite.write_text(MARKED.replace("QUICK\n", f"{not options}\n"))
    backends = ["--backend", "jax", "--backend", "torch"]
    assert run_tests.main([*backends, *options, str(suite), *ALONE]) == 0
    lines = capfd.readouterr().out.splitlines()[-3:-1]
    counts = {line.split()[0]: int(line.split()[1]) for line in lines}
    assert (counts["torch"], counts["jax"]) == passed


def test_run_tests_begins_anew_for_each_part_of_the_whole_suite(
    tmp_path, monkeypatch, capfd
):
    monkeypatch.setattr(run_tests, "ROOT", tmp_path)
    for name in ("models", "recipes", "text"):
        folder = tmp_path / "tests" / name
        folder.mkdir(parents=True)
        source = f"import os\ndef test(): open('{name}', 'w').write(str(os.getpid()))"
        (folder / f"test_{name}.py").write_text(source)
    assert run_tests.main(["--all", "--backend", "jax", *ALONE]) == 0
    assert capfd.readouterr().out.splitlines()[-1] == "3 passed, 0 failed, 0 skipped"
    processes = {
        (tmp_path / name).read_text() for name in ("models", "recipes", "text")
    }
    assert len(processes) == 3
    for arguments in (["tests/models"], ["tests/text/test_text.py::test"]):
        assert run_tests.split(["-m", "", *arguments]) == [[]]
    (tmp_path / "tests/models/test_models.py").write_text("import os; os._exit(3)")
    assert run_tests.main(["--all", "--backend", "jax", *ALONE]) == 1
    assert capfd.readouterr().out.splitlines()[-1] == "2 passed, 1 failed, 0 skipped"


def test_run_tests_tells_where_the_time_goes(tmp_path):
    report = tmp_path / "report.xml"
    report.write_text(
        """<testsuites><testsuite>
        <testcase classname="tests.layers.test_a" name="test[1]" time="1.5"/>
        <testcase classname="tests.layers.test_a" name="test[2]" time="2.0"/>
        <testcase classname="tests.layers.test_a" name="test[2]" time="0.5"/>
        <testcase classname="tests.test_b" name="test" time="4.0"/>
        </testsuite></testsuites>"""
    )
    assert run_tests.durations(tmp_path / "none.xml") == {}
    times = {"jax": run_tests.durations(report), "torch": {}}
    lines = run_tests.slowest(times, 2).splitlines()
    assert lines[1] == "The slowest 2 of 3 tests"
    assert [line.split() for line in lines[2:]] == [
        ["4.0", "s", "jax", "test_b::test"],
        ["2.5", "s", "jax", "layers/test_a::test[2]"],
    ]
    assert [line.split() for line in run_tests.folders(times).splitlines()[1:]] == [
        ["seconds", "of", "jax", "torch"],
        [".", "4", "0"],
        ["layers", "4", "0"],
    ]


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


# === .ci/run ===


@pytest.mark.parametrize(
    "beside, given, expected",
    [
        (True, None, "{root}/project/../shared/data"),
        (True, "/own", "/own"),
        (False, None, "none"),
    ],
)
def test_ci_takes_the_corpora_beside_the_checkout(tmp_path, beside, given, expected):
    (tmp_path / "project" / ".ci").mkdir(parents=True)
    shutil.copy(ROOT / ".ci" / "run", tmp_path / "project" / ".ci")
    if beside:
        (tmp_path / "shared" / "data").mkdir(parents=True)
    make = tmp_path / "bin" / "make"
    make.parent.mkdir()
    make.write_text('#!/bin/sh\necho "$1 ${ZOO_DATA_DIR-none}"\n')
    make.chmod(0o755)
    environment = {**os.environ, "PATH": f"{make.parent}:{os.environ['PATH']}"}
    environment.pop("ZOO_DATA_DIR", None)
    if given:
        environment["ZOO_DATA_DIR"] = given
    output = subprocess.check_output(
        ["bash", str(tmp_path / "project" / ".ci" / "run")], env=environment, text=True
    )
    expected = expected.format(root=tmp_path)
    assert output == f"test {expected}\ndemo {expected}\n"
