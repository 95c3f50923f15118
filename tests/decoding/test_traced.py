"""Recorded steps, which only torch has, against those that are not recorded."""

import keras
import numpy as np
import pytest
import torch

from tests.decoding.reference import LIMITS, SOURCES, Table
from zoo.decoding import BeamSearch, search_ids, traced
from zoo.decoding.traced import can_trace
from zoo.models import Luong, LuongTranslator

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(
        keras.backend.backend() != "torch", reason="torch alone records steps"
    ),
]


@pytest.fixture
def recordings(monkeypatch):
    """Counts what is recorded."""
    trace, found = torch.jit.trace, []

    def count(*arguments, **options):
        found.append(arguments)
        return trace(*arguments, **options)

    monkeypatch.setattr(torch.jit, "trace", count)
    return found


def plain(search, monkeypatch):
    """The results of a search, as a function of (model, sources), not recorded."""

    def run(*arguments, **options):
        with monkeypatch.context() as patch:
            patch.setattr("zoo.decoding.beam.can_trace", lambda model: False)
            return search(*arguments, **options)

    return run


def same(found, expected):
    for got, wanted in zip(found, expected, strict=True):
        np.testing.assert_array_equal(got.numpy(), wanted.numpy())


@pytest.mark.parametrize("beams", [1, 2, 5])
# More words than are sorted at once, and so many that they are found by rows.
@pytest.mark.parametrize(
    ("words", "penalties"), [(100, (0.0, 0.0)), (100, (1.0, 0.3)), (1603, (1.0, 0.0))]
)
def test_ties_are_settled_as_ever(beams, words, penalties, monkeypatch):
    table = Table(words).fill(beams)
    # Few values, and so equal words and equal hypotheses.
    table.logits.assign(np.round(keras.ops.convert_to_numpy(table.logits)))
    search, used, step = BeamSearch(beams, *penalties, n_best=beams), [], traced.step
    assert can_trace(table)
    expected = plain(search, monkeypatch)(table, SOURCES, LIMITS)

    def note(one, *arguments):
        used.append(one)
        return step(one, *arguments)

    monkeypatch.setattr(traced, "step", note)
    same(search(table, SOURCES, LIMITS), expected)
    # A step with ties is made again as it is; greedy search needs none.
    assert (search in used) == (beams > 1)


def test_a_prefix_of_numpy_is_that_of_the_call():
    table, search = Table().fill(3), BeamSearch(2)
    for word in (4, 1):
        prefix = np.zeros((len(SOURCES), LIMITS.max()), "int32")
        prefix[0, 0] = word
        ids, _ = search(table, SOURCES, LIMITS, int(LIMITS.max()), prefix)
        assert int(ids[0, 0, 0]) == word


def make():
    keras.utils.set_random_seed(3)
    sizes = {"num_layers": 1, "hidden_dim": 6, "embedding_dim": 5, "window": 2}
    return LuongTranslator(Luong(11, **sizes, initializer_range=1.0))


IDS = [[4, 5, 6, 7], [8], [9, 10, 4], [5, 5]]


def test_each_shape_is_recorded_once_and_weights_are_those_of_the_call(recordings):
    model, search = make(), BeamSearch(2)
    before = search_ids(model, IDS, search, 9)
    assert search_ids(model, IDS, search, 9) == before
    assert len(recordings) == 1
    for variable in model.variables:
        variable.assign(variable * -1.5)
    after = search_ids(model, IDS, search, 9)
    assert len(recordings) == 1 and after != before
    fresh = make()
    fresh.set_weights(model.get_weights())
    assert search_ids(fresh, IDS, search, 9) == after
    assert len(recordings) == 2
    search_ids(model, IDS[1:2], search, 9)
    search_ids(model, IDS, BeamSearch(2, coverage_penalty=0.1), 9)
    assert len(recordings) == 4


def test_lora_and_other_objects_are_not_recorded(recordings, monkeypatch):
    model, search = make(), BeamSearch(2)
    model.backbone.enable_lora(2)
    rng = np.random.default_rng(1)
    for variable in model.trainable_variables:  # B is 0 at first
        variable.assign(rng.normal(size=variable.shape))
    assert not can_trace(model) and not can_trace(object())
    found = search_ids(model, IDS, search, 9)
    assert not recordings
    assert found == plain(search_ids, monkeypatch)(model, IDS, search, 9)


@pytest.mark.parametrize("beams, penalties", [(1, (1.0, 0.0)), (3, (0.7, 0.2))])
def test_sentences_that_are_done_leave_the_batch(beams, penalties, monkeypatch):
    table, search = Table().fill(4), BeamSearch(beams, *penalties, n_best=beams)
    prefix = np.zeros((len(SOURCES), LIMITS.max()), "int32")
    prefix[3, 0] = prefix[7, 0] = 4
    limits = np.where(np.arange(len(SOURCES)) % 5, 2, LIMITS.max())
    arguments = table, SOURCES, limits, int(LIMITS.max()), prefix
    expected = plain(search, monkeypatch)(*arguments)
    heights, recorded = [], traced._recorded

    def note(search, model, beam, sentences):
        heights.append(len(sentences.limits))
        assert len(beam.tokens) == beams * len(sentences.memory)
        return recorded(search, model, beam, sentences)

    monkeypatch.setattr(traced, "_recorded", note)
    same(search(*arguments), expected)
    assert heights == [len(SOURCES), len(SOURCES) // 4]


@pytest.mark.parametrize("other", [None, 3.0])
def test_a_memory_with_other_rows_stays_as_it_is(other, monkeypatch):
    table, heights, recorded = Table().fill(4), [], traced._recorded
    search, encode, step = BeamSearch(2), table.encode, table.step
    shared = table.weights.value if other is None else other
    table.encode = lambda ids: [encode(ids), shared]
    table.step = lambda ids, state, memory: step(ids, state, memory[0])
    table.start = lambda memory: Table.start(table, memory[0])
    expected = plain(search, monkeypatch)(table, SOURCES, LIMITS)

    def note(search, model, beam, sentences):
        heights.append(len(sentences.limits))
        return recorded(search, model, beam, sentences)

    monkeypatch.setattr(traced, "_recorded", note)
    same(search(table, SOURCES, LIMITS), expected)
    assert heights == [len(SOURCES)]
