import base64
import json
import re
import sys
from xml.etree import ElementTree

import pytest

from zoo.analysis import figure
from zoo.cli import main
from zoo.training import run_report as report
from zoo.training import write_report

pytestmark = pytest.mark.backend_free

LOG = """\
epoch,learning_rate,loss,seconds,val_bleu,val_bleu_news,val_bleu_talks,val_perplexity
0,0.001,4.25,60.5,1.5,1.0,2.0,90.0
1,0.0005,3.125,60.5,12.25,12.0,12.5,9.0
2,0.00025,3.0,60.5,11.0,11.0,11.0,8.5
"""
SIGNATURE = "nrefs:1|case:mixed"


EXAMPLE = {
    "source": "A dog & a cat.",
    "output": "Ein <Hund>.",
    "reference": "Ein Hund.",
}


@pytest.fixture(autouse=True)
def pictures(monkeypatch):
    """They are drawn here: see tests/conftest.py."""
    monkeypatch.setattr(report, "render", figure.render)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "log.csv").write_text(LOG)
    return tmp_path


def read(folder):
    return write_report(folder).read_text("utf-8")


def test_the_report_has_all_there_is(folder):
    pytest.importorskip("matplotlib")  # an extra
    scores = {"score": 34.567, "signature": SIGNATURE}
    scores = {"bleu": scores, "chrf": {**scores, "score": 56.789}}
    results = {"talks": {**scores, "before": scores, "worst": [EXAMPLE]}}
    results |= {"accuracy": {"sst": {"fine": 0.25}}, "sequences": 300_000}
    (folder / "results.json").write_text(json.dumps(results))
    text = read(folder)
    assert "3 epochs, 3 minutes of training" in text
    text = text.replace("\n", "")
    rows = [re.findall("<td>(.*?)</td>", row) for row in text.split("<tr>")]
    assert [row for row in rows if len(row) == 4] == [
        ["talks", "bleu", "34.57", f"<code>{SIGNATURE}</code>"],
        ["talks", "chrf", "56.79", f"<code>{SIGNATURE}</code>"],
        ["talks before", "bleu", "34.57", f"<code>{SIGNATURE}</code>"],
        ["talks before", "chrf", "56.79", f"<code>{SIGNATURE}</code>"],
        ["accuracy sst", "fine", "0.25", "<code></code>"],
        ["", "sequences", "300000", "<code></code>"],
        ["talks", "A dog &amp; a cat.", "Ein &lt;Hund&gt;.", "Ein Hund."],
    ]
    pictures = re.findall(r'src="data:image/svg\+xml;base64,([^"]*)"', text)
    assert len(pictures) == 1 and b"<svg" in base64.b64decode(pictures[0])


NASTY = "<script>$\\frac$\x1b\x00\ud800-->\"'&"


def test_everything_is_escaped(folder):
    """Wherever a text stands: no tag of its own, and none of XML's forbidden ones."""
    found = {"bleu": {"score": 1.0, "signature": NASTY}}
    found["worst"] = [dict.fromkeys(EXAMPLE, NASTY)]
    (folder / "results.json").write_text(json.dumps({NASTY: found}))
    text = read(folder)
    assert "<script" not in text and "\x1b" not in text and "\x00" not in text
    assert "&lt;script&gt;$\\frac$\ufffd" in text
    head = '<meta charset="utf-8">'  # the only tag that isn't closed
    ElementTree.fromstring(text.replace("<!DOCTYPE html>", "").replace(head, ""))


def test_an_interrupted_run_has_a_report_and_needs_no_matplotlib(
    folder, monkeypatch, capsys
):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert main(["report", str(folder)]) == 0
    assert capsys.readouterr().out == f"{folder / 'report.html'}\n"
    text = (folder / "report.html").read_text()
    assert "There are no test scores" in text
    assert "pip install 'attention-zoo[plot]'" in text and "<img" not in text


def test_without_an_epoch_there_is_nothing_to_report(tmp_path, capsys):
    assert main(["report", str(tmp_path / "none")]) == 2
    assert "log.csv" in capsys.readouterr().err
    (tmp_path / "log.csv").write_text(LOG.splitlines()[0] + "\n")
    with pytest.raises(FileNotFoundError, match="no epoch yet"):
        write_report(tmp_path)


@pytest.mark.parametrize("name", ["log.csv", "results.json"])
def test_a_damaged_file_is_bad_input(folder, capsys, name):
    (folder / name).write_bytes(b"\xff\xfe,{[\n" * 3)
    assert main(["report", str(folder)]) == 2
    error = capsys.readouterr().err
    assert name in error and error.count("\n") == 1
