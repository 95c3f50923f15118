import types

import numpy as np
import pytest
from sacrebleu.metrics import BLEU, CHRF

from zoo.analysis.evaluation import (
    corpus_scores,
    grounding,
    sst_accuracy,
    worst_translations,
)
from zoo.data import Labelled
from zoo.data import corpora as texts

pytestmark = pytest.mark.backend_free

HYPOTHESES = [
    "Ein Hund rennt im Park.",
    "Zwei Kinder spielen mit dem Ball.",
    "die Katze schläft auf dem Sofa",
]
REFERENCES = [
    ["Ein Hund läuft im Park.", "Im Park rennt ein Hund.", "Ein Hund rennt."],
    ["Zwei Kinder spielen Ball."],
    ["Die Katze schläft auf dem Sofa.", "Auf dem Sofa schläft die Katze."],
]


@pytest.mark.parametrize(("most", "count"), [(1, "1"), (3, "var")])
def test_scores_are_sacrebleus_for_any_number_of_references(most, count):
    """Repeating a reference changes no score: it can stand for a missing one."""
    references = [several[:most] for several in REFERENCES]
    streams = [[refs[k % len(refs)] for refs in references] for k in range(most)]
    scores = corpus_scores(HYPOTHESES, references)
    for name, metric in (("bleu", BLEU()), ("chrf", CHRF())):
        expected = metric.corpus_score(HYPOTHESES, streams).score
        assert scores[name]["score"] == pytest.approx(expected, abs=1e-9)
        signature = str(metric.get_signature())
        signature = signature.replace(f"nrefs:{most}", f"nrefs:{count}")
        assert scores[name]["signature"] == signature
    assert 0 < scores["bleu"]["score"] < 100
    assert f"nrefs:{count}|case:mixed" in scores["bleu"]["signature"]
    assert "tok:13a" in scores["bleu"]["signature"]  # of a language that isn't told


def test_an_empty_translation_is_scored():
    scores = corpus_scores(["", "a b c d e"], [["x"], ["a b c d e"]])
    assert 0 < scores["bleu"]["score"] < 100


@pytest.mark.parametrize(
    ("hypotheses", "references", "message"),
    [
        ([], [], "0 and 0"),
        (["a"], [["a"], ["b"]], "1 and 2"),
        (["a", "b"], [["a"], []], r"references\[1\]=\[\]"),
        (["a"], ["a"], r"references\[0\]='a'"),
    ],
)
def test_what_cannot_be_scored_is_refused(hypotheses, references, message):
    with pytest.raises(ValueError, match=f"Received.*{message}"):
        corpus_scores(hypotheses, references)


def test_the_worst_translations_are_those_of_lowest_chrf():
    sources, several, texts = (
        ["three", "two", "one"],
        REFERENCES[::-1],
        HYPOTHESES[::-1],
    )
    found = worst_translations(sources, several, texts, count=3)
    metric, scores = CHRF(), {}
    for source, references, text in zip(sources, several, texts, strict=True):
        scores[source] = max(metric.sentence_score(text, [r]).score for r in references)
    order = [example["source"] for example in found]
    assert order == sorted(sources, key=scores.get) != sources
    by_source = {example["source"]: example for example in found}
    assert by_source["one"] == {
        "source": "one",
        "reference": "Ein Hund rennt.",
        "output": "Ein Hund rennt im Park.",
    }
    assert worst_translations(sources, several, texts, count=1) == found[:1]


@pytest.mark.parametrize(
    ("language", "tokenizer"),
    [("de", "13a"), ("zh-CN", "zh"), ("cmn", "zh"), ("jpn", "char"), ("und", "char")],
)
def test_bleu_of_languages_without_spaces(language, tokenizer):
    scores = corpus_scores(["他喜欢狗。"], [["他喜欢猫。"]], language)
    assert f"tok:{tokenizer}" in scores["bleu"]["signature"]
    assert (scores["bleu"]["score"] > 30) == (tokenizer != "13a")


def test_grounding_by_hand():
    """A grid of 2 × 4 places; the first box meets two places, the second one."""
    first = np.zeros((2, 4))
    first[0, 1], first[1, 3] = 0.75, 0.25
    second = np.full((2, 4), 0.125)
    boxes = [(0.3, 0.1, 0.6, 0.4), None, (0.0, 0.6, 0.2, 1.0)]
    found = grounding([np.stack([first, first, second])], [boxes])
    # The first's centre: x = 0.75 · 0.375 + 0.25 · 0.875 = 0.5, y = 0.375.
    assert found["words"] == 2
    assert found["peak"] == 50.0  # of the second the first place counts, in the corner
    assert found["centre"] == 50.0
    assert found["mass"] == pytest.approx(100 * (0.75 + 0.125) / 2)
    assert found["chance"] == pytest.approx(100 * (2 / 8 + 1 / 8) / 2)


def test_grounding_needs_a_word_that_names():
    weights = np.full((1, 2, 2), 0.25)
    with pytest.raises(ValueError, match="must name something"):
        grounding([weights], [[None]])
    with pytest.raises(ValueError):
        grounding([weights], [])


class Judge:
    """A classifier whose logits a table has."""

    def __init__(self, classes, logits):
        self.backbone = types.SimpleNamespace(classes=classes)
        self.preprocessor = types.SimpleNamespace(
            encode=lambda texts: [[4 + int(text)] for text in texts]
        )
        self.table = np.array(logits, "float32")

    def logits(self, inputs):
        return self.table[np.maximum(inputs["token_ids"][:, 0] - 4, 0)]


def test_accuracy_on_the_treebank(monkeypatch):
    def load(split, labels):
        assert split == "dev"
        if labels == "fine":
            return Labelled(["0", "1", "2"], [0, 2, 3], texts.FINE)
        return Labelled(["0", "2"], [0, 1], texts.BINARY)

    monkeypatch.setattr(texts, "load_sst", load)
    # Text 2: "very positive" is likeliest, but both negative classes together more so.
    rows = [[2, 0, 0, 0, 1], [0, 0, 1, 0, 0], [1.5, 1.5, 0, 0, 2]]
    found = sst_accuracy(Judge(texts.FINE, rows), "dev")
    assert found == {"fine": pytest.approx(2 / 3), "binary": 0.5}
    found = sst_accuracy(Judge(texts.BINARY, [[1, 0], [1, 0], [0, 1]]), "dev")
    assert found == {"binary": 1.0}
    with pytest.raises(ValueError, match="must be .*Received: .'yes', 'no'"):
        sst_accuracy(Judge(("yes", "no"), []), "dev")
