"""The table of runs: what it reads, what it appends, what it refuses."""

import json

import numpy as np
import pytest

from tools.papers.arms import digest
from tools.papers.counts import pack
from tools.papers.study_table import OtherSettings, append, read

pytestmark = pytest.mark.backend_free

LINKS = np.array([[3, 4, 5, 4, 1, 2, 1, 2, 0, 4]])


def row(arm, seed, **more):
    told = {"arm": arm, "seed": seed, "digest": digest(arm)}
    return {**told, "scores": {}, "counts": {}, **more}


def write(work, arm, seed, **more):
    path = work / f"{arm}-{seed}.json"
    path.write_text(json.dumps(row(arm, seed, **more)), encoding="utf-8")


def test_results_are_appended_once(tmp_path):
    work, table = tmp_path / "work", tmp_path / "study.jsonl"
    work.mkdir()
    assert read(table) == ({}, {})
    write(work, "none", 2, scores={"e": 1.5})
    write(work, "local_p", 1, counts={"links": pack(LINKS)})
    (work / "links.json").write_text("[]")  # no run
    (work / "dot-1.part.json").write_text("{")  # being written
    assert set(append(work, table)) == {("none", 2), ("local_p", 1)}
    before = table.read_bytes()
    assert append(work, table) == [] and table.read_bytes() == before
    write(work, "none", 3, failed="the loss is not finite")
    assert append(work, table) == [("none", 3)]
    assert table.read_bytes().startswith(before)

    results, failed = read(table)
    assert set(results) == {("none", 2), ("local_p", 1)}
    assert failed["none", 3]["failed"] == "the loss is not finite"
    assert results["none", 2].score("e") == 1.5
    assert not results["none", 2].has("aer") and results["local_p", 1].has("aer")
    assert results["local_p", 1].score("on") == 0.5
    np.testing.assert_array_equal(results["local_p", 1].counts("links"), LINKS)


def test_what_others_appended_stays(tmp_path):
    work, table = tmp_path / "work", tmp_path / "study.jsonl"
    work.mkdir()
    table.write_text(json.dumps(row("dot", 1, scores={"e": 2.0})) + "\n")
    write(work, "dot", 1, scores={"e": 3.0})
    write(work, "dot", 2)
    assert append(work, table) == [("dot", 2)]
    assert read(table)[0]["dot", 1].score("e") == 2.0


@pytest.mark.parametrize(
    ("change", "received"),
    [({"digest": "0" * 12}, "0" * 12), ({"digest": None}, "None")],
)
def test_runs_of_other_settings_are_not_mixed_in(tmp_path, change, received):
    work, table = tmp_path / "work", tmp_path / "study.jsonl"
    work.mkdir()
    write(work, "dot", 1)
    append(work, table)
    before = table.read_bytes()
    write(work, "dot", 2, **change)
    told = rf"dot-2.json: the run of dot, seed 2, has other .* Received: {received}"
    with pytest.raises(OtherSettings, match=told):
        append(work, table)
    assert table.read_bytes() == before
    table.write_text(json.dumps(row("dot", 2, **change)) + "\n")
    with pytest.raises(OtherSettings, match="study.jsonl, line 1: the run of dot"):
        read(table)


def test_runs_of_an_arm_that_is_no_more_are_refused(tmp_path):
    table = tmp_path / "study.jsonl"
    table.write_text(json.dumps(row("dot", 1) | {"arm": "gone"}) + "\n")
    with pytest.raises(OtherSettings, match="no such arm"):
        read(table)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (['{"arm": "dot", "se'], "line 1 is damaged"),
        (['{"arm": "dot"}'], "line 1 is damaged: KeyError"),
        (
            [json.dumps(row("dot", 1))] * 2,
            r"line 2 has a run again. Received: \('dot', 1",
        ),
    ],
)
def test_a_damaged_table_is_refused(tmp_path, lines, message):
    table = tmp_path / "study.jsonl"
    table.write_text("\n".join(lines) + "\n")
    with pytest.raises(ValueError, match=message):
        read(table)
