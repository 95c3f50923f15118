"""The table of runs: what it reads, what is added, what it refuses."""

import json

import numpy as np
import pytest

from tools.papers.arms import digest
from tools.papers.counts import pack
from tools.papers.study_table import append, read

pytestmark = pytest.mark.backend_free

LINKS = np.array([[3, 4, 5, 4, 1, 2, 1, 2, 0, 4]])


def row(arm, seed, **more):
    told = {"arm": arm, "seed": seed, "digest": digest(arm)}
    return {**told, "scores": {}, "counts": {}, **more}


def test_rows_are_added(tmp_path):
    table = tmp_path / "study.jsonl"
    assert read(table) == ({}, {})
    append(row("none", 2, scores={"e": 1.5}), table)
    append(row("local_p", 1, counts={"links": pack(LINKS)}), table)
    before = table.read_bytes()
    append(row("none", 3, failed="the loss is not finite"), table)
    assert table.read_bytes().startswith(before)
    results, failed = read(table)
    assert set(results) == {("none", 2), ("local_p", 1)}
    assert failed["none", 3]["failed"] == "the loss is not finite"
    assert results["none", 2].score("e") == 1.5
    assert not results["none", 2].has("aer") and results["local_p", 1].has("aer")
    assert results["local_p", 1].score("on") == 0.5
    np.testing.assert_array_equal(results["local_p", 1].counts("links"), LINKS)


ROW = json.dumps(row("dot", 1))
OTHER = "the run of dot, seed 1, has other settings .*Received: "


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (['{"arm": "dot", "se'], "line 1 is damaged"),
        (['{"arm": "dot"}'], "line 1 is damaged: KeyError"),
        ([ROW, ROW], r"line 2 has a run again. Received: \('dot', 1"),
        ([json.dumps(row("dot", 1, digest="0" * 12))], f"line 1: {OTHER}{'0' * 12}"),
        ([json.dumps(row("dot", 1, digest=None))], f"{OTHER}None"),
        ([json.dumps(row("dot", 1) | {"arm": "gone"})], "no such arm"),
    ],
)
def test_a_table_that_is_damaged_or_of_other_settings_is_refused(
    tmp_path, lines, message
):
    table = tmp_path / "study.jsonl"
    table.write_text("\n".join(lines) + "\n")
    with pytest.raises(ValueError, match=message):
        read(table)
