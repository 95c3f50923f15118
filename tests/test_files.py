import errno
import os
import subprocess
import sys
import types

import keras
import pytest

from zoo.files import lock, write_aside

pytestmark = pytest.mark.once


@pytest.fixture
def model():
    return keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])


def test_a_full_disk_leaves_the_best_weights(tmp_path, model):
    path = tmp_path / "best.weights.h5"
    write_aside(path, model.save_weights)
    content = path.read_bytes()
    os.symlink("/dev/full", tmp_path / "best.part.weights.h5")
    with pytest.raises(OSError, match="best.weights.h5"):
        write_aside(path, model.save_weights)
    assert path.read_bytes() == content
    assert os.listdir(tmp_path) == ["best.weights.h5"]


def test_a_disk_that_fills_up_within_a_weights_file_is_told(tmp_path, model):
    """By h5py, whose error is no `OSError`: here a limit of the file's size."""
    code = """if True:
        import resource, signal, sys, keras
        from zoo.files import lock, write_aside
        model = keras.Sequential([keras.Input((300,)), keras.layers.Dense(300)])
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        try:
            write_aside(sys.argv[1], model.save_weights)
        except OSError as error:
            print(error.errno, error.filename)
    """
    path = tmp_path / "best.weights.h5"
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert done.stdout == f"{errno.EFBIG} {path}\n", done.stderr
    assert list(tmp_path.iterdir()) == []


# === Locks ===


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_lock_keeps_others_out_until_it_is_closed(tmp_path, kind):
    path = tmp_path / kind
    path.mkdir() if kind == "folder" else path.touch()
    held = lock(path)
    with pytest.raises(BlockingIOError):
        lock(path)
    os.close(held)
    os.close(lock(path))


@pytest.mark.parametrize("problem", [None, OSError(37, "No locks available")])
def test_where_files_cannot_be_locked_nobody_is_kept_out(
    tmp_path, monkeypatch, problem
):
    def fail(*_):
        raise problem

    fcntl = problem and types.SimpleNamespace(flock=fail, LOCK_EX=2, LOCK_NB=4)
    monkeypatch.setitem(sys.modules, "fcntl", fcntl)  # None: there is no such module
    first, second = lock(tmp_path), lock(tmp_path)
    os.close(first)
    os.close(second)
