import threading

import keras
import pytest

from tests.harness import randomize
from zoo.decoding import BeamSearch, keras_decoding, search_ids
from zoo.decoding.keras_decoding import map_batches
from zoo.models import Luong, LuongTranslator


@pytest.fixture
def two_cores(monkeypatch):
    """Two cores to decode on, whatever there are."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(keras_decoding, "usable_cores", lambda: 2)
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
    monkeypatch.setattr(keras_decoding, "_cores", lambda: 1)
    alone = search_ids(model, sources, search, 6, batch_size=2)
    assert [[ids for ids, _ in row] for row in found] == [
        [ids for ids, _ in row] for row in alone
    ]
    scores = [[score for _, score in row] for row in found]
    assert scores == [pytest.approx([s for _, s in row], abs=1e-6) for row in alone]
