import contextlib
import gc
import math
import os
import re
from pathlib import Path

import hypothesis
import pytest

from tests.file_server import server  # noqa: F401

# No deadline: a busy machine may take any time for an example.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")

# The files that take longest: started last, one of them would keep one process busy
# while the others have nothing left to do.
_LONG = (
    "explorer/test_folder.py",
    "training/test_distribute.py",
    "models/test_everywhere.py",
    "training/test_tiny_recipe.py",
    "serving/export/test_savedmodel.py",
    "serving/runtime/test_onnx.py",
    "layers/test_everyday.py",
    "models/test_everyday.py",
    "models/test_kerashub.py",
    "training/recipes/test_translation_run.py",
    "training/test_killed.py",
    "models/test_luong.py",
    "models/test_lstmn.py",
    "models/test_transformer.py",
    "test_bundled.py",
    "test_docstrings.py",
)


def pytest_ignore_collect(collection_path, config):
    """Skips files whose one-line `pytestmark` has a mark that `-m` excludes, more than
    half of all under TensorFlow and JAX: the others are imported and deselected."""
    left_out = config.getoption("markexpr").split(" and ")
    simple = all(part.startswith("not ") for part in left_out)
    if collection_path.suffix != ".py" or not simple:
        return None
    text = collection_path.read_text("utf-8")
    for line in re.findall(r"^pytestmark = .*", text, re.MULTILINE):
        marks = re.findall(r"pytest\.mark\.(\w+)", line)
        if {f"not {mark}" for mark in marks} & set(left_out):
            return True
    return None


def pytest_collection_modifyitems(items):
    """Files that take long come first; else the order is pytest's."""

    def place(item):
        path = item.path.as_posix()
        found = [i for i, name in enumerate(_LONG) if path.endswith("tests/" + name)]
        return found[0] if found else len(_LONG)

    items.sort(key=place)


@pytest.fixture(scope="module", autouse=True)
def free_memory():
    """Lets go of the models of the file before, and under JAX of what was compiled, if
    it is much.

    What one file compiles of small operations, other files use again.
    """
    import keras  # here, since the process that hands out the files needs none

    # Not at a file's end, where pytest still holds the arguments of its last test.
    gc.collect()
    if keras.backend.backend() == "jax" and _resident() > 3e9:
        import jax

        jax.clear_caches()
        gc.collect()
    gc.freeze()  # what is there now stays, and no collection looks through it


def _resident():
    """Returns the bytes of memory that this process holds; infinity if unknown."""
    statm = Path("/proc/self/statm")
    if not statm.is_file():
        return math.inf
    return int(statm.read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.fixture(scope="session", autouse=True)
def not_of_this_process():
    """Tests leave memory and XLA's flags alone, but for those of
    tests/training/fast/test_process.py."""
    from zoo.training.fast import process

    with pytest.MonkeyPatch.context() as patch:
        for name in ("_keep_memory", "_set_xla_flags", "_keep_programs"):
            patch.setattr(process, name, lambda: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def reports_without_pictures():
    """Runs draw no pictures for their reports, which takes two seconds a run, but in
    tests/training/test_run_report.py."""
    from zoo.training import run_report as report

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report, "render", lambda *_: b"<svg/>")
        yield


@contextlib.contextmanager
def nothing_computed(node):
    """Fails what is marked `backend_free` if it computes with Keras in this process."""

    if not node.get_closest_marker("backend_free"):
        yield
        return
    import keras

    import zoo.layers  # noqa: F401  # which asks `keras.ops` for decorators

    def computes(*_, **__):
        pytest.fail("it is marked `backend_free` and computes with Keras's backend")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keras.Layer, "__call__", computes)
        patch.setattr(keras.Variable, "__init__", computes)
        for module in (keras.ops, keras.random):
            for name, value in vars(module).items():
                if callable(value):
                    patch.setattr(module, name, computes)
        yield


@pytest.fixture(scope="module", autouse=True)
def backend_free_module(request):
    """A file that is marked so, with its fixtures, computes nothing."""
    with nothing_computed(request.node):
        yield


@pytest.fixture(autouse=True)
def backend_free_test(request):
    """A test that is marked so computes nothing."""
    with nothing_computed(request.node):
        yield
