"""The page docs/reproduction.md, from the presets' figures and the study's runs."""

import collections
import json
import math

import numpy as np

from tools import ROOT
from tools.markdown import table
from tools.papers.arms import ARMS, EPOCHS, SEEDS, plan
from tools.papers.claims import CLAIMS
from tools.papers.counts import measure_of
from tools.papers.pictures import PICTURES, draw, runs_of
from tools.papers.significance import (
    FAILS,
    HOLDS,
    LEAST,
    POWER,
    SURE,
    UNDECIDED,
    verdict,
)
from tools.papers.study_table import read

PAGE = ROOT / "docs" / "reproduction.md"
STUDY = "KERAS_BACKEND=jax OMP_NUM_THREADS=1 python -m tools.papers.study"
SHOWN = 3  # contrasts of a claim that are shown one by one
NETS = "for_0 back_0 for_10 back_10 merge_10 mlp_10_19 brnn".split()
# Published: wrong of 2,560 fresh sequences; sequences of training, means of trials.
LAGS = {"adding": ("1", "74,000"), "order": ("1", "31,390"), "reber": ("–", "8,440")}
PERPLEXITIES = {"lstm": "115", "lstmn_lm": "108"}  # published


def write_page(path=PAGE):
    """Writes the page, and the study's pictures beside it.

    Args:
        path: the page. Its folder has reproduction/presets.json, which
            `tools.papers.reproduce` writes, and reproduction/study.jsonl.
    """
    folder = path.with_suffix("")
    presets = json.loads((folder / "presets.json").read_text(encoding="utf-8"))
    results, failed = read(folder / "study.jsonl")
    draw(results, folder)
    path.write_text(page(presets, results, failed), encoding="utf-8")


def page(presets, results, failed):
    """The whole page, Markdown.

    Args:
        presets: what `tools.papers.reproduce.measure` returns.
        results, failed: of `tools.papers.study_table.read`.
    """
    parts = [
        "# What reproduces",
        "Do the papers' claims hold for models that one CPU can train? Verdicts first, "
        "then the figures. A claim that holds at the paper's size may fail here, and "
        "the reverse; the papers' BLEU is on other test sets: compare differences.",
        "## The papers' claims",
        _method(),
        claims(results),
        *study(results, failed),
        *_presets(presets),
    ]
    return "\n\n".join(parts) + "\n"


# === Claims ===


def _method():
    return (
        f"Each claim is tested on [{SEEDS} seeds per arm](#several-seeds), that is, "
        "per model or setting. The error of a difference has two parts, over seeds and "
        "over the test's sentences (`tools/papers/significance.py`); ± is the "
        f"{1 - SURE:.0%} interval. A claim holds, or does not, if p is below {SURE} "
        f"with {LEAST} seeds or more, so one claim in twenty may get a verdict by "
        "chance. Of several differences all must be surely above 0 for it to hold; one "
        f"of k that is below 0 with p under {SURE}/k refutes it. *Detectable* is the "
        f"least difference that these seeds find with a chance of {POWER:.0%}."
    )


def claims(results):
    """How many claims hold, and the table of verdicts."""
    rows, counts = [], collections.Counter()
    for claim in CLAIMS:
        told, estimates = verdict(claim.study, results)
        counts[told] += 1
        words = f"**{told}**: {figures(claim.study, estimates, told)}"
        rows.append([claim.text, claim.source, words])
    heads = ["claim", "source", "verdict"]
    return (
        f"Of {len(CLAIMS)} claims {counts[HOLDS]} hold, {counts[FAILS]} do not hold "
        f"and {counts[UNDECIDED]} are undecided.\n\n"
        f"{table(heads, rows, numbers_from=None)}"
    )


def figures(contrasts, estimates, told):
    """The figures of a claim in words."""
    known = [pair for pair in zip(contrasts, estimates, strict=True) if pair[1]]
    if not known:
        return "–"
    if len(known) <= SHOWN:
        return "; ".join(_figure(*pair, told) for pair in known)
    worst = min(known, key=lambda pair: _statistic(pair[1]))
    above = sum(one.mean > 0 for _, one in known)
    return (
        f"{above} of {len(contrasts)} differences are above 0; the least sure: "
        f"{_figure(*worst, told)}"
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
    words += "" if one.p < 0.001 else f" (p {one.p:.3f})"
    if told != UNDECIDED or one.seeds < LEAST or (one.p < SURE and one.mean > 0):
        return words
    return f"{words}, detectable {one.detectable():.{digits}f}"


# === The study ===


def study(results, failed):
    """The study's own part of the page, a list of Markdown blocks."""
    done = f"{len(results)} of {len(plan())} runs are done"
    failures = [
        f"`{arm}`, seed {seed}, failed: {row['failed']}"
        for (arm, seed), row in failed.items()
    ]
    introduction = (
        f"Small models, about ten minutes a run on one core (`{STUDY}`): translators "
        f"on Multi30k alone for {EPOCHS['translators']} epochs, language models on the "
        f"Penn Treebank for {EPOCHS['language models']}, captioners on generated "
        f"scenes for {EPOCHS['captioners']}. `tools/papers/arms.py` has sizes and "
        "rates, [study.jsonl](reproduction/study.jsonl) each run with the counts of "
        f"each sentence; {'. '.join([done, *failures])}. ± here is the standard "
        "deviation over seeds."
    )
    images = [f"![{text}](reproduction/{name})" for name, (text, _) in PICTURES.items()]
    return ["## Several seeds", introduction, *_scores(results), *images]


def cells(runs, names):
    """Means and deviations of several scores; a dash for those the runs don't have."""
    row = []
    for name in names:
        digits, has = measure_of(name).digits, runs[0].has(name)
        values = [run.score(name) for run in runs] if has else []
        mean = f"{np.mean(values):.{digits}f}" if has else "–"
        several = len(values) > 1
        row.append(f"{mean} ± {np.std(values, ddof=1):.{digits}f}" if several else mean)
    return row


def _scores(results):
    """A table each of translators, language models and captioners."""
    parts = []
    for kind, names in (
        ("translator", ("bleu", "perplexity", "aer", "left", "on")),
        ("language model", ("perplexity",)),
        ("captioner", ("true", "looks", "words")),
    ):
        rows = [
            [f"`{arm}`", one.words, *cells(runs, names)]
            for arm, one in ARMS.items()
            if one.kind == kind and (runs := runs_of(results, arm))
        ]
        heads = ["arm", "", *(measure_of(name).title for name in names)]
        parts.append(table(heads, rows, numbers_from=2))
    return [
        *parts,
        "BLEU: test_2016_flickr, beam 5. Perplexity: of a piece of the references "
        "(translators), of a word of the test (language models). True captions: of "
        "1,000 new scenes. Sharpest looks: the share of phrases whose greatest weight "
        "meets the thing; words: the same at each of their words.",
        "AER: the attention while a model reads the references, against "
        "[the links](reproduction/links.txt) of the statistical aligner eflomal "
        "(`tools/papers/aligner.py`); of the words with one link, the share whose "
        "largest weight is one word left of it or on it.",
    ]


# === The presets ===


def _presets(presets):
    made = presets["made"]
    return (
        "## The presets",
        f"One seed each (`luong_local`: the better of two), by "
        f"`{made['command']}` at commit {made['commit']}, {made['date']}, "
        f"{made['machine']}. `bahdanau`, `luong_global`, `luong_local` and "
        "`transformer` have since been trained further ([presets](presets.md)). "
        "English to German, sacreBLEU 13a, beam 5 where the head names no other.",
        _translators(presets),
        *_ensemble(presets),
        *_language_models(presets),
        *_directions(presets),
        *_lags(presets),
        "## Alignments",
        "As in figure 3 of Bahdanau et al. 2015: the source across, the translation "
        "of each preset, as it was then, down, darker is more. `luong_reversed` often "
        "points one word to the left ([why](papers/luong.md)).",
        *(
            f"![{text}](reproduction/alignment_{number}.svg)"
            for number, text in enumerate(presets["sentences"], start=1)
        ),
    )


def _translators(presets):
    names = sorted(presets["bleu"], key=lambda name: -presets["bleu"][name]["multi30k"])
    rows = [
        [
            f"`{name}`",
            *presets["beams"][name].values(),
            presets["bleu"][name]["tatoeba"],
        ]
        for name in names
    ]
    beams = [f"beam {beam}" for beam in presets["beams"][names[0]]]
    beams[0] = f"BLEU, Multi30k: {beams[0]}"
    return table(["preset", *beams, "BLEU, Tatoeba"], rows)


def _ensemble(presets):
    found, rows = presets["ensemble"], []
    for corpus, bleu in found["bleu"].items():
        best = max(found["members"], key=lambda name: presets["bleu"][name][corpus])
        rows.append([corpus, f"`{best}`", presets["bleu"][best][corpus], bleu])
    return (
        f"An ensemble of the {len(found['members'])} recurrent presets "
        "(`zoo.decoding.Ensemble`):",
        table(["test set", "best member", "its BLEU", "BLEU of the ensemble"], rows),
    )


def _language_models(presets):
    rows = [
        [f"`{name}`", value, PERPLEXITIES.get(name, "–")]
        for name, value in presets["perplexity"].items()
    ]
    return (
        "### Language models",
        "Perplexity on the Penn Treebank's test, the state carried over. Cheng et al. "
        "2016 train by SGD and mention no dropout; here it is Adam and dropout.",
        table(["preset", "perplexity", "published"], rows),
    )


def _directions(presets):
    tasks = presets["nets"]
    rows = [
        [
            f"`{net}`",
            *(f"{found[net]:.6f}" if net in found else "–" for found in tasks.values()),
        ]
        for net in NETS
        if net in tasks["regression"]
    ]
    return (
        "### Both directions",
        "Schuster & Paliwal 1997, artificial data (`python recipes/birnn_tasks.py "
        "--scale small`): mean squared error, and the share of wrong classes. `for_10` "
        "reads forwards and answers 10 frames later, `back_10` backwards, `merge_10` "
        "is their mean, and `mlp_10_19` sees 10 frames before and 19 after.",
        table(["net", *tasks], rows),
    )


def _lags(presets):
    rows = []
    for name, found in presets["lags"].items():
        here = found.get("wrong", f"{found.get('test_right', 0):.0%} of strings right")
        needed = f"{found['sequences']:,}" if found["sequences"] else "not solved"
        rows.append([f"`{name}`", here, needed, *LAGS.get(name, ("–", "–"))])
    heads = ["task", "wrong of 2,560", "sequences", "published: wrong", "sequences"]
    return (
        "### Long lags",
        "Hochreiter & Schmidhuber 1997, a cell without forget gate (`python "
        "recipes/lstm_tasks.py --scale small`), one run by Adam; the paper's best rows "
        "are means of several, by its own online rule.",
        table(heads, rows),
    )
