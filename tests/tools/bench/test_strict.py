"""The strict benchmark's page, from runs that are made up."""

import json
import os
from types import SimpleNamespace

import pytest
from sacrebleu.metrics import BLEU

from tools.bench import strict

pytestmark = pytest.mark.backend_free


def write(folder, corpora=(("multi30k", 1),), finished=True):
    choices = {"corpora": corpora, "source": "de", "target": "en"}
    config = {"hyper_parameters": choices, "recipe": {"name": "bahdanau"}}
    (folder / "preset" / ("bahdanau" if finished else "")).mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def test_a_run_is_read(tmp_path):
    assert strict.read(write(tmp_path)) == ("bahdanau", ("de", "en"))


def test_a_run_on_other_text_is_refused(tmp_path):
    run = write(tmp_path, corpora=[["multi30k", 2], ["tatoeba", 1]])
    with pytest.raises(SystemExit, match="no run on Multi30k alone.*tatoeba"):
        strict.read(run)


def test_an_unfinished_run_is_refused(tmp_path):
    with pytest.raises(SystemExit, match="not finished"):
        strict.read(write(tmp_path, finished=False))


def test_bleu_is_sacrebleus():
    texts = ["A dog runs through the snow .", "Two men walk, slowly."]
    references = ["A dog runs through deep snow .", "Two men walk slowly."]
    found = strict.bleu(texts, references, "en", "13a", lower=False)
    expected = BLEU().corpus_score(texts, [references]).score
    assert found == pytest.approx(expected)
    upper = [text.upper() for text in texts]
    assert strict.bleu(upper, references, "en", "13a", True) == pytest.approx(found)
    assert strict.bleu(upper, references, "en", "13a", False) < found


def test_moses_words():
    pytest.importorskip("sacremoses", reason="the tool's own dependency")
    cut = strict.tokenizer("moses", "de")
    assert cut("Ein Hund, der „läuft“.") == 'Ein Hund , der " läuft " .'


def test_a_published_figure_stands_beside_its_like():
    row = {
        "name": "bahdanau",
        "direction": "de-en",
        "parameters": 5_000_000,
        "command": "python recipes/bahdanau.py --scale multi30k",
        "training": "30 minutes, 1 CPU core",
        "commit": "0123abc",
        "reference_words": 12103,
        "bleu": dict(
            zip(strict.WAYS, (31.0, 32.0, 33.0, 34.0, 35.0, 37.0), strict=True)
        ),
    }
    no_greedy = {way: bleu for way, bleu in row["bleu"].items() if bleu < 37}
    text = strict.page([row, {**row, "direction": "en-de", "bleu": no_greedy}])
    assert "greedy: `" not in strict.page([{**row, "bleu": no_greedy}])
    line = "| `bahdanau` | 5,000,000 | 31.00 | 32.00 | 33.00 | 34.00 | 35.00 |"
    assert f"{line} 37.00 |" in text and f"{line} – |" in text
    german, english = text.split("## en-de")
    line = "pytorch-seq2seq): Transformer (older) | 9.0 M |  |  |  |  |  | 36.52 |"
    assert line in german and line not in english
    assert "Revisit-MMT): transformer-tiny |  |  |  |  | 41.02 |  |  |" in english
    # The best of each column is what the best run is held against.
    greedy = "lower-cased, greedy: `bahdanau` has 37.00, 0.48 more than bentrevett/"
    assert f"{greedy}pytorch-seq2seq's Transformer (older)." in german
    assert "13a: `bahdanau` has 31.00, 2.47 **less** than msarmi9/" in german
    assert "lower-cased: `bahdanau` has 34.00, 7.02 **less** than LividWo" in english
    assert text.count("- `python recipes/bahdanau.py --scale multi30k`: 30 min") == 2
    missing = text.split("Not run yet: ")[1]
    assert "luong_local en-de" in missing and "bahdanau" not in missing


def test_what_came_out_worse_stands_apart():
    row = {**TOLD, "training": "9 minutes", "commit": "0123abc", "reference_words": 9}
    row["bleu"] = dict.fromkeys(strict.WAYS, 30.0)
    worse = {
        **row,
        "command": "python --set x=1",
        "bleu": dict.fromkeys(strict.WAYS, 20),
        "note": "without it 30",
    }
    kept, tried = strict.page([row], [worse]).split("## Tried, and not better")
    assert "30.00" in kept and "20.00" not in kept and "x=1" not in kept
    assert "| `bahdanau` | de-en | 5 | 20.00 |" in tried and "30.00" not in tried
    assert "- `python --set x=1`: 9 minutes, commit 0123abc; without it 30" in tried
    assert "Tried" not in strict.page([row])


TOLD = {"name": "bahdanau", "direction": "de-en", "parameters": 5, "command": "python"}


@pytest.fixture
def two_sentences(monkeypatch):
    data = SimpleNamespace(references=[["A dog runs ."], ["Two men walk slowly ."]])
    monkeypatch.setattr(strict.zoo.data, "load", lambda *args, **kwargs: data)
    monkeypatch.setattr(strict, "tokenizer", lambda words, language: str)


def test_translations_are_kept_and_scored(tmp_path, two_sentences):
    right = ["A dog runs .", "Two men walk slowly ."]
    strict.keep(tmp_path, TOLD, {5: ["A dog\u2028runs .", ""], 1: right})
    lines = (tmp_path / "bahdanau-de-en.txt").read_bytes()
    assert lines == b"A dog runs .\n\n"
    other = {**TOLD, "direction": "en-de", "name": "transformer"}
    strict.keep(tmp_path, other, {5: right})
    first, second = (strict.row(*found) for found in strict.records(tmp_path))
    assert (first["name"], second["name"]) == ("transformer", "bahdanau")
    assert first["bleu"]["13a", False, 5] == pytest.approx(100)
    assert not [beam for *_, beam in first["bleu"] if beam == 1]
    assert second["bleu"]["13a", False, 5] < 50
    assert second["bleu"]["spacy", True, 1] == pytest.approx(100)
    assert second["reference_words"] == 9


def test_a_truncated_record_is_refused(tmp_path, two_sentences):
    strict.keep(tmp_path, TOLD, {5: ["A dog runs ."]})
    (found,) = strict.records(tmp_path)
    with pytest.raises(SystemExit, match="each of the 2 sentences.*Received: 1 lines"):
        strict.row(*found)


@pytest.mark.skipif(not os.environ.get("ZOO_DATA_DIR"), reason="no real corpora here")
def test_the_committed_page_has_the_kept_scores():
    kept = strict.records(strict.ROOT / "docs" / "multi30k")
    page = (strict.ROOT / "docs" / "multi30k.md").read_text(encoding="utf-8")
    assert kept
    for told, found in kept:
        source, target = told["direction"].split("-")
        data = strict.zoo.data.load("multi30k", source, target, split=strict.SPLIT)
        references = [several[0] for several in data.references]
        cased, lower = (
            strict.bleu(found[5], references, target, "13a", lower=lower)
            for lower in (False, True)
        )
        part = page.split(f"\n## {told['direction']}\n")[1].split("\n## ")[0]
        line = f"| `{told['name']}` | {told['parameters']:,} | {cased:.2f} |"
        assert f"{line} {lower:.2f} |" in part


def test_a_run_is_translated_by_beam_and_greedily(tmp_path, monkeypatch):
    folder = write(tmp_path) / "preset" / "bahdanau"
    card = {"recipe": "python", "commit": "0123abc"}
    card |= {"training_time": "3 minutes, 2 epochs", "machine": "1 CPU core"}
    (folder / "card.json").write_text(json.dumps(card))
    model = SimpleNamespace(
        backbone=SimpleNamespace(count_params=lambda: 5),
        translate=lambda texts, beam_size: [f"{text} {beam_size}" for text in texts],
    )
    data = SimpleNamespace(sources=("Ein Hund", "Zwei"))
    monkeypatch.setattr(strict.zoo, "load", {folder: model}.get)
    monkeypatch.setattr(strict.zoo.data, "load", lambda *args, **kwargs: data)
    told, found = strict.translated(tmp_path, "bahdanau", ("de", "en"))
    assert found == {5: ["Ein Hund 5", "Zwei 5"], 1: ["Ein Hund 1", "Zwei 1"]}
    assert told["direction"] == "de-en" and told["parameters"] == 5
    assert told["training"] == "3 minutes, 2 epochs, 1 CPU core"
