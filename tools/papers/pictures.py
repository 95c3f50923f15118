"""Draws the pictures of docs/reproduction.md, for `tools.papers.reproduce`."""

from zoo.analysis import plot_alignments
from zoo.analysis.figure import DARK, FAINT, draw_plainly, new_figure

ACROSS = 4  # panels in a row
SHOWN, OTHERS = "#1f5fa8", "#c4c4c4"
GAP = 1.8  # from the last span of words to the first number of captions
NOTE = """\
Blue: the preset named above.
Grey: the other presets.

Left: the Multi30k test by the
words of a source.
Right: 1 to 4 of its captions
joined into one source.
"""


def draw_alignments(details, folder):
    """Draws one picture for each sentence.

    Args:
        details: dict of preset to its `Translation` of each sentence.
        folder: path that they are written to.

    Returns:
        The files' names.
    """
    names = []
    for number, records in enumerate(zip(*details.values(), strict=True), start=1):
        figure = plot_alignments(records, titles=list(details), columns=3)
        names.append(f"alignment_{number}.svg")
        save(figure, folder / names[-1], bbox_inches="tight")
    return names


def draw_lengths(results, folder):
    """Writes `lengths_figure` into a folder; returns the file's name."""
    save(lengths_figure(results), folder / "lengths.svg")
    return "lengths.svg"


def lengths_figure(results):
    """Draws BLEU by the length of the source, in a panel for each preset.

    All panels have the same axes, and in each the lines of the other presets in grey.

    Args:
        results: dict of "lengths", "joined" and "bleu", as reproduce.py has them.

    Returns:
        A matplotlib `Figure`.
    """
    lines = {name: _lines(results, name) for name in results["lengths"]}
    ticks = _ticks(results)
    highest = max(y for parts in lines.values() for _, ys in parts for y in ys)
    rows = len(lines) // ACROSS + 1  # with room for the note
    figure = new_figure(10, 0.5 + 1.7 * rows, layout="constrained")
    for place in range(rows * ACROSS):
        axes = figure.add_subplot(rows, ACROSS, place + 1, facecolor="white")
        if place < len(lines):
            _draw_panel(axes, lines, list(lines)[place])
        elif place == len(lines):
            corner = {"va": "top", "transform": axes.transAxes}
            axes.text(0.04, 1, NOTE, fontsize=8, color=DARK, **corner)
        axes.set(xlim=(-0.6, max(ticks) + 1.4), ylim=(0, 1.12 * highest))
        axes.set_xticks(list(ticks), list(ticks.values()), rotation=90)
        last, first = place >= (rows - 1) * ACROSS, place % ACROSS == 0
        axes.tick_params(labelsize=7, colors=DARK, labelbottom=last, labelleft=first)
        if last:
            label = {"fontsize": 8, "color": DARK, "loc": "left"}
            axes.set_xlabel("words of a source", **label)
        if first:
            axes.set_ylabel("BLEU", fontsize=8, color=DARK)
        for side, spine in axes.spines.items():
            spine.set(color=DARK, visible=side in ("left", "bottom"))
    return figure


def _draw_panel(axes, lines, name):
    """Draws all presets' lines, that of one above the others."""
    for other, parts in lines.items():
        for xs, ys in parts if other != name else ():
            axes.plot(xs, ys, color=OTHERS, linewidth=0.8, label=other)
    for xs, ys in lines[name]:
        axes.plot(xs, ys, color=SHOWN, lw=1.8, marker="o", ms=3, label=name)
        _label_ends(axes, xs, ys)
    axes.grid(axis="y", color=FAINT)
    draw_plainly(axes.set_title(name, fontsize=10, color=DARK, loc="left"))


def _lines(results, name):
    """The two parts of a preset's line, `[(xs, ys), (xs, ys)]`."""
    spans = results["lengths"][name]
    left = [(x, row[3]) for x, row in enumerate(spans) if row[3] is not None]
    joined = {n: found["bleu"] for n, found in results["joined"][name].items()}
    joined = {1: results["bleu"][name]["multi30k"], **joined}
    right = [(len(spans) - 2 + GAP + n, bleu) for n, bleu in joined.items()]
    return [tuple(zip(*part, strict=True)) for part in (left, right) if part]


def _ticks(results):
    """The labels of the horizontal axis, by their places."""
    name, spans = next(iter(results["lengths"].items()))
    ticks = {
        x: f"{low}–{high}" if high else f"{low}+"
        for x, (low, high, *_) in enumerate(spans)
    }
    for n in (1, *results["joined"][name]):
        ticks[len(spans) - 2 + GAP + n] = str(n) if n > 1 else "1 caption"
    return ticks


def _label_ends(axes, xs, ys):
    """Writes the first BLEU of a line above it, and the last beside it."""
    style = {"textcoords": "offset points", "fontsize": 7, "color": SHOWN}
    axes.annotate(f"{ys[0]:.1f}", (xs[0], ys[0]), (0, 4), ha="center", **style)
    if len(xs) > 1:
        axes.annotate(f"{ys[-1]:.1f}", (xs[-1], ys[-1]), (4, -1), **style)


def save(figure, path, **options):
    """Writes a picture, an unchanged one as an unchanged file."""
    import matplotlib

    with matplotlib.rc_context({"svg.hashsalt": "zoo"}):
        figure.savefig(path, metadata={"Date": None}, **options)
