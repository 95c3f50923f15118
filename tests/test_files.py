import os

import keras
import pytest

from zoo.files import atomic_write, lock

pytestmark = pytest.mark.once


@pytest.fixture
def model():
    return keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])


def test_a_full_disk_leaves_the_best_weights(tmp_path, model):
    path = tmp_path / "best.weights.h5"
    atomic_write(path, model.save_weights)
    content = path.read_bytes()
    os.symlink("/dev/full", tmp_path / "best.part.weights.h5")
    with pytest.raises(OSError, match="best.weights.h5"):
        atomic_write(path, model.save_weights)
    assert path.read_bytes() == content
    assert os.listdir(tmp_path) == ["best.weights.h5"]


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
