"""The study's part of docs/reproduction.md, and the table of verdicts."""

import math

import numpy as np

from tools import markdown
from tools.papers.arms import ARMS, EPOCHS, SEEDS, plan
from tools.papers.claims import CLAIMS
from tools.papers.counts import measure_of
from tools.papers.significance import (
    LEAST,
    POWER,
    UNTOLD,
    verdict,
)
from tools.papers.study_pictures import pictures, runs_of
from tools.papers.verdicts import SURE, format_p

COMMAND = "KERAS_BACKEND=jax OMP_NUM_THREADS=1 python -m tools.papers.study"
PUBLISHED = {"location": "0.39", "local_m": "0.34", "local_p": "0.36"}  # AER
SHOWN = 3  # contrasts of a claim that are shown one by one


def study(results, failed):
    """The study's own part of the page, a list of Markdown blocks.

    Args:
        results, failed: of `tools.papers.study_table.read`.
    """
    return [
        "## Several seeds",
        _introduction(results, failed),
        *_scores(results),
        *_alignments(results),
        *(f"![{words}](reproduction/{name})" for name, words, _ in pictures(results)),
    ]


def _introduction(results, failed):
    total = len(plan())
    seeds = [sum(arm == name for arm, _ in results) for name in ARMS]
    told = (
        "The presets have one seed each. Here smaller models are trained with "
        f"{SEEDS} seeds each, about ten minutes a run on one core: translators on "
        f"Multi30k alone for {EPOCHS['translators']} epochs, language models on the "
        f"Penn Treebank for {EPOCHS['language models']}, captioners on generated "
        f"scenes for {EPOCHS['captioners']}. Sizes and rates are in "
        "`tools/papers/arms.py`; [study.jsonl](reproduction/study.jsonl) has a line "
        "for each run, with the counts of each sentence."
    )
    done = f"**{len(results)} of {total} runs are done**"
    if len(results) + len(failed) < total:
        enough = sum(count >= LEAST for count in seeds)
        done += (
            f"; {enough} of {len(ARMS)} arms have {LEAST} seeds or more. The rest is "
            f"done by `{COMMAND}`, which resumes where it was stopped, and `python -m "
            "tools.papers.study --page` writes this page"
        )
    broken = [
        f"`{arm}`, seed {seed}: {row['failed']}" for (arm, seed), row in failed.items()
    ]
    ends = f" Broken off: {'; '.join(broken)}." if broken else ""
    return f"{told} {done}.{ends}"


# === Tables ===


def spread(values, digits=1):
    """Mean and deviation in words; of one value, that alone."""
    mean = f"{np.mean(values):.{digits}f}"
    return f"{mean} ± {np.std(values, ddof=1):.{digits}f}" if len(values) > 1 else mean


def cells(runs, names):
    """Mean and deviation of several scores; a dash for those the runs don't have."""
    row = []
    for name in names:
        has = runs and runs[0].has(name)
        digits = measure_of(name).digits
        row.append(spread([run.score(name) for run in runs], digits) if has else "–")
    return row


def _scores(results):
    """Tables of translators, language models and captioners, group by group."""
    parts = []
    for kind, names in (
        ("translator", ("bleu", "perplexity")),
        ("language model", ("perplexity",)),
        ("captioner", ("true", "looks", "words")),
    ):
        rows = []
        for arm, one in ARMS.items():
            runs = runs_of(results, arm)
            if one.kind != kind or not runs:
                continue
            weights = f"{runs[0].row['parameters']:,}"
            minutes = f"{np.median([run.row['seconds'] for run in runs]) / 60:.0f}"
            row = [f"`{arm}`", one.words, str(len(runs)), weights, minutes]
            rows.append(row + cells(runs, names))
        if rows:
            heads = ["arm", "", "seeds", "weights", "minutes"]
            heads += [measure_of(name).title for name in names]
            parts.append(markdown.table(heads, rows, numbers_from=2))
    if parts:
        parts.append(
            "±: standard deviation over the seeds. BLEU: test_2016_flickr, beam 5. "
            "Perplexity: for each piece of the references (translators) or word of the "
            "test text (language models). True captions: the share of 1,000 new scenes "
            "whose caption, by beam 5, is true. Sharpest looks: the share of phrases "
            "where the place of most attention, at the word of the highest weight, "
            "meets the thing; words: the same at each of their words. Minutes: of "
            "training on a shared machine, pauses included, median over the seeds."
        )
    return parts


def _alignments(results):
    names = ("aer", "aer moved", "left", "on", "right")
    rows = [
        [f"`{arm}`", str(len(runs)), *cells(runs, names), PUBLISHED.get(arm, "–")]
        for arm in ARMS
        if (runs := runs_of(results, arm)) and runs[0].has("aer")
    ]
    if not rows:
        return ()
    heads = ["arm", "seeds", *(measure_of(name).title for name in names)]
    heads.append("AER, Luong et al.")
    return (
        "Where attention lies when the model reads the references, against "
        "[the links](reproduction/links.txt) of eflomal, a statistical aligner "
        "(`tools/papers/aligner.py`), in the same text: alignment error rate, less is "
        "better; the same after each link is moved by one word to the right; and of "
        "the words that the aligner links to one word, how many have their largest "
        "weight one word left of it, on it, one word right. Luong et al. 2015, table "
        "6, is against links drawn by hand, in other text.",
        markdown.table(heads, rows),
    )


# === Claims ===


def method():
    """How the study judges, in words."""
    return (
        "[The study](#several-seeds) trains five models of each kind, an arm. A "
        "difference is taken seed by seed; its error has two parts, the spread over "
        "seeds and that over the test's sentences, resampled 1,000 times "
        f"(`tools/papers/significance.py`). ± is the {1 - SURE:.0%} interval. A claim "
        f"holds or does not if p is below {SURE}, with {LEAST} seeds or more; if no "
        "difference were real, up to one claim in twenty would still get a verdict. "
        "Undecided claims give the detectable difference, the least that these seeds "
        f"find with a chance of {POWER:.0%}."
    )


def claims(results, presets):
    """The table of verdicts.

    Args:
        results: see `study`.
        presets: dict of a claim to its verdict by the presets and the figures.
    """
    rows = []
    for claim in CLAIMS:
        by_study = "–"
        if claim.study:
            told, estimates = verdict(claim.study, results)
            by_study = f"**{told}**: {figures(claim.study, estimates, told)}"
        by_presets = ": ".join(presets.get(claim.text, ("–",)))
        rows.append([claim.text, claim.source, by_study, by_presets])
    heads = ["claim", "source", "five seeds", "presets"]
    return markdown.table(heads, rows, numbers_from=None)


def figures(contrasts, estimates, told):
    """The figures of a claim in words."""
    known = [pair for pair in zip(contrasts, estimates, strict=True) if pair[1]]
    if not known:
        return "–"
    if len(known) <= SHOWN:
        return "; ".join(_figure(*pair, told) for pair in known)
    # The one that is least sure to be above 0.
    worst = min(known, key=lambda pair: _statistic(pair[1]))
    above = sum(one.mean > 0 for _, one in known)
    return (
        f"{above} of {len(contrasts)} above 0; the least sure: {_figure(*worst, told)}"
    )


def _statistic(one):
    error = one.error()
    return one.mean / error if error else math.copysign(math.inf, one.mean)


def _figure(contrast, one, told):
    digits = max(measure_of(name).digits for _, _, name in contrast.terms) + 1
    words = f"{contrast.words} {one.mean:+.{digits}f}"
    if one.seeds < 2:
        return words
    words += f" ± {one.interval:.{digits}f}"
    words += "" if one.p < 0.001 else f" ({format_p(one.p)})"
    if told != UNTOLD or one.seeds < LEAST or (one.p < SURE and one.mean > 0):
        return words
    return f"{words}, detectable {one.detectable():.{digits}f}"
