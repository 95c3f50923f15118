import threading
import types

import keras
import numpy as np
import pytest

from tests.harness import randomize
from zoo.decoding import BeamSearch, search_ids
from zoo.decoding.compiled import compiled, map_batches
from zoo.models import Luong, LuongTranslator


def make_model():
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, use_bias=False)])
    model.layers[0].kernel.assign([[2.0]])
    return model


def times_weight(model):
    return lambda ids: (model.layers[0].kernel[0, 0] * keras.ops.cast(ids, "float32"),)


IDS = np.array([1, 2, 5], "int32")


def test_the_weights_are_those_of_the_call():
    run = compiled(model := make_model(), "key", times_weight(model))
    run(IDS)
    model.layers[0].kernel.assign([[3.0]])
    assert run(IDS)[0].tolist() == [3, 6, 15]


def test_one_key_is_compiled_once():
    model = make_model()
    run = compiled(model, "key", times_weight(model))
    assert compiled(model, "key", None) is run
    assert compiled(model, "other", times_weight(model)) is not run
    assert compiled(make_model(), "key", times_weight(model)) is not run


@pytest.mark.skipif(keras.backend.backend() != "jax", reason="XLA's memory")
def test_what_a_compiler_freed_is_returned(monkeypatch):
    trims = []
    library = types.SimpleNamespace(malloc_trim=trims.append)
    monkeypatch.setattr("zoo.decoding.compiled.ctypes.CDLL", lambda _: library)
    monkeypatch.setattr("platform.libc_ver", lambda: ("glibc", ""))
    run = compiled(model := make_model(), "key", times_weight(model))
    for ids, count in ((IDS, 1), (IDS + 1, 1), (IDS[:2], 2), (IDS, 2)):
        run(ids)
        assert trims == [0] * count
    monkeypatch.setattr("platform.libc_ver", lambda: ("", ""))
    run(IDS[:1])
    assert len(trims) == 2


def test_other_variables_are_compiled_anew():
    model = make_model()
    compiled(model, "key", times_weight(model))(IDS)
    model.layers[0].quantize("int8")
    run = compiled(model, "key", lambda ids: (ids + 1,))
    assert run(IDS)[0].tolist() == [2, 3, 6]


@pytest.fixture
def two_cores(monkeypatch):
    """Two cores to decode on, whatever there are."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr("zoo.decoding.compiled.usable_cores", lambda: 2)
    if keras.backend.backend() != "torch":
        yield
        return
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    assert torch.get_num_threads() == 2  # as it was found
    torch.set_num_threads(threads)


def test_two_batches_are_read_at_a_time(two_cores):
    both, seen = threading.Barrier(2, timeout=10), set()

    def function(batch):
        both.wait()  # neither ends without the other
        seen.add(threading.get_ident())
        if keras.backend.backend() == "torch":
            import torch

            assert torch.get_num_threads() == 1
        return 10 * batch

    assert list(map_batches(function, iter([3, 1, 2, 4]))) == [30, 10, 20, 40]
    assert len(seen) == 2 and threading.get_ident() not in seen


def test_translations_are_those_of_one_batch_at_a_time(two_cores, monkeypatch):
    model = LuongTranslator(Luong(12, num_layers=1, hidden_dim=8, embedding_dim=4))
    randomize(model)
    sources = [[4 + (i + j) % 8 for j in range(1 + i % 7)] for i in range(11)]
    search = BeamSearch(2)
    found = search_ids(model, sources, search, 6, batch_size=2)
    monkeypatch.setattr("zoo.decoding.compiled._cores", lambda: 1)
    alone = search_ids(model, sources, search, 6, batch_size=2)
    assert [[ids for ids, _ in row] for row in found] == [
        [ids for ids, _ in row] for row in alone
    ]
    scores = [[score for _, score in row] for row in found]
    assert scores == [pytest.approx([s for _, s in row], abs=1e-6) for row in alone]
