"""The page of figures: its tables, from figures that are made up."""

import math
import types

import numpy as np
import pytest

from tools.papers import page as pages
from tools.papers.reproduce import Work, summary

pytestmark = pytest.mark.backend_free

BLEU = {"bahdanau": 34.0, "luong_local": 35.25, "seq2seq": 18.0}


def results():
    """Figures of three presets, which is all that the page needs."""
    return {
        "made": {
            "command": "python -m tools.papers.reproduce",
            "commit": "0123abc",
            "date": "2026-11-22",
            "machine": "2 CPU cores",
        },
        "bleu": {n: {"multi30k": b, "tatoeba": b + 4} for n, b in BLEU.items()},
        "chrf": {n: {"multi30k": 60.0, "tatoeba": 57.0} for n in BLEU},
        "beams": {n: {1: b - 1, 2: b - 0.2, 5: b, 12: b} for n, b in BLEU.items()},
        "ensemble": {
            "members": list(BLEU),
            "bleu": {"multi30k": 36.9, "tatoeba": 41.5},
        },
        "perplexity": {"lstm": 104.0, "lstmn_lm": 106.5},
        "artificial": {
            "birnn_tasks": {
                "regression": {"for_0": {"error": 0.0013016}, "brnn": {"error": -1e-9}},
                "classification": {"for_0": {"error": 0.19}},
            },
            "lstm_tasks": {
                "adding": {"wrong": 1, "sequences": 24000},
                "order": {"wrong": 9, "sequences": None},
                "reber": {"test_right": 1.0, "sequences": 34048},
            },
        },
    }


def page(found):
    return pages.page(summary(found), {}, {})


def test_every_section_has_its_figures():
    text = page(results())
    for line in (
        "by `python -m tools.papers.reproduce` at commit 0123abc",
        "| preset | BLEU, Multi30k: beam 1 | beam 2 | beam 5 | beam 12 |",
        "| `luong_local` | 34.2 | 35.0 | 35.2 | 35.2 | 39.2 |",
        "| multi30k | `luong_local` | 35.2 | 36.9 |",
        "| `lstmn_lm` | 106.5 | 108 |",
        "| `for_0` | 0.001302 | 0.190000 |",
        "| `brnn` | 0.000000 | – |",
        "| `adding` | 1 | 24,000 | 1 | 74,000 |",
        "| `order` | 9 | not solved | 1 | 31,390 |",
        "| `reber` | 100% of strings right | 34,048 | – | 8,440 |",
        "starring at something.](reproduction/alignment_1.svg)",
    ):
        assert line in text, line
    names = [line.split("`")[1] for line in text.splitlines() if line[:3] == "| `"]
    assert names[:3] == ["luong_local", "bahdanau", "seq2seq"]


def test_without_language_models_and_ensemble_their_sections_are_left_out():
    found = results()
    del found["ensemble"]
    found["perplexity"] = {}
    text = page(found)
    assert "ensemble" not in text and "## Language models" not in text


def test_figures_are_computed_once_for_each_preset_and_text(tmp_path, monkeypatch):
    texts, calls = ["a dog", "two dogs run"], []

    class Model:
        @property
        def preprocessor(self):
            return types.SimpleNamespace(
                encode=lambda texts: [t.split() for t in texts]
            )

        def translate(self, sources, beam_size):
            calls.append(beam_size)
            return [text.upper() for text in sources]

    work = Work(tmp_path)
    work.data = lambda corpus: {"sources": texts, "references": [["A DOG"], ["x y z"]]}
    work.model = lambda names: Model()
    for _ in range(2):
        assert work.translate(["dates"], "multi30k") == ["A DOG", "TWO DOGS RUN"]
        assert work.scores(["dates"], "multi30k", beam=2)["chrf"] > 0
    assert calls == [5, 2]

    monkeypatch.setattr("zoo.data.corpora.load_ptb", lambda split: texts)
    scores = np.array([[-3.0, 0.0], [-4.0, 0.0]])
    monkeypatch.setattr("zoo.decoding.word_methods.document_scores", lambda *_: scores)
    # 2 + 3 words and an end of each sentence.
    assert work.perplexity("dates") == pytest.approx(math.exp(7 / 7))
