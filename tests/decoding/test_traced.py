"""Traced steps, which only torch has, against those that are not traced."""

import keras
import numpy as np
import pytest
import torch

from tests.decoding.reference import LIMITS, SOURCES, Table
from zoo.decoding import BeamSearch, search_ids
from zoo.decoding.compiled import can_trace
from zoo.models import Luong, LuongTranslator

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(
        keras.backend.backend() != "torch", reason="torch alone traces steps"
    ),
]


@pytest.fixture
def traces(monkeypatch):
    """Counts what is traced."""
    trace, found = torch.jit.trace, []

    def count(*arguments, **options):
        found.append(arguments)
        return trace(*arguments, **options)

    monkeypatch.setattr(torch.jit, "trace", count)
    return found


def plain(search, monkeypatch):
    """The same search, not traced, in which no sentence leaves the batch."""

    def whole(self, *arguments):
        return self._run_shrinking(*arguments, lambda live, rows: rows)

    def run(*arguments, **options):
        with monkeypatch.context() as patch:
            patch.setattr("zoo.decoding.beam.can_trace", lambda model: False)
            patch.setattr(BeamSearch, "_run", whole)
            return search(*arguments, **options)

    return run


@pytest.fixture
def heights(monkeypatch):
    """The numbers of sentences for which there was a step of their own."""
    found, stepper = [], BeamSearch._stepper

    def note(self, model, beam, constants):
        found.append(len(constants.limits))
        assert len(beam.tokens) == self.beam_size * found[-1]
        return stepper(self, model, beam, constants)

    monkeypatch.setattr(BeamSearch, "_stepper", note)
    return found


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
    search = BeamSearch(beams, *penalties, n_best=beams)
    assert can_trace(table)
    expected = plain(search, monkeypatch)(table, SOURCES, LIMITS)
    same(search(table, SOURCES, LIMITS), expected)


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


def test_each_shape_is_traced_once_and_weights_are_those_of_the_call(traces):
    model, search = make(), BeamSearch(2)
    before = search_ids(model, IDS, search, 9)
    assert search_ids(model, IDS, search, 9) == before
    assert len(traces) == 1
    for variable in model.variables:
        variable.assign(variable * -1.5)
    after = search_ids(model, IDS, search, 9)
    assert len(traces) == 1 and after != before
    fresh = make()
    fresh.set_weights(model.get_weights())
    assert search_ids(fresh, IDS, search, 9) == after
    assert len(traces) == 2
    search_ids(model, IDS[1:2], search, 9)
    search_ids(model, IDS, BeamSearch(2, coverage_penalty=0.1), 9)
    assert len(traces) == 4


def test_a_layer_with_lora_is_traced_and_another_object_is_not(traces, monkeypatch):
    model, search = make(), BeamSearch(2)
    before = search_ids(model, IDS, search, 9)
    model.backbone.output_layer.enable_lora(2)
    adapters = [v for v in model.trainable_variables if "lora" in v.name]
    rng = np.random.default_rng(1)
    for variable in adapters:  # B is 0 at first
        variable.assign(rng.normal(size=variable.shape))
    assert can_trace(model) and not can_trace(object())
    found = search_ids(model, IDS, search, 9)
    assert len(traces) == 2 and found != before
    assert found == plain(search_ids, monkeypatch)(model, IDS, search, 9)


@pytest.mark.parametrize("beams, penalties", [(1, (1.0, 0.0)), (3, (0.7, 0.2))])
def test_sentences_that_are_done_leave_the_batch(
    beams, penalties, heights, monkeypatch
):
    table, search = Table().fill(4), BeamSearch(beams, *penalties, n_best=beams)
    prefix = np.zeros((len(SOURCES), LIMITS.max()), "int32")
    prefix[3, 0] = prefix[7, 0] = 4
    limits = np.where(np.arange(len(SOURCES)) % 5, 2, LIMITS.max())
    arguments = table, SOURCES, limits, int(LIMITS.max()), prefix
    expected = plain(search, monkeypatch)(*arguments)
    heights.clear()
    same(search(*arguments), expected)
    assert heights == [len(SOURCES), len(SOURCES) // 4]


@pytest.mark.parametrize("other", [None, 3.0])
def test_a_memory_with_other_rows_stays_as_it_is(other, heights, monkeypatch):
    table, search = Table().fill(4), BeamSearch(2)
    encode, step = table.encode, table.step
    shared = table.weights.value if other is None else other
    table.encode = lambda ids: [encode(ids), shared]
    table.step = lambda ids, state, memory: step(ids, state, memory[0])
    table.start = lambda memory: Table.start(table, memory[0])
    expected = plain(search, monkeypatch)(table, SOURCES, LIMITS)
    heights.clear()
    same(search(table, SOURCES, LIMITS), expected)
    assert heights == [len(SOURCES)]
