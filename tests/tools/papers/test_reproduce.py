"""The presets' part of the page of figures, from figures that are made up."""

import types

import pytest

from tools.papers import page, reproduce

pytestmark = pytest.mark.backend_free

BLEU = {"bahdanau": 34.0, "luong_local": 35.25, "seq2seq": 18.0}
RESULTS = {
    "birnn_tasks": {
        "regression": {"for_0": {"error": 0.0013016}, "brnn": {"error": -1e-9}},
        "classification": {"for_0": {"error": 0.19}},
    },
    "lstm_tasks": {
        "adding": {"wrong": 1, "sequences": 24000},
        "order": {"wrong": 9, "sequences": None},
        "reber": {"test_right": 1.0, "sequences": 34048},
    },
}


def scores(names, corpus, beam=5):
    bleu = BLEU[names[0]] if len(names) == 1 else 32.9
    change = {1: -1.0, 2: -0.2, 5: 0.0, 12: 0.0}[beam]
    return {"bleu": bleu + change + 4 * (corpus == "tatoeba"), "chrf": 60.0}


def card(
    name, task="translate", languages=("en", "de"), corpora=tuple(reproduce.TESTS)
):
    data = [{"name": corpus} for corpus in corpora]
    return types.SimpleNamespace(name=name, task=task, languages=languages, data=data)


def test_every_section_has_its_figures():
    perplexity = {"lstm": 104.0, "lstmn_lm": 106.5}
    work = types.SimpleNamespace(
        scores=scores, perplexity=perplexity.get, recipe=RESULTS.get
    )
    cards = [*map(card, BLEU), card("other", corpora=("tatoeba",))]
    cards += [card("back", languages=("de", "en"))]
    cards += [card(name, "generate", ("en",)) for name in perplexity]
    text = page.page(reproduce.measure(work, cards), {}, {})
    for line in (
        "python -m tools.papers.reproduce` at commit ",
        "| preset | BLEU, Multi30k: beam 1 | beam 2 | beam 5 | beam 12 |",
        "| `luong_local` | 34.2 | 35.0 | 35.2 | 35.2 | 39.2 |",
        "| multi30k | `luong_local` | 35.2 | 32.9 |",
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


def test_figures_are_computed_once_for_each_preset_and_text(tmp_path, monkeypatch):
    texts, calls = ["a dog", "two dogs run"], []

    class Model:
        def perplexity(self, texts, batch_size, carry_over):
            assert (batch_size, carry_over) == (1, True)
            return len(texts)

        def translate(self, sources, beam_size):
            calls.append(beam_size)
            return [text.upper() for text in sources]

    work = reproduce.Work(tmp_path)
    work.data = lambda corpus: (texts, [["A DOG"], ["x y z"]])
    monkeypatch.setattr(reproduce, "load", lambda name: Model())
    for _ in range(2):
        assert work.translate(["dates"], "multi30k") == ["A DOG", "TWO DOGS RUN"]
        assert work.scores(["dates"], "multi30k", beam=2)["chrf"] > 0
    assert calls == [5, 2]

    monkeypatch.setattr("zoo.data.corpora.load_ptb", lambda split: texts)
    assert work.perplexity("dates") == 2
