"""The pictures of docs/reproduction.md: the study's means with their intervals, and
the presets' alignments."""

from tools.papers.arms import ARMS
from tools.papers.claims import CLAIMS
from tools.papers.counts import bleu_between
from tools.papers.significance import LEAST, estimate, over_seeds
from zoo.analysis import plot_alignments
from zoo.analysis.figure import draw_plainly, new_figure

DARK, FAINT = "#222222", "#e4e4e4"  # text and frames, lines of a grid
SHOWN, OTHERS = "#1f5fa8", "#c4c4c4"
# Words of a source: the first and the last of each part of the test set.
SPANS = ((1, 8), (9, 10), (11, 12), (13, 15), (16, 99))
IN_BLEU = ("bleu", "beam 1", "beam 2", "beam 12", "drop", "held")
# Arms of the curves by length, and their colours.
CURVES = {
    "bahdanau": SHOWN,
    "rnnencdec": "#d95f02",
    "general": "#56a0d3",
    "none": "#e6ab02",
}


def draw(results, folder):
    """Writes the study's pictures into a folder.

    Args:
        results: dict of (arm, seed) to `tools.papers.study_table.Result`.
        folder: path.
    """
    for name, (_, figure) in PICTURES.items():
        save(figure(results), folder / name)


def runs_of(results, arm):
    """The results of an arm, by their seeds."""
    return [result for (name, _), result in sorted(results.items()) if name == arm]


def bleu_figure(results):
    """Draws a row for each arm that translates."""
    rows = {
        arm: [run.score("bleu") for run in runs]
        for arm, one in ARMS.items()
        if one.kind == "translator" and (runs := runs_of(results, arm))
    }
    figure, axes = _rows(list(rows), "BLEU, Multi30k")
    for place, values in enumerate(rows.values()):
        axes.plot(values, [place] * len(values), "o", ms=4, color=OTHERS)
        _draw_mean(axes, over_seeds(values), place)
    return figure


def differences_figure(results):
    """Draws a row for each contrast in BLEU; right of 0 the claim is borne out."""
    contrasts = dict.fromkeys(
        contrast
        for claim in CLAIMS
        for contrast in claim.study
        if all(name in IN_BLEU for _, _, name in contrast.terms)
    )
    found = [(one.words, estimate(one, results)) for one in contrasts]
    rows = [(words, one) for words, one in found if one and one.seeds >= LEAST]
    figure, axes = _rows([words for words, _ in rows], "difference in BLEU")
    axes.axvline(0, color=DARK, lw=0.8)
    for place, (_, one) in enumerate(rows):
        _draw_mean(axes, one, place)
    return figure


def lengths_figure(results):
    """Draws BLEU by the length of the source, for attention and for fixed vectors."""
    figure = new_figure(6.5, 3.6, layout="constrained")
    axes = figure.add_subplot(facecolor="white")
    ends = []
    for arm, colour in CURVES.items():
        counts = [run.counts("beam 5") for run in runs_of(results, arm)]
        if len(counts) < 2:
            continue
        found = [
            over_seeds([bleu_between(table, *span) for table in counts])
            for span in SPANS
        ]
        means = [one.mean for one in found]
        errors = [one.interval for one in found]
        style = {"color": colour, "marker": "o", "ms": 3, "capsize": 2, "lw": 1.5}
        axes.errorbar(range(len(SPANS)), means, errors, **style)
        ends.append((means[-1], arm, colour))
    ticks = [f"{low}–{high}" for low, high in SPANS[:-1]] + [f"{SPANS[-1][0]}+"]
    axes.set_xticks(range(len(SPANS)), ticks)
    axes.set(xlim=(-0.3, len(SPANS) - 0.2), ylim=(0, None))
    height, lowest = 0.05 * axes.get_ylim()[1], 0.0  # of a name
    for end, arm, colour in sorted(ends):  # one name above the other
        place = max(end, lowest)
        style = {"textcoords": "offset points", "fontsize": 8, "color": colour}
        axes.annotate(arm, (len(SPANS) - 1, place), (6, -3), **style)
        lowest = place + height
    _plain(axes, "words of a source")
    axes.set_ylabel("BLEU", fontsize=8, color=DARK)
    return figure


# File name -> caption and figure.
PICTURES = {
    "study_bleu.svg": (
        "BLEU of each arm: its seeds, their mean and its 95% interval",
        bleu_figure,
    ),
    "study_differences.svg": (
        "The claims' differences in BLEU, with 95% intervals over seeds and sentences",
        differences_figure,
    ),
    "study_lengths.svg": (
        "BLEU by the length of the source, with 95% intervals over seeds",
        lengths_figure,
    ),
}


def _rows(names, label):
    """A figure with a row for each name, the first at the top."""
    figure = new_figure(7, 0.8 + 0.26 * len(names), layout="constrained")
    axes = figure.add_subplot(facecolor="white")
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.grid(axis="x", color=FAINT)
    axes.set_axisbelow(True)
    _plain(axes, label)
    draw_plainly(*axes.get_yticklabels())
    return figure, axes


def _draw_mean(axes, one, place):
    error = one.interval if one.seeds > 1 else None
    style = {"color": SHOWN, "ms": 5, "capsize": 3, "lw": 1.5}
    axes.errorbar(one.mean, place, xerr=error, fmt="o", **style)


def _plain(axes, label):
    axes.tick_params(labelsize=8, colors=DARK)
    axes.set_xlabel(label, fontsize=8, color=DARK, loc="left")
    for side, spine in axes.spines.items():
        spine.set(color=DARK, visible=side in ("left", "bottom"))


# === Alignments ===


def draw_alignments(details, folder):
    """Draws one picture for each sentence.

    Args:
        details: dict of preset to its `Translation` of each sentence.
        folder: path that they are written to.
    """
    for number, records in enumerate(zip(*details.values(), strict=True), start=1):
        figure = plot_alignments(records, titles=list(details), columns=3)
        save(figure, folder / f"alignment_{number}.svg", bbox_inches="tight")


def save(figure, path, **options):
    """Writes a picture, an unchanged one as an unchanged file."""
    import matplotlib

    with matplotlib.rc_context({"svg.hashsalt": "zoo"}):
        figure.savefig(path, metadata={"Date": None}, **options)
