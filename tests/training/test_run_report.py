import json
import re
import sys
from xml.etree import ElementTree

import numpy as np
import pytest

from zoo.analysis import figure
from zoo.cli import main
from zoo.training import run_report as report
from zoo.training import write_report

pytestmark = pytest.mark.backend_free

LOG = """\
epoch,gradient_norm,gradient_norm_max,learning_rate,loss,seconds,tokens_per_second,\
val_bleu,val_bleu_news,val_bleu_talks,val_perplexity
0,0.5,40.0,0.001,4.25,60.5,1000.0,1.5,1.0,2.0,90.0
1,0.25,2.0,0.0005,3.125,60.5,1100.0,12.25,12.0,12.5,9.0
2,0.25,2.0,0.00025,3.0,60.5,1100.0,11.0,11.0,11.0,8.5
"""
STATE = {
    "recipe": "my_<recipe>",
    "scale": "small",
    "seed": 7,
    "settings": {
        "model": {"hidden_dim": 8, "dropout": 0.0},
        "optimizer": {"name": "adam", "learning_rate": 0.01},
    },
    "model": None,
    "epoch": 3,
    "stopped": True,
    "plans": [[0, 9, "jax", "abc"]],
}
SIGNATURE = "nrefs:1|case:mixed"


def sample(epoch, translation, source="A dog & a cat."):
    found = {"epoch": epoch, "set": "news", "source": source, "reference": "Ein Hund."}
    return json.dumps({**found, "translation": translation}) + "\n"


@pytest.fixture(autouse=True)
def pictures(monkeypatch):
    """They are drawn here: see tests/conftest.py."""
    monkeypatch.setattr(report, "render", figure.render)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "log.csv").write_text(LOG)
    return tmp_path


@pytest.fixture
def whole(folder):
    np.savez(folder / "checkpoint.npz", state=np.array(json.dumps(STATE)))
    scores = {"score": 34.567, "signature": SIGNATURE}
    results = {"bleu": scores, "chrf": {**scores, "score": 56.789}}
    results = {"talks": {**results, "before": results}}
    (folder / "results.json").write_text(json.dumps(results))
    lines = [sample(1, ""), sample(2, "of a killed run"), sample(2, "Ein <Hund>.")]
    lines += [sample(3, "Ein Hund."), sample(3, "x")[:20]]
    (folder / "samples.jsonl").write_text("".join(lines))
    return folder


def test_the_report_has_all_there_is(whole):
    path = write_report(str(whole))
    text = open(path, encoding="utf-8").read()
    assert path == whole / "report.html"
    for part in (
        "<h1>my_&lt;recipe&gt;, small</h1>",
        "3 epochs, 3 minutes of training. Best validation BLEU, greedy search: 12.25 "
        "after epoch 2. Training stopped early.",
        "34.57",
        ">talks before</td>",
        "56.79",
        SIGNATURE,
        "A dog &amp; a cat.",
        "Ein &lt;Hund&gt;.",
        "(nothing)",
        "&#34;name&#34;: &#34;adam&#34;",
        "9 epochs planned, jax backend, commit abc",
        '<tr class="best"><td class="number">2</td>',
    ):
        assert part in text, part
    assert "of a killed run" not in text


def aligned(epoch, places=None, **fields):
    found = {"source_tokens": ["▁A", "▁dog"], "tokens": ["▁Ein", "▁Hund"]}
    found |= {"alignment": [[0.9, 0.1], [0.0, 1.0]], **(places or {}), **fields}
    return json.dumps({**json.loads(sample(epoch, "Ein Hund")), **found}) + "\n"


def test_samples_have_their_alignments(whole):
    pytest.importorskip("matplotlib")  # an extra
    windows = {"focus": [0.2, 1.0], "windows": [[0, 0], [0, 1]]}
    lines = [aligned(1), sample(2, "none kept", "An old one."), aligned(3, windows)]
    (whole / "samples.jsonl").write_text("".join(lines))
    text = open(write_report(str(whole)), encoding="utf-8").read()
    assert "<img" not in text and "<script" not in text and "<link" not in text
    assert (
        text.count("<svg") == text.count("</svg>") == 2
    )  # of the last epoch, and the curves
    assert text.count("Attention after epoch 3") == 1
    ids = re.findall(r' id="([^"]*)"', text)
    assert len(ids) == len(set(ids))
    used = set(re.findall(r'href="#([^"]*)"|url\(#([^)]*)\)', text))
    assert {one or other for one, other in used} <= set(ids)


def test_the_loss_is_named(whole):
    told = "Training loss: {}."
    assert "Training loss" not in open(write_report(str(whole))).read()
    settings = {"loss": {"normalize": "sentences"}, **STATE["settings"]}
    state = {"loss": "smoothed cross entropy", **STATE, "settings": settings}
    np.savez(whole / "checkpoint.npz", state=np.array(json.dumps(state)))
    text = open(write_report(str(whole))).read()
    assert told.format("cross-entropy, per sentence") in text
    state = {"loss": "mean squared error", **STATE}  # that `fit` was given
    np.savez(whole / "checkpoint.npz", state=np.array(json.dumps(state)))
    assert told.format(state["loss"]) in open(write_report(str(whole))).read()


def test_other_runs_have_their_scores_by_name(folder):
    """As those of a captioner, before and after its scores got longer names."""
    scenes = {"true captions": 68.6012, "word peak": 12.25}
    results = {"scenes": scenes, "accuracy": {"dev": 0.5, "sst": {"fine": 0.25}}}
    results |= {"solved": True, "sequences": 300_000}
    (folder / "results.json").write_text(json.dumps(results))
    log = LOG.replace("val_bleu_news,val_bleu_talks", "val_true,val_true_captions")
    (folder / "log.csv").write_text(log)
    text = open(write_report(str(folder))).read()
    rows = [re.findall("<td[^>]*>(.*?)</td>", row) for row in text.split("<tr>")]
    assert [row for row in rows if len(row) == 3] == [
        ["scenes", "68.601", "true captions"],
        ["scenes", "12.25", "word peak"],
        ["accuracy", "0.5", "dev"],
        ["accuracy sst", "0.25", "fine"],
        ["", "True", "solved"],
        ["", "300000", "sequences"],
    ]
    assert "sacreBLEU" not in text and "Beam search" not in text
    assert '<th class="number">val true captions</th>' in text


NASTY = "<script>$\\frac$\x1b\x00\ud800-->\"'&"


def test_everything_is_escaped(folder):
    """Wherever a text stands: no tag of its own, and none of XML's forbidden ones."""
    header, *rows = LOG.splitlines()
    columns = f"{header},val_{NASTY},val_bleu_{NASTY}".replace('"', "")
    rows = [f"{row},1.5,2.5" for row in rows]
    log = "\n".join([columns, *rows]).replace("\x00", "").replace("\ud800", "")
    (folder / "log.csv").write_text(log)
    state = {"recipe": NASTY, "scale": NASTY, NASTY: {NASTY: NASTY}, "epoch": 3}
    state |= {"loss": {"smoothing": NASTY}, "plans": [[0, 9, NASTY, NASTY]]}
    np.savez(folder / "checkpoint.npz", state=np.array(json.dumps(state)))
    scores = {"score": 1.0, "signature": NASTY}
    results = json.dumps({NASTY: {"bleu": scores, "chrf": scores}})
    (folder / "results.json").write_text(results)
    tokens = {"source_tokens": [NASTY, "▁a"], "tokens": [NASTY, "▁b"]}
    texts = dict.fromkeys(("set", "source", "reference", "translation"), NASTY)
    (folder / "samples.jsonl").write_text(aligned(3, **tokens, **texts))
    text = open(write_report(str(folder)), encoding="utf-8").read()
    assert "<script" not in text and "\x1b" not in text and "\x00" not in text
    assert "&lt;script&gt;$\\frac$\ufffd" in text
    ElementTree.fromstring(text.replace("<!DOCTYPE html>", "").replace(META, ""))


META = '<meta charset="utf-8">'  # the only tag that isn't closed


def test_an_interrupted_run_has_a_report_and_needs_no_matplotlib(
    folder, monkeypatch, capsys
):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    (folder / "samples.jsonl").write_text(aligned(1))
    assert main(["report", str(folder)]) == 0
    assert capsys.readouterr().out == f"{folder / 'report.html'}\n"
    text = (folder / "report.html").read_text()
    assert "There are no test scores" in text and "Ein Hund" in text
    assert "pip install 'attention-zoo[plot]'" in text and "<svg" not in text
    assert '<td class="number">3.125</td>' in text


def test_without_an_epoch_there_is_nothing_to_report(tmp_path, capsys):
    with pytest.raises(FileNotFoundError, match="log.csv"):
        write_report(str(tmp_path))
    (tmp_path / "log.csv").write_text(LOG.splitlines()[0] + "\n")
    with pytest.raises(FileNotFoundError, match="no epoch yet"):
        write_report(str(tmp_path))
    assert main(["report", str(tmp_path / "none")]) == 2
    assert "log.csv" in capsys.readouterr().err


@pytest.mark.parametrize(
    "name", ["log.csv", "samples.jsonl", "results.json", "checkpoint.npz"]
)
def test_a_damaged_file_is_bad_input(folder, capsys, name):
    (folder / name).write_bytes(b"\xff\xfe,{[\n" * 3)
    assert main(["report", str(folder)]) == 2
    error = capsys.readouterr().err
    assert name in error and error.count("\n") == 1
