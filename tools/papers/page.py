"""The page docs/reproduction.md, from the presets' figures and the study's runs."""

import json

from tools import ROOT, markdown
from tools.papers import study_page
from tools.papers.study_pictures import draw
from tools.papers.study_table import read
from tools.papers.verdicts import SURE

PAGE = ROOT / "docs" / "reproduction.md"
NETS = "for_0 back_0 for_10 back_10 merge_10 mlp_10_19 brnn".split()
# Of 2,560 fresh sequences; sequences of training, means of the paper's trials.
LAGS = {"adding": ("1", 74000), "order": ("1", 31390), "reber": ("–", 8440)}
PUBLISHED = {"lstm": "115", "lstmn_lm": "108"}
EARLY = 0.8  # words for each of the references


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
        presets: what `tools.papers.reproduce.summary` returns.
        results, failed: of `tools.papers.study_table.read`.
    """
    made = presets["made"]
    parts = [
        "# What reproduces",
        "For readers who ask whether the papers' claims hold for models that one CPU "
        "can train: a table of verdicts, then its figures. What holds at the papers' "
        "sizes and data need not hold here, nor the reverse.",
        "## The papers' claims",
        study_page.method(),
        "The last column compares the bundled presets, one seed each: a difference in "
        f"BLEU counts if p is below {SURE} on both test sets (sacreBLEU's paired "
        "bootstrap), which says nothing about other seeds.",
        study_page.claims(results, presets["claims"]),
        "## The presets",
        f"Made by `{made['command']}` at commit {made['commit']}, {made['date']}, "
        f"{made['machine']}; `docs/reproduction/presets.json` has all figures. English "
        "to German, beam 5, sacreBLEU 13a. Each preset has one seed (`luong_local` is "
        "the second of two that were trained); the cards have sizes and training.",
        _translators(presets),
        *_lengths(presets),
        *_beams(presets),
        *_ensemble(presets),
        *_language_models(presets),
        *_directions(presets),
        *_lags(presets),
        *study_page.study(results, failed),
        *_alignments(presets),
    ]
    return "\n\n".join(parts) + "\n"


def table(heads, rows, numbers_from=1):
    """A Markdown table; numbers with one decimal, None as a dash."""
    rows = [[_cell(value) for value in row] for row in rows]
    return markdown.table(heads, rows, numbers_from)


def _cell(value):
    if value is None:
        return "–"
    return f"{value:.1f}" if isinstance(value, float) else str(value)


def _translators(presets):
    rows = [
        [
            f"`{name}`",
            *(presets["bleu"][name][corpus] for corpus in ("multi30k", "tatoeba")),
            *(presets["chrf"][name][corpus] for corpus in ("multi30k", "tatoeba")),
        ]
        for name in sorted(
            presets["bleu"], key=lambda n: -presets["bleu"][n]["multi30k"]
        )
    ]
    heads = ["preset", "BLEU, Multi30k", "BLEU, Tatoeba"]
    return table([*heads, "chrF, Multi30k", "chrF, Tatoeba"], rows)


def _lengths(presets):
    first = next(iter(presets["lengths"].values()))
    spans = [f"{low}–{high}" if high else f"{low}+" for low, high, *_ in first]
    rows = [["sentences", *(str(count) for *_, count, _ in first)]]
    for name, found in presets["lengths"].items():
        rows.append([f"`{name}`", *(row[3] for row in found)])
    longest = max(presets["joined_sources"], key=int)
    joined = {name: found[longest] for name, found in presets["joined"].items()}
    best = max(joined, key=lambda name: joined[name]["bleu"])
    early = sum(found["length"] < EARLY for found in joined.values())
    return (
        "### By length",
        "BLEU on Multi30k's test by the words of the source:",
        table(["words of the source", *spans], rows),
        f"With {longest} captions joined into one source "
        f"({presets['joined_sources'][longest][1]:.0f} words, more than nearly all "
        f"sentences of the training), `{best}` is best with {joined[best]['bleu']:.1f} "
        f"BLEU, and {early} of {len(joined)} presets stop early: they write less than "
        f"{EARLY:.0%} of the references' words.",
        "![BLEU by length](reproduction/lengths.svg)",
    )


def _beams(presets):
    beams = next(iter(presets["beams"].values()))
    rows = [[f"`{name}`", *found.values()] for name, found in presets["beams"].items()]
    return (
        "### By beam",
        "BLEU on Multi30k's test by the size of the beam, length penalty 1:",
        table(["preset", *beams], rows),
    )


def _ensemble(presets):
    if "ensemble" not in presets:
        return ()
    found, rows = presets["ensemble"], []
    for corpus, bleu in found["bleu"].items():
        best = max(found["members"], key=lambda name: presets["bleu"][name][corpus])
        rows.append([corpus, f"`{best}`", presets["bleu"][best][corpus], bleu])
    return (
        "### Ensemble",
        f"The probabilities of the {len(found['members'])} recurrent presets averaged "
        "at each step (`zoo.decoding.Ensemble`):",
        table(["test set", "best member", "its BLEU", "BLEU of the ensemble"], rows),
    )


def _language_models(presets):
    rows = [
        [f"`{name}`", value, PUBLISHED.get(name, "–")]
        for name, value in presets["perplexity"].items()
    ]
    if not rows:
        return ()
    return (
        "### Language models",
        "Perplexity on the Penn Treebank's test, the state carried over. Cheng et al. "
        "2016 train by SGD and mention no dropout; here it is Adam and dropout.",
        table(["preset", "perplexity", "published"], rows),
    )


def _directions(presets):
    tasks = presets["nets"]
    rows = [
        [f"`{net}`", *(_small(found.get(net)) for found in tasks.values())]
        for net in NETS
        if net in tasks["regression"]
    ]
    return (
        "### Both directions",
        "Schuster & Paliwal 1997, artificial data (`python recipes/birnn_tasks.py "
        "--scale small`): mean squared error, and the share of wrong classes, on fresh "
        "frames. "
        "`for_10` reads forwards and answers 10 frames later, `back_10` backwards; "
        "`merge_10` is their mean, `mlp_10_19` sees 10 frames before and 19 after.",
        table(["net", *tasks], rows),
    )


def _small(value):
    return "–" if value is None else f"{value:.6f}"


def _lags(presets):
    rows = []
    for name, found in presets["lags"].items():
        wrong, seen = LAGS.get(name, ("–", None))
        here = found.get("wrong", f"{found.get('test_right', 0):.0%} of strings right")
        needed, seen = (f"{n:,}" if n else None for n in (found["sequences"], seen))
        rows.append([f"`{name}`", here, needed or "not solved", wrong, seen])
    heads = ["task", "wrong of 2,560", "sequences", "published: wrong", "sequences"]
    return (
        "### Long lags",
        "Hochreiter & Schmidhuber 1997, a cell without forget gate, one run of seed 1 "
        "(`python recipes/lstm_tasks.py --scale small`) by Adam; the paper's best rows "
        "are means of several, by its own online rule.",
        table(heads, rows),
    )


def _alignments(presets):
    parts = [
        "## Alignments",
        "As in Bahdanau et al. 2015, figure 3: the source across, the translation "
        "down, darker is more. Pieces are joined to words. Each preset aligns its own "
        "translation. `luong_reversed` often points one word to the left: its encoder "
        "reads backwards only, and its state at a word has just read the next one "
        "([papers/luong.md](papers/luong.md)).",
    ]
    pairs = enumerate(presets["sentences"], start=1)
    parts += [f"![{text}](reproduction/alignment_{n}.svg)" for n, text in pairs]
    return parts
