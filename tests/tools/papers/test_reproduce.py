"""The page of figures: its tables and its verdicts, from figures that are made up."""

import math

import numpy as np
import pytest
from scipy import stats

from tools.papers import page as pages
from tools.papers.claims import compared, compared_models, judge
from tools.papers.reproduce import Work, blocks, paired_p, summary
from tools.papers.verdicts import WITHOUT_ATTENTION

pytestmark = pytest.mark.backend_free

NAMES = (
    "bahdanau",
    "luong_global",
    "luong_local",
    "luong_reversed",
    "rnn_encoder_decoder",
    "seq2seq",
)


def results(**bleu):
    """Figures of the presets named, which is all that the page needs."""
    multi30k = {"bahdanau": 34.0, "luong_global": 35.0, "seq2seq": 18.0}
    multi30k |= {"rnn_encoder_decoder": 17.0, "luong_local": 35.25}
    multi30k |= {"luong_reversed": 34.5, **bleu}
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
    found = {
        "made": {
            "command": "python -m tools.papers.reproduce",
            "commit": "0123abc",
            "date": "2026-11-22",
            "machine": "2 CPU cores",
        },
        "cards": cards,
        "bleu": {n: {"multi30k": b, "tatoeba": b + 4} for n, b in multi30k.items()},
        "chrf": {n: {"multi30k": 60.0, "tatoeba": 57.0} for n in multi30k},
        "lengths": {
            n: [(1, 8, 30, b), (9, 19, 0, None), (20, None, 12, b * long(n))]
            for n, b in multi30k.items()
        },
        "joined": {
            n: {k: {"bleu": b / k, "length": 0.8} for k in (2, 4)}
            for n, b in multi30k.items()
        },
        "joined_sources": {2: (500, 23.75), 4: (250, 47.5)},
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
                    "back_0": {"error": 0.0024, "limit": 0.0023},
                    "for_15": {"error": 0.0038, "limit": 0.0},
                    "merge_0": {"error": 0.0009},
                    "brnn": {"error": 0.0001, "limit": 0.0},
                },
                "classification": {
                    "for_0": {"error": 0.19, "limit": 0.188},
                    "brnn": {"error": 0.02, "limit": 0.0},
                },
            },
            "lstm_tasks": {
                "adding": {"wrong": 1, "sequences": 24000},
                "order": {"wrong": 9, "sequences": None},
                "reber": {"test_right": 1.0, "sequences": 34048},
            },
        },
    }
    found["p"] = {
        corpus: dict.fromkeys(pairs, 0.01) for corpus, pairs in compared(found).items()
    }
    found["p"]["ptb"] = dict.fromkeys(compared_models(found), 0.01)
    return found


def long(name):
    """The share of its BLEU that a preset keeps on long sentences."""
    return 0.4 if name in WITHOUT_ATTENTION else 0.95


def page(found):
    return pages.page(summary(found), {}, {})


def verdicts(found):
    return {claim: verdict for claim, _, verdict, _ in judge(found)}


def test_every_section_has_its_figures():
    text = page(results())
    for line in (
        "Made by `python -m tools.papers.reproduce` at commit 0123abc",
        "| `luong_local` | 35.2 | 39.2 | 60.0 | 57.0 |",
        "| words of the source | 1–8 | 9–19 | 20+ |",
        "| sentences | 30 | 0 | 12 |",
        "| `seq2seq` | 18.0 | – | 7.2 |",
        "With 4 captions joined into one source (48 words",
        "`luong_local` is best with 8.8 BLEU, and 0 of 6 presets stop early",
        "| preset | 1 | 2 | 5 | 12 |",
        "| `bahdanau` | 33.0 | 33.8 | 34.0 | 34.0 |",
        "| multi30k | `luong_local` | 35.2 | 36.9 |",
        "| `lstmn_lm` | 106.5 | 108 |",
        "| `for_0` | 0.001302 | 0.190000 |",
        "| `back_0` | 0.002400 | – |",
        "| `adding` | 1 | 24,000 | 1 | 74,000 |",
        "| `order` | 9 | not solved | 1 | 31,390 |",
        "| `reber` | 100% of strings right | 34,048 | – | 8,440 |",
        "starring at something.](reproduction/alignment_1.svg)",
        "![BLEU by length](reproduction/lengths.svg)",
    ):
        assert line in text, line


def test_unlike_rates_are_told():
    found = results()
    assert "with different" not in page(found)
    found["cards"]["luong_global"]["configuration"]["optimizer"] = {
        "learning_rate": 8e-3
    }
    assert ", with different rates: 0.004 and 0.008 |" in page(found)
    found["cards"]["lstmn_lm"]["configuration"]["initializer_range"] = 0.15
    assert "(p 0.010), with different initial ranges: 0.15 and None" in page(found)


def test_unlike_models_are_told():
    found = results()
    for name, units in (("luong_reversed", 256), ("seq2seq", 384)):
        found["cards"][name]["configuration"]["model"] = {"hidden_dim": units}
    assert ", with different units: 256 and 384 |" in page(found)


def test_every_pair_of_a_claim_is_tested():
    names = ("luong_local_m", "luong_dot", "luong_concat", "luong_location")
    found = results(transformer=36.0, **dict.fromkeys(names, 36.0))
    pairs = compared(found)["tatoeba"]
    assert ("luong_dot", "luong_location") in pairs and len(pairs) == 10
    assert len(judge(found)) == 17  # of all claims


def test_the_best_may_be_another_on_each_test_set():
    found = results(transformer=36.0)
    found["bleu"]["bahdanau"]["tatoeba"] = 50.0
    pairs = compared(found)
    assert ("transformer", "luong_local") in pairs["multi30k"]
    assert ("transformer", "bahdanau") in pairs["tatoeba"]


def test_p_is_sacrebleus(tmp_path):
    right = [f"a{n} b c d e" for n in range(40)]
    wrong = [f"a{n} b x d e" for n in range(40)]
    texts = {"right": right}
    for name, odd in (("even", 0), ("odd", 1)):  # half of them wrong
        pairs = enumerate(zip(right, wrong, strict=True))
        texts[name] = [pair[n % 2 == odd] for n, pair in pairs]
    work = Work(tmp_path)
    work.data = lambda corpus: {
        "references": [[right[0], "k"], *([t] for t in right[1:])]
    }
    work.translate = lambda names, corpus: texts[names[0]]
    assert work.p({}, "right", "even", "multi30k") < 0.01
    assert work.p({}, "odd", "even", "multi30k") > 0.1


def test_the_transformer_is_held_against_the_best():
    def verdict(bleu):
        found = verdicts(results(transformer=bleu))
        return next(v for claim, v in found.items() if claim.startswith("the Transf"))

    assert verdict(36.0) == "yes"
    # Better than RNNsearch, and not than local-p.
    assert verdict(34.6) == "no"


def test_without_language_models_and_ensemble_their_sections_are_left_out():
    found = results()
    del found["ensemble"]
    found["perplexity"] = {}
    text = page(found)
    assert "## Ensemble" not in text and "## Language models" not in text
    judged = verdicts(found)
    assert not any("ensemble" in claim or "LSTMN" in claim for claim in judged)


def test_the_claims_are_judged_by_the_figures():
    found = verdicts(results())
    assert found["attention is better than one fixed vector"] == "yes"
    assert found["a model without attention loses more on long sentences"] == "yes"
    assert found["with attention BLEU doesn't fall with length"] == "yes"
    assert found["a beam of 2 brings most of what a beam of 12 brings"] == "yes"
    assert found["an ensemble is better than its best member"] == "yes"
    assert found["LSTMN has a lower perplexity than LSTM"] == "no"
    [both] = [found[claim] for claim in found if claim.startswith("a net that reads")]
    assert both == "yes"
    assert found["the merged answers of two nets err less than either"] == "yes"
    assert not any("Transformer" in claim for claim in found)


@pytest.mark.parametrize(
    ("local", "p", "verdict"),
    [(36.0, 0.01, "yes"), (34.0, 0.01, "no"), (36.0, 0.06, "undecided")],
)
def test_a_difference_counts_if_it_is_hardly_by_chance(local, p, verdict):
    found = results(luong_local=local)
    found["p"]["tatoeba"]["luong_local", "luong_global"] = p
    claim = "local-p is better than global attention (both general)"
    assert verdicts(found)[claim] == verdict
    assert f"tatoeba {local + 4:.1f} against 39.0 (p {p:.3f})" in page(found)


@pytest.mark.parametrize(
    ("perplexity", "p", "verdict"),
    [(103.0, 0.01, "yes"), (106.5, 0.01, "no"), (103.9, 0.6, "undecided")],
)
def test_a_difference_of_perplexity_counts_likewise(perplexity, p, verdict):
    found = results()
    found["perplexity"]["lstmn_lm"] = perplexity
    found["p"]["ptb"]["lstmn_lm", "lstm"] = p
    assert verdicts(found)["LSTMN has a lower perplexity than LSTM"] == verdict
    assert f": {perplexity:.1f} against 104.0 (p {p:.3f})" in page(found)


def test_the_paired_test():
    draw = np.random.default_rng(1)
    some = draw.normal(-160, 30, 2000)
    noise = draw.normal(0, 2, 2000)
    differences = 0.05 + noise
    error = differences.std(ddof=1) / 2000**0.5
    expected = 2 * stats.norm.sf(abs(differences.mean()) / error)
    assert 0.05 < expected < 0.95
    assert paired_p(some, some + 0.05 + noise) == pytest.approx(expected, abs=1e-3)
    assert paired_p(some, some + 0.5 + noise) < 1e-6
    assert paired_p([1.0, 2.0] * 15, [1.0, 2.0] * 15) == 1
    assert paired_p([1.0, 2.0] * 15, [2.0, 3.0] * 15) == 0
    assert paired_p([1.0], [2.0]) == paired_p([1.0] * 29, [2.0] * 29) == 1


def test_perplexities_are_compared_block_by_block(tmp_path, monkeypatch):
    assert blocks(list(range(45))) == [190, 590, 210]
    work = Work(tmp_path)
    kept = {"lstm": [-1.0] * 1200, "lstmn_lm": ([-1.0] * 20 + [-1.1] * 20) * 30}
    segments = {name: {"scores": s, "words": 2400} for name, s in kept.items()}
    monkeypatch.setattr(work, "segments", segments.get)
    assert work.perplexity("lstm") == pytest.approx(math.exp(0.5))
    expected = 2 * stats.t.sf(59**0.5, 59)  # 30 differences of 0 and 30 of 2
    assert work.p_of_segments("lstmn_lm", "lstm") == pytest.approx(expected)


def test_what_the_test_sets_disagree_on_is_undecided():
    found = results(luong_local=37.0)
    found["bleu"]["luong_local"]["tatoeba"] = 30.0
    for corpus, pairs in compared(found).items():
        found["p"][corpus] = dict.fromkeys(pairs, 0.01)
    claim = "local-p is better than global attention (both general)"
    assert verdicts(found)[claim] == "undecided"


def test_a_model_that_falls_with_length_is_told():
    found = results()
    found["lengths"]["bahdanau"][-1] = (20, None, 12, 10.0)
    told = verdicts(found)
    loses, holds = (
        "a model without attention loses more on long sentences",
        "with attention BLEU doesn't fall with length",
    )
    assert told[loses] == "undecided" and told[holds] == "undecided"
    for name in set(found["lengths"]) - set(WITHOUT_ATTENTION):
        found["lengths"][name][-1] = (20, None, 12, 10.0)
    told = verdicts(found)
    assert told[loses] == "no" and told[holds] == "no"


def test_a_beam_of_two_can_bring_most_to_some_only():
    found, claim = results(), "a beam of 2 brings most of what a beam of 12 brings"
    found["beams"]["bahdanau"] = {1: 30.0, 2: 30.5, 5: 31.0, 12: 32.0}
    assert verdicts(found)[claim] == "undecided"
    assert "a beam of 2 brings most to 5 of 6 presets" in page(found)
