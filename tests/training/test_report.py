import json
import sys

import numpy as np
import pytest

from zoo.cli import main
from zoo.training import write_report

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
    "model": {"hidden_dim": 8, "dropout": 0.0},
    "optimizer": {
        "class": "Adam",
        "learning_rate": {
            "class_name": "WarmupLinearDecay",
            "config": {"peak": 0.01, "warmup": 5, "total": 10**8},
        },
        "clipnorm": None,
    },
    "epoch": 3,
    "stopped": True,
    "plans": [[0, 9, "jax", "abc"]],
}
SIGNATURE = "nrefs:1|case:mixed"


def sample(epoch, translation, source="A dog & a cat."):
    found = {"epoch": epoch, "set": "news", "source": source, "reference": "Ein Hund."}
    return json.dumps({**found, "translation": translation}) + "\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "log.csv").write_text(LOG)
    return tmp_path


@pytest.fixture
def whole(folder):
    np.savez(folder / "checkpoint.npz", state=np.array(json.dumps(STATE)))
    scores = {"score": 34.567, "signature": SIGNATURE}
    results = {"talks": {"bleu": scores, "chrf": {**scores, "score": 56.789}}}
    (folder / "results.json").write_text(json.dumps(results))
    lines = [sample(1, ""), sample(2, "of a killed run"), sample(2, "Ein <Hund>.")]
    lines += [sample(3, "Ein Hund."), sample(3, "x")[:20]]
    (folder / "samples.jsonl").write_text("".join(lines))
    return folder


def test_the_report_has_all_there_is(whole):
    path = write_report(str(whole))
    text = open(path, encoding="utf-8").read()
    assert path == str(whole / "report.html")
    for part in (
        "<h1>my_&lt;recipe&gt;, small</h1>",
        "3 epochs, 3 minutes of training. Best validation BLEU: 12.25 after epoch 2. "
        "Training stopped early.",
        "34.57",
        "56.79",
        SIGNATURE,
        "A dog &amp; a cat.",
        "Ein &lt;Hund&gt;.",
        "(nothing)",
        "Adam, learning_rate WarmupLinearDecay (peak 0.01, warmup 5)",
        "hidden_dim 8, dropout 0.0",
        "9 epochs planned, jax backend, commit abc",
        '<tr class="best"><td class="number">2</td>',
    ):
        assert part in text, part
    assert "of a killed run" not in text and "clipnorm" not in text


def test_it_is_one_file(whole):
    pytest.importorskip("matplotlib")  # an extra
    text = open(write_report(str(whole)), encoding="utf-8").read()
    assert text.count("<svg") == text.count("</svg>") == 1
    assert "<img" not in text and "<script" not in text and "<link" not in text


def test_an_interrupted_run_has_a_report_too(folder, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert main(["report", str(folder)]) == 0
    assert capsys.readouterr().out == f"{folder / 'report.html'}\n"
    text = (folder / "report.html").read_text()
    assert "There are no test scores" in text
    assert "pip install 'attention-zoo[plot]'" in text and "<svg" not in text
    assert '<td class="number">3.125</td>' in text


def test_without_an_epoch_there_is_nothing_to_report(tmp_path, capsys):
    with pytest.raises(FileNotFoundError, match="log.csv"):
        write_report(str(tmp_path))
    (tmp_path / "log.csv").write_text(LOG.splitlines()[0] + "\n")
    with pytest.raises(FileNotFoundError, match="no epoch yet"):
        write_report(str(tmp_path))
    assert main(["report", str(tmp_path / "none")]) == 2
    assert "no folder" in capsys.readouterr().err
