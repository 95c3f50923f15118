"""The study's part of docs/reproduction.md, from its table of runs."""

import dataclasses
import math

import numpy as np

from tools import ROOT, markdown
from tools.papers.arms import ARMS, EPOCHS, SEEDS, plan
from tools.papers.claims import CLAIMS, PROBLEMS
from tools.papers.counts import measure_of
from tools.papers.significance import (
    FAILS,
    HOLDS,
    LEAST,
    MOST,
    NOT_RUN,
    POWER,
    UNTOLD,
    verdict,
)
from tools.papers.study_pictures import draw, pictures, runs_of
from tools.papers.verdicts import SURE, format_p

PAGE = ROOT / "docs" / "reproduction.md"
START, END = "<!-- study -->", "<!-- end of the study -->"
COMMAND = "KERAS_BACKEND=jax OMP_NUM_THREADS=1 python -m tools.papers.study"
PUBLISHED = {"location": "0.39", "local_m": "0.34", "local_p": "0.36"}  # AER
SHOWN = 3  # contrasts of a claim that are shown one by one


def write_page(results, failed, page=PAGE):
    """Writes the study's part of the page anew, and its pictures beside it.

    Args:
        results, failed: of `tools.papers.study_table.read`.
        page: the path.

    Raises:
        ValueError: if the page has no place for it.
    """
    text = page.read_text(encoding="utf-8")
    if text.count(START) != 1 or text.count(END) != 1:
        raise ValueError(
            f"{page} must have one line {START} and one {END}. "
            f"Received: {text.count(START)} and {text.count(END)}"
        )
    before, rest = text.split(START)
    draw(results, page.with_suffix(""))
    text = before + study(results, failed) + rest.split(END)[1]
    page.write_text(text, encoding="utf-8")


def study(results, failed):
    """The part of the page, Markdown, with the marks by which it is found again.

    Args:
        results, failed: see `write_page`.
    """
    found = [(claim, *verdict(claim.study, results)) for claim in CLAIMS if claim.study]
    parts = [
        START,
        "## Several seeds",
        _introduction(results, failed),
        *_scores(results),
        *_alignments(results),
        *_errors(results),
        *(f"![{words}](reproduction/{name})" for name, words, _ in pictures(results)),
        "### The claims, by several seeds",
        _method(),
        _claims(found),
        *_plainly(found, results),
        END,
    ]
    return "\n\n".join(parts)


def _introduction(results, failed):
    total = len(plan())
    seeds = [sum(arm == name for arm, _ in results) for name in ARMS]
    told = (
        "The figures above are of one seed each. Here smaller models are trained with "
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
            f"done by `{COMMAND}`, which goes on where it was stopped, and `python -m "
            "tools.papers.study --page` writes this part anew"
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
            "whose caption, by beam 5, is true. Looks: the share of phrases at whose "
            "sharpest look, and of their words at which, the place of most attention "
            "meets the thing. Minutes: training on a shared machine, pauses included, "
            "the median over the seeds."
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


def _errors(results):
    runs = runs_of(results, "birnn")
    if not runs:
        return ()
    nets = dict.fromkeys(name.split()[1] for name in runs[0].row["scores"])
    rows = [
        [f"`{net}`", *cells(runs, [f"{problem} {net}" for problem in PROBLEMS])]
        for net in nets
    ]
    return (
        f"Errors on the artificial data of Schuster & Paliwal 1997, {len(runs)} seeds.",
        markdown.table(["net", *PROBLEMS], rows),
    )


# === Claims ===


def _method():
    return (
        "Differences are taken seed by seed. Their error has two parts: the spread "
        "over seeds and that over the test's sentences, resampled 1,000 times, the "
        "same ones for all (`tools/papers/significance.py`). ± is the "
        f"{1 - SURE:.0%} interval. A claim holds or does not if p is below {SURE}, "
        f"with {LEAST} seeds or more. "
        "Undecided claims give the difference that this many seeds find with a chance "
        f"of {POWER:.0%}, and how many seeds one of the size at hand needs. If no "
        "difference were real, up to one claim in twenty would still get a verdict."
    )


def _claims(found):
    rows = [
        [claim.text, claim.source, f"**{told}**", figures(claim.study, estimates, told)]
        for claim, told, estimates in found
    ]
    heads = ["claim", "source", "by the study", "figures"]
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
    words = f"{contrast.words}: {one.mean:+.{digits}f}"
    seeds = f"{one.seeds} seed{'s' * (one.seeds != 1)}"
    if one.seeds < 2:
        return f"{words}, {seeds}"
    words += f" ± {one.interval:.{digits}f} ({format_p(one.p)}, {seeds})"
    if told != UNTOLD or one.seeds < LEAST or (one.p < SURE and one.mean > 0):
        return words
    needed, size = one.needed(abs(one.mean)), f"{abs(one.mean):.{digits}f}"
    if needed is not None:
        more = f"{needed} seeds"
    elif dataclasses.replace(one, deviation=0.0).detectable() > abs(one.mean):
        more = f"more than these {one.count:,} sentences"
    else:
        more = f"more than {MOST:,} seeds"
    reach = f"{one.detectable():.{digits}f}"
    return f"{words}; {seeds} find a difference of {reach}, one of {size} needs {more}"


def _plainly(found, results):
    """The claims that did not reproduce, are undecided, or have not been run."""
    by_verdict = {
        told: [claim.text for claim, one, _ in found if one == told]
        for told in (HOLDS, FAILS, UNTOLD, NOT_RUN)
    }
    lines = []
    for told, words in (
        (FAILS, "**Did not reproduce at this size**"),
        (UNTOLD, "**Undecided**"),
        (NOT_RUN, "**Not run yet**"),
    ):
        if by_verdict[told]:
            lines.append(f"- {words}: {'; '.join(by_verdict[told])}.")
    absent = [f"`{a}`" for a, _ in plan(seeds=1) if not runs_of(results, a)]
    if absent:
        lines.append(f"- **Arms without a run**: {', '.join(absent)}.")
    without = [claim.text for claim in CLAIMS if not claim.study]
    lines.append(f"- **Not part of the study**: {'; '.join(without)}.")
    return ["\n".join(lines)]
