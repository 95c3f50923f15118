"""Texts longer than what is read at once are scored as a whole all the same."""

import numpy as np
import pytest

from tests.harness import randomize, to_numpy
from tests.marks import once
from zoo.decoding import batches, score
from zoo.decoding.score import perplexity_of, score_rows
from zoo.models import RecurrentCausalLM, RecurrentLM

ROWS = [[4, 5, 6, 7, 8, 4, 5], [], [6], [7, 8, 4, 5, 6, 7, 8, 4, 5, 6, 7]]


def task_of(cell):
    sizes = {"embedding_dim": 5, "hidden_dim": 4, "initializer_range": 0.8}
    return RecurrentCausalLM(randomize(RecurrentLM(9, **sizes, cell=cell)))


def expected(task, row):
    """Of the whole row at once, in float64."""
    ids = np.array([[3, *row]], "int32")
    logits = to_numpy(task.backbone({"token_ids": ids})).astype("float64")[0]
    logs = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    return sum(logs[t, word] for t, word in enumerate([*row, 3]))


@pytest.fixture
def short(monkeypatch):
    """Four words are read at once, and eight in a batch."""
    for module in (batches, score):
        monkeypatch.setattr(module, "LONGEST", 4)
    monkeypatch.setattr(batches, "POSITIONS", 8)


@pytest.mark.parametrize("cell", ["lstm", once("gru"), once("lstmn")])
@pytest.mark.parametrize("batch_size", [once(1), 32])
def test_rows_by_themselves(cell, batch_size):
    task = task_of(cell)
    found = score_rows(task, ROWS, batch_size)
    np.testing.assert_allclose(found, [expected(task, r) for r in ROWS], rtol=1e-5)


def test_a_state_goes_on_from_part_to_part(short):
    task = task_of("lstm")
    found = score_rows(task, ROWS)
    np.testing.assert_allclose(found, [expected(task, r) for r in ROWS], rtol=1e-5)
    count = sum(len(row) + 1 for row in ROWS)
    assert perplexity_of(task, ROWS) == pytest.approx(np.exp(-found.sum() / count))


@pytest.mark.once
def test_an_lstmns_tapes_do_not_go_on_and_that_is_told(short):
    task = task_of("lstmn")
    with pytest.warns(UserWarning, match="2 of 4 texts have more than 3 words"):
        found = score_rows(task, ROWS)
    wanted = np.array([expected(task, row) for row in ROWS])
    short_ones = [1, 2]
    np.testing.assert_allclose(found[short_ones], wanted[short_ones], rtol=1e-5)
    assert np.abs(found - wanted)[[0, 3]].min() > 1e-4
