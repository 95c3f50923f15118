"""The strict benchmark's page, from runs that are made up."""

import json
import os
from types import SimpleNamespace

import pytest
from sacrebleu.metrics import BLEU


@pytest.fixture
def tool(tool):
    return tool("strict_benchmark")


def write(folder, corpora=(("multi30k", 1),), finished=True):
    choices = {"corpora": corpora, "source": "de", "target": "en"}
    config = {"hyper_parameters": choices, "recipe": {"name": "bahdanau"}}
    (folder / "preset" / ("bahdanau" if finished else "")).mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def test_a_run_is_read(tool, tmp_path):
    assert tool.read(write(tmp_path)) == ("bahdanau", ("de", "en"))


def test_a_run_on_other_text_is_refused(tool, tmp_path):
    run = write(tmp_path, corpora=[["multi30k", 2], ["tatoeba", 1]])
    with pytest.raises(SystemExit, match="no run on Multi30k alone.*tatoeba"):
        tool.read(run)


def test_an_unfinished_run_is_refused(tool, tmp_path):
    with pytest.raises(SystemExit, match="not finished"):
        tool.read(write(tmp_path, finished=False))


def test_bleu_is_sacrebleus(tool):
    texts = ["A dog runs through the snow .", "Two men walk, slowly."]
    references = ["A dog runs through deep snow .", "Two men walk slowly."]
    found = tool.bleu(texts, references, "en", "13a", lower=False)
    expected = BLEU().corpus_score(texts, [references]).score
    assert found == pytest.approx(expected)
    upper = [text.upper() for text in texts]
    assert tool.bleu(upper, references, "en", "13a", True) == pytest.approx(found)
    assert tool.bleu(upper, references, "en", "13a", False) < found


def test_moses_words(tool):
    pytest.importorskip("sacremoses", reason="the tool's own dependency")
    cut = tool.tokenizer("moses", "de")
    assert cut("Ein Hund, der „läuft“.") == 'Ein Hund , der " läuft " .'


def test_a_published_figure_stands_beside_its_like(tool):
    row = {
        "name": "bahdanau",
        "direction": "de-en",
        "parameters": 5_000_000,
        "command": "python recipes/bahdanau.py --scale multi30k",
        "training": "30 minutes, 1 CPU core",
        "commit": "0123abc",
        "reference_words": 12103,
        "bleu": dict(zip(tool.WAYS, (31.0, 32.0, 33.0, 34.0, 35.0), strict=True)),
    }
    text = tool.page([row, {**row, "direction": "en-de"}])
    assert "| `bahdanau` | 5,000,000 | 31.00 | 32.00 | 33.00 | 34.00 | 35.00 |" in text
    german, english = text.split("## en-de")
    line = "| bentrevett/pytorch-seq2seq: Bahdanau |  |  |  |  |  | 28.30 |"
    assert line in german and line not in english
    assert "| LividWo/Revisit-MMT: transformer-tiny |  |  |  |  | 41.02 |  |" in english
    assert text.count("- `python recipes/bahdanau.py --scale multi30k`: 30 min") == 2
    missing = text.split("Not run yet: ")[1]
    assert "luong_local en-de" in missing and "bahdanau" not in missing


TOLD = {"name": "bahdanau", "direction": "de-en", "parameters": 5, "command": "python"}


@pytest.fixture
def two_sentences(tool, monkeypatch):
    data = SimpleNamespace(references=[["A dog runs ."], ["Two men walk slowly ."]])
    monkeypatch.setattr(tool.zoo.data, "load", lambda *args, **kwargs: data)
    monkeypatch.setattr(tool, "tokenizer", lambda words, language: str)


def test_translations_are_kept_and_scored(tool, tmp_path, two_sentences):
    tool.keep(tmp_path, TOLD, ["A dog\u2028runs .", ""])
    lines = (tmp_path / "bahdanau-de-en.txt").read_bytes()
    assert lines == b"A dog runs .\n\n"
    other = {**TOLD, "direction": "en-de", "name": "transformer"}
    tool.keep(tmp_path, other, ["A dog runs .", "Two men walk slowly ."])
    first, second = (tool.row(*found) for found in tool.records(tmp_path))
    assert (first["name"], second["name"]) == ("transformer", "bahdanau")
    assert first["bleu"]["13a", False] == pytest.approx(100)
    assert second["bleu"]["13a", False] < 50
    assert second["reference_words"] == 9


def test_a_truncated_record_is_refused(tool, tmp_path, two_sentences):
    tool.keep(tmp_path, TOLD, ["A dog runs ."])
    (found,) = tool.records(tmp_path)
    with pytest.raises(SystemExit, match="each of the 2 sentences.*Received: 1 lines"):
        tool.row(*found)


@pytest.mark.skipif(not os.environ.get("ZOO_DATA_DIR"), reason="no real corpora here")
def test_the_committed_page_has_the_kept_scores(tool):
    kept = tool.records(tool.ROOT / "docs" / "multi30k")
    page = (tool.ROOT / "docs" / "multi30k.md").read_text(encoding="utf-8")
    assert kept
    for told, texts in kept:
        source, target = told["direction"].split("-")
        data = tool.zoo.data.load("multi30k", source, target, split=tool.SPLIT)
        references = [several[0] for several in data.references]
        found = tool.bleu(texts, references, target, "13a", lower=False)
        part = page.split(f"## {told['direction']}")[1]
        assert f"| `{told['name']}` | {told['parameters']:,} | {found:.2f} |" in part
