"""The study's part of the page and its claims, from runs that are made up."""

import shutil

import numpy as np
import pytest

from tools.papers.arms import ARMS
from tools.papers.counts import bleu_counts, pack, reading_counts
from tools.papers.page import PAGE, claims, figures, study, write_page
from tools.papers.significance import better, verdict
from tools.papers.study_table import Result

pytestmark = pytest.mark.backend_free

WORDS = "ein Hund rennt schnell durch den tiefen weißen Schnee davon".split()


def run(arm, seed, right, size=60):
    """A run that translates each sentence but for some words; `right` of ten are."""
    draw = np.random.default_rng([seed, right, len(arm)])
    sources = ["a dog runs " * (1 + i % 6) for i in range(size)]
    texts = []
    for _ in range(size):
        wrong = draw.permutation(10)[: 10 - right]
        texts.append(" ".join("x" if i in wrong else w for i, w in enumerate(WORDS)))
    counts = bleu_counts(sources, [[" ".join(WORDS)]] * size, texts)
    links = np.tile([5, 6, 10, 8, 6, 7, 3, 5, 1, 10], (size, 1))
    row = {
        "arm": arm,
        "seed": seed,
        "parameters": 1_234_567,
        "seconds": 330,
        "scores": {},
        "counts": {
            **dict.fromkeys(("beam 5", "beam 1", "beam 2", "beam 12"), pack(counts)),
            "reading": pack(reading_counts([[-2.0, -1.5]] * size)),
            "links": pack(links),
        },
    }
    return Result(row)


def runs(seeds=3, **rights):
    return {
        (a, s): run(a, s, r) for a, r in rights.items() for s in range(1, seeds + 1)
    }


def told(found, failed=()):
    return "\n\n".join([*study(found, dict(failed)), claims(found)])


def test_without_a_run_all_is_undecided():
    text = told({})
    assert "0 of 140 runs are done" in text
    assert "| **undecided**: – |" in text and "**holds**" not in text


def test_tables_have_means_and_deviations():
    found = runs(general=9, general_plain=7, none=5)
    text = told(found)
    values = [found["general", seed].score("bleu") for seed in (1, 2, 3)]
    mean = f"{np.mean(values):.1f} ± {np.std(values, ddof=1):.1f}"
    # ln perplexity of 1.75 a token; AER 1 - (5 + 6) / 18.
    rest = "5.75 ± 0.00 | 0.389 ± 0.000 | 0.300 ± 0.000 | 0.500 ± 0.000 |"
    assert f"| `general` | {ARMS['general'].words} | {mean} | {rest}" in text
    assert "9 of 140 runs are done" in text and "![BLEU of each arm" in text


def test_claims_are_told_plainly():
    found = runs(general=7, general_plain=9, none=5, none_forward=5)
    found |= runs(2, dot=9)
    text = told(found)
    attention = "attention is better than the last states alone"
    line = next(x for x in text.splitlines() if x.startswith(f"| {attention}"))
    assert "| **holds**: general_plain against none +" in line and "(p" not in line
    feeding = next(x for x in text.splitlines() if x.startswith("| input feeding"))
    assert "| **does not hold**: general against general_plain -" in feeding
    reversed_ = next(
        x for x in text.splitlines() if x.startswith("| without attention")
    )
    assert "**undecided**" in reversed_ and "detectable" in reversed_
    dot = next(x for x in text.splitlines() if x.startswith("| dot is better than gen"))
    assert "**undecided**" in dot and "detectable" not in dot


def test_of_many_contrasts_the_least_sure_is_shown():
    nets = {f"n{i}": 1.0 + i for i in range(4)}
    found = {
        ("birnn", seed): Result(
            {
                "arm": "birnn",
                "seed": seed,
                "scores": {k: v + seed * v / 9 for k, v in nets.items()},
            }
        )
        for seed in (1, 2, 3)
    }
    contrasts = [
        better(("birnn", "n0"), ("birnn", other), words=f"n0 against {other}")
        for other in ("n3", "n1", "n2")
    ] + [better(("birnn", "n2"), ("birnn", "n1"), words="n2 against n1")]
    result, estimates = verdict(contrasts, found)
    text = figures(contrasts, estimates, result)
    least = "the least sure: n2 against n1 -"
    assert text.startswith(f"3 of 4 differences are above 0; {least}")


def test_failed_runs_are_listed():
    failed = {("post_cold", 2): {"failed": "The loss is not finite"}}
    text = told(runs(1, none=5), failed)
    assert "`post_cold`, seed 2, failed: The loss is not finite." in text


def test_the_committed_page_is_that_of_the_committed_figures(tmp_path):
    shutil.copytree(PAGE.with_suffix(""), tmp_path / "reproduction")
    write_page(tmp_path / "reproduction.md")
    assert (tmp_path / "reproduction.md").read_text("utf-8") == PAGE.read_text("utf-8")
