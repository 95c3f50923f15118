"""The page of figures: its tables and its verdicts, from figures that are made up."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

from reproduce_claims import judge  # noqa: E402
from reproduce_page import page  # noqa: E402

NAMES = ("bahdanau", "luong_global", "rnn_encoder_decoder", "seq2seq", "luong_local")


def results(**bleu):
    """Figures of the presets named, which is all that the page needs."""
    multi30k = {"bahdanau": 34.0, "luong_global": 35.0, "seq2seq": 18.0}
    multi30k |= {"rnn_encoder_decoder": 17.0, "luong_local": 35.25, **bleu}
    cards = {
        name: {
            "training_time": "84 minutes",
            "sizes": {"parameters": 5_000_000},
            "configuration": {
                "epochs": 3,
                "optimizer": {"learning_rate": 4e-3},
                "batch": {"batch_tokens": 768},
            },
        }
        for name in (*NAMES, "lstm", "lstmn_lm")
    }
    joined = {2: 0.98, 4: 0.96}
    return {
        "made": {
            "command": "python tools/reproduce.py",
            "commit": "0123abc",
            "date": "2026-11-22",
            "machine": "2 CPU cores",
        },
        "cards": cards,
        "bleu": {n: {"multi30k": b, "tatoeba": b + 4} for n, b in multi30k.items()},
        "chrf": {n: {"multi30k": 60.0, "tatoeba": 57.0} for n in multi30k},
        "lengths": {
            n: [(1, 8, 30, b), (9, None, 0, None)] for n, b in multi30k.items()
        },
        "joined": {
            n: {
                k: b * (s if n[:2] in ("ba", "lu") else s / 3)
                for k, s in joined.items()
            }
            for n, b in multi30k.items()
        },
        "beams": {n: {1: b - 1, 2: b - 0.2, 5: b, 12: b} for n, b in multi30k.items()},
        "ensemble": {
            "members": list(multi30k),
            "bleu": {"multi30k": 36.9, "tatoeba": 41.5},
        },
        "perplexity": {"lstm": 104.0, "lstmn_lm": 106.5},
        "artificial": {
            "birnn_tasks": {
                "regression": {
                    "for_0": {"error": 0.0013016, "limit": 0.0012997},
                    "merge_0": {"error": 0.0009},
                }
            },
            "lstm_tasks": {
                "adding": {"wrong": 1, "sequences": 24000},
                "order": {"wrong": 9, "sequences": None},
                "reber": {"test_right": 1.0, "sequences": 34048},
            },
        },
        "pictures": {
            "sentences": ["Who?"],
            "alignments": ["alignment_1.svg"],
            "lengths": "lengths.svg",
        },
    }


def verdicts(found):
    return {claim: verdict for claim, _, verdict, _ in judge(found)}


def test_every_section_has_its_figures():
    text = page(results())
    for line in (
        "Made by `python tools/reproduce.py` from the presets",
        "| `luong_local` | 5,000,000 | 3 | 0.004 | 768 | 84 minutes | 35.2 | 39.2 |",
        "| words of the source | 1–8 | 9+ | 2 joined | 4 joined |",
        "| sentences | 30 | 0 |  |  |",
        "| `seq2seq` | 18.0 | – | 5.9 | 5.8 |",
        "| preset | 1 | 2 | 5 | 12 |",
        "| `bahdanau` | 33.0 | 33.8 | 34.0 | 34.0 |",
        "| multi30k | `luong_local` | 35.2 | 36.9 |",
        "| `lstmn_lm` | 5,000,000 | 84 minutes | 106.5 | 108 |",
        "| `for_0` | 0.001302 | 0.001300 |",
        "| `merge_0` | 0.000900 | – |",
        "| `adding` | 1 | 24,000 | 1 | 74,000 |",
        "| `order` | 9 | not solved | 1 | 31,390 |",
        "| `reber` | 100% of strings right | 34,048 | – | 8,440 |",
        "![Who?](reproduction/alignment_1.svg)",
        "![BLEU by length](reproduction/lengths.svg)",
    ):
        assert line in text, line


def test_unlike_rates_are_told():
    found = results()
    assert "but trained with" not in page(found)
    found["cards"]["luong_global"]["configuration"]["optimizer"] = {
        "learning_rate": 8e-3
    }
    assert "; but trained with rates of 0.004 and 0.008 |" in page(found)


def test_unlike_budgets_are_told():
    assert "trained on the same text, 3 epochs each." in page(results())
    found = results()
    found["cards"]["bahdanau"]["configuration"] = {"epochs": 5}
    assert "not for as many epochs" in page(found)


def test_the_transformer_is_held_against_the_best():
    claim = "the Transformer is better than recurrent nets"
    assert verdicts(results(transformer=36.0))[claim] == "yes"
    # Better than RNNsearch, and not than local-p.
    assert verdicts(results(transformer=34.6))[claim] == "no"


def test_without_language_models_and_ensemble_their_sections_are_left_out():
    found = results()
    del found["ensemble"]
    found["perplexity"] = {}
    text = page(found)
    assert "## Ensemble" not in text and "## Language models" not in text
    assert "an ensemble is better" not in text and "LSTMN" not in text


def test_the_claims_are_judged_by_the_figures():
    found = verdicts(results())
    assert found["attention is better than one fixed vector"] == "yes"
    assert found["a model without attention loses more on long sentences"] == "yes"
    assert found["one with attention doesn't: it keeps 90% of its BLEU"] == "yes"
    assert found["a beam of 2 brings most of what a beam brings"] == "yes"
    assert found["an ensemble is better than its best member"] == "yes"
    assert found["LSTMN has a lower perplexity than LSTM"] == "no"
    # A quarter of a point is noise.
    claim = "local-p is better than global attention (both general)"
    assert found[claim] == "undecided"
    assert "the Transformer is better than recurrent nets" not in found


@pytest.mark.parametrize(
    ("local", "verdict"), [(36.0, "yes"), (34.0, "no"), (35.4, "undecided")]
)
def test_a_claim_can_fail(local, verdict):
    found = verdicts(results(luong_local=local))
    claim = "local-p is better than global attention (both general)"
    assert found[claim] == verdict


def test_what_the_test_sets_disagree_on_is_undecided():
    found = results(luong_local=37.0)
    found["bleu"]["luong_local"]["tatoeba"] = 30.0
    claim = "local-p is better than global attention (both general)"
    assert verdicts(found)[claim] == "undecided"


def test_a_model_that_falls_with_length_is_told():
    found = results()
    found["joined"]["bahdanau"] = {2: 20.0, 4: 5.0}
    told = verdicts(found)
    assert told["a model without attention loses more on long sentences"] == "no"
    assert told["one with attention doesn't: it keeps 90% of its BLEU"] == "no"
