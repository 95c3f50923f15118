"""Runs the test suite under each backend in turn; prints the slowest tests and totals.

    python tools/run_tests.py [--all] [--backend jax ...] [ARGUMENTS OF PYTEST ...]

Tests that are marked `once` or `backend_free` run under PyTorch alone (or the first
backend given), those marked `long` not at all; with --all only the `backend_free` are
left out under the other backends. docs/testing.md has the reasons. The files of tests
are shared out between one process per core, four at most.

The last line is `N passed, N failed, N skipped` over all backends. The exit code is 1
if anything failed, or if a backend ran no test.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from zoo.backend import usable_cores

ROOT = Path(__file__).resolve().parent.parent
BACKENDS = ("torch", "tensorflow", "jax")
# Most of the time goes into compiling what then runs once. The quick flags take an
# older way to it, in half the time; with --all XLA compiles as it does for users.
XLA_FLAGS = "--xla_backend_optimization_level=0"
QUICK_XLA_FLAGS = (
    "--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"
)
# What TensorFlow has compiled, a process keeps to its end; with --all that is more than
# 20 GB. So these folders have processes of their own then, and the rest of the suite.
GROUPS = (
    ("tests/recipes",),
    ("tests/models", "tests/tasks"),
    ("tests/training",),
    ("tests/layers", "tests/decoding"),
)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backend", action="append", choices=BACKENDS)
    parser.add_argument("--all", action="store_true", help="long tests, too")
    arguments, pytest_arguments = parser.parse_known_args(argv)
    backends = arguments.backend or BACKENDS
    first = "torch" if "torch" in backends else backends[0]
    parts = split(pytest_arguments) if arguments.all else [[]]
    rows = [
        run(
            name,
            ["-m", selection(name == first, arguments.all), *pytest_arguments],
            quick=not arguments.all,
            parts=parts,
        )
        for name in backends
    ]

    print(f"\n{'backend':<12}{'passed':>8}{'failed':>8}{'skipped':>8}{'seconds':>9}")
    for backend, passed, failed, skipped, seconds in rows:
        print(f"{backend:<12}{passed:>8}{failed:>8}{skipped:>8}{seconds:>9.0f}")
    passed, failed, skipped = (sum(row[i] for row in rows) for i in (1, 2, 3))
    print(f"{passed} passed, {failed} failed, {skipped} skipped", flush=True)
    return int(any(failed or not passed for _, passed, failed, *_ in rows))


def selection(first, all_of_them):
    """The expression of markers of the tests that run under a backend; it is "" for
    all.

    Args:
        first: bool, whether it is the one for what runs under one alone.
        all_of_them: bool, as --all.
    """
    out = [] if all_of_them else ["long"]
    if not first:
        out += ["backend_free"] if all_of_them else ["backend_free", "once"]
    return " and ".join(f"not {name}" for name in out)


def split(pytest_arguments):
    """The further arguments of each run of pytest that together are the whole suite; of
    a single run where the arguments name files or folders."""
    names = [argument.split("::")[0] for argument in pytest_arguments]
    if any(name and (ROOT / name).exists() for name in names):
        return [[]]
    groups = [[name for name in group if (ROOT / name).exists()] for group in GROUPS]
    rest = [f"--ignore={name}" for group in groups for name in group]
    return [*filter(None, groups), ["tests", *rest]]


def run(backend, pytest_arguments, quick, parts):
    """Runs pytest, its output shown as it comes.

    Args:
        backend: Keras's.
        pytest_arguments: list of str.
        quick: bool, whether XLA compiles the quick way (a user's XLA_FLAGS replace its
            flags), and checks try their main case alone (`tests.marks.QUICK`).
        parts: list of list of str: further arguments of each run, one after another.

    Returns:
        (backend, passed, failed, skipped, seconds). A run that ends without a report,
        as in a crash of the interpreter, counts as a failure.
    """
    print(f"\n=== {backend} ===", flush=True)
    workers = min(4, usable_cores())
    environment = {
        "OMP_WAIT_POLICY": "PASSIVE",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        # Processes share the cores; threads of theirs would stand in each other's way.
        "OMP_NUM_THREADS": "1",
        "TF_NUM_INTRAOP_THREADS": "1",
        "XLA_FLAGS": f"{XLA_FLAGS} {QUICK_XLA_FLAGS}" if quick else XLA_FLAGS,
        **({"ZOO_QUICK_TESTS": "1"} if quick else {}),
        **os.environ,
        "KERAS_BACKEND": backend,
        # Each file of tests is prepared and compiled once, not in each process.
        "PYTHONDONTWRITEBYTECODE": "",
    }
    began = time.monotonic()
    passed = failed = skipped = 0
    with tempfile.TemporaryDirectory() as folder:
        # Many tests compile what another one, in this process or not, has compiled. (A
        # file that is half written is told of, and compiled anew.)
        environment.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(folder) / "jax"))
        environment.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
        environment.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")
        command = [sys.executable, "-m", "pytest", "-q", "--durations=25"]
        command += [f"--numprocesses={workers}", "--dist=loadfile"]
        command += ["--no-loadscope-reorder"]  # tests/conftest.py has the order
        for place, part in enumerate(parts):
            report = Path(folder) / f"{place}.xml"
            own = [f"--junitxml={report}", *pytest_arguments, *part]
            code = subprocess.call(command + own, cwd=ROOT, env=environment)
            found = counts(report)
            passed, skipped = passed + found[0], skipped + found[2]
            # 5: no test was found
            failed += found[1] or int(code not in (0, 5))
    return backend, passed, failed, skipped, time.monotonic() - began


def counts(report):
    """Returns (passed, failed, skipped) of a JUnit report; zeros if there is none.

    Counted by test and not by the report's totals, where a test that fails and whose
    teardown fails too counts twice.
    """
    if not report.is_file():
        return 0, 0, 0
    cases = {}
    for case in ElementTree.parse(report).iter("testcase"):
        kinds = {child.tag for child in case}
        name = case.get("classname"), case.get("name")
        cases.setdefault(name, set()).update(kinds)
    failed = sum(bool(kinds & {"failure", "error"}) for kinds in cases.values())
    skipped = sum(
        kinds & {"skipped", "failure", "error"} == {"skipped"}
        for kinds in cases.values()
    )
    return len(cases) - failed - skipped, failed, skipped


if __name__ == "__main__":
    sys.exit(main())
