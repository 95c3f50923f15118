import dataclasses

import numpy as np
import pytest

from zoo.decoding import Translation, format_alignment


def record(tokens, source_tokens, alignment):
    return Translation("text", -1.0, tokens, source_tokens, np.array(alignment))


def test_a_record_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        record(["▁a"], ["▁b"], [[1.0]]).text = "other"


def test_the_grid_has_a_row_for_each_piece_and_a_column_for_each_source_piece():
    weights = [[0.0, 0.99, 0.01], [0.3, 0.3, 0.4]]
    grid = format_alignment(record(["▁Hun", "d"], ["▁the", "▁do", "g"], weights))
    assert grid.splitlines() == [
        "    ┌ the",
        "    │ ┌ do",
        "    │ │ ┌ -g",
        "Hun   █",
        " -d ░ ░ ▒",
    ]


def test_more_attention_is_darker():
    weights = [[0.049, 0.05, 0.199, 0.2, 0.4, 0.6, 0.8, 1.0]]
    grid = format_alignment(record(["▁x"], ["▁a"] * 8, weights))
    assert grid.splitlines()[-1] == "x   · · ░ ▒ ▓ █ █"


@pytest.mark.parametrize(("tokens", "source"), [([], ["▁a"]), (["▁a"], []), ([], [])])
def test_nothing_to_align(tokens, source):
    weights = np.zeros((len(tokens), len(source)))
    assert format_alignment(record(tokens, source, weights)) == "(nothing to align)"
