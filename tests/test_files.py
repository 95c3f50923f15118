import bz2
import errno
import gzip
import lzma
import os

import keras
import pytest

from zoo.files import atomic_write, lock, unpacked

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


# === Packed files ===


@pytest.mark.parametrize(
    "compress", [gzip.compress, bz2.compress, lzma.compress, bytes]
)
def test_a_packed_file_is_told_by_its_beginning(tmp_path, compress):
    path = tmp_path / "a"
    path.write_bytes(compress(b"text"))
    with path.open("rb") as file, unpacked(file, path) as content:
        assert content.read() == b"text"


@pytest.mark.parametrize(
    "packed", [gzip.compress(b"text" * 99, mtime=0)[:-4], b"text"], ids=["cut", "plain"]
)
def test_a_damaged_file_is_named(tmp_path, packed):
    path = tmp_path / "a.gz"
    path.write_bytes(packed)
    with pytest.raises(ValueError, match="a.gz is damaged, or not gzip after all"):
        with path.open("rb") as file, unpacked(file, path) as content:
            content.read()


def test_errors_of_the_system_stay(tmp_path):
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"text"))
    with pytest.raises(OSError, match="No space left"):
        with path.open("rb") as file, unpacked(file, path):
            raise OSError(errno.ENOSPC, "No space left")


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
