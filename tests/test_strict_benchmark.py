"""The strict benchmark's page, from runs that are made up."""

import json

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
    name, languages, _ = tool.read(write(tmp_path))
    assert (name, languages) == ("bahdanau", ("de", "en"))


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
