"""Alignments as heatmaps, drawn with matplotlib."""

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

from zoo.analysis.figure import (
    DARK,
    FAINT,
    need_matplotlib,
    new_figure,
    printable,
)
from zoo.analysis.fonts import find_fonts, missing_characters
from zoo.checks import positive
from zoo.text.pieces import are_characters, labels
from zoo.warn import warn_caller

_MARK = "#d95f02"
_FOCUS = {
    "marker": "v",
    "ms": 3.6,
    "color": _MARK,
    "mec": "white",
    "mew": 0.5,
    "ls": "",
}
_END = {"marker": "|", "ms": 9, "color": _MARK, "mew": 1.3, "ls": ""}
_COLOURS = "Blues"  # its darkness grows all the way: as clear in grey
_LONGEST = 24  # characters of a label
_EMPTY = "nothing to align"
NUMBER_KEY = "number = attention in % (blank below 5)"
FOCUS_KEY = "$p_t$ = source position that the attention centres on"
WINDOW_KEY = "end of the window $[p_t - D, p_t + D]$: no attention beyond it"
SUM_KEY = (
    "a row may sum to less than 100: the Gaussian at $p_t$ is not renormalised (eq. 10)"
)


def plot_alignment(
    translation: Any,
    axes: Any = None,
    words: bool | None = None,
    title: str | None = None,
) -> Any:
    """Draws the alignment of a translation, as in Bahdanau et al. 2015, figure 3.

    Source words are at the top, the translation's at the side. The darker a cell, the
    more of the target word's attention goes to the source word, on one scale for all
    pictures; its percentage is printed from 5 on. For local attention (Luong et al.
    2015), marks show p_t, the source position it centres on, and where its window ends
    inside the sentence; a row may sum to less than 100 %, since the Gaussian is not
    renormalised (equation 10). A legend explains the marks.

    Text may be of any script: matplotlib joins Arabic letters, forms the conjuncts of
    Indian scripts and writes Arabic and Hebrew from right to left, within a label. Its
    own font, DejaVu Sans, has Latin, Greek, Cyrillic, Arabic and Hebrew. Chinese,
    Japanese, Korean, Indian and other scripts need a font on this machine, such as
    Google's Noto fonts, which is found by its characters; a warning names those
    that none has. Words stand in their reading order, the first one at the left and at
    the top, in scripts from right to left as well: a translation word by word is a
    diagonal in every pair of languages.

    Args:
        translation: a `zoo.decoding.Translation`.
        axes: matplotlib `Axes` to draw in, without a legend; None for a new figure.
        words: whether pieces are merged into words by `Translation.merge_words`:
            attention is summed over the pieces of a source word and averaged over those
            of a target word. Otherwise a piece that continues a word begins with "-".
            None: unless the pieces are single characters.
        title: title of the picture.

    Returns:
        A matplotlib `Figure`, or `axes` if given.

    Raises:
        TypeError: if `translation` is not such a record.
        ImportError: without matplotlib.
    """
    if axes is None:
        return plot_alignments([translation], [title], words)
    [panel], families = make_panels([translation], [title], words)
    draw(axes, panel, fitting_size(axes, panel), families)
    return axes


def plot_alignments(
    translations: Iterable[Any],
    titles: Iterable[str | None] | None = None,
    words: bool | None = None,
    columns: int | None = None,
) -> Any:
    """Draws several alignments side by side, with one cell size and one scale.

    Args:
        translations: `zoo.decoding.Translation` records.
        titles: one title for each. Default: none.
        words: see `plot_alignment`.
        columns: pictures per row. Default: all of them.

    Returns:
        A matplotlib `Figure`.

    Raises:
        TypeError: for anything but such records.
        ValueError: if there are no records, not as many titles as records, or `columns`
            is not a positive integer.
        ImportError: without matplotlib.

    Example:
        ```python
        results = [
            zoo.load(name).translate("A dog runs.", return_details=True)
            for name in ("luong_local", "bahdanau")
        ]
        zoo.analysis.plot_alignments(results, ["luong_local", "bahdanau"])
        ```
    """
    translations = list(translations)
    titles = [None] * len(translations) if titles is None else list(titles)
    columns = len(translations) if columns is None else columns
    if not translations or len(titles) != len(translations):
        raise ValueError(
            "There must be a translation, and a title for each or none. Received: "
            f"{len(translations)} translations, {len(titles)} titles"
        )
    positive("columns", columns)
    return lay_out(*make_panels(translations, titles, words), columns)


@dataclasses.dataclass
class Panel:
    """The content of one heatmap."""

    record: Any
    rows: list[str]
    columns: list[str]
    title: str

    @property
    def empty(self) -> bool:
        """Whether there is nothing to align."""
        return not self.rows or not self.columns


def make_panels(
    translations: Sequence[Any], titles: Sequence[str | None], words: bool | None
) -> tuple[list[Panel], list[str]]:
    """Returns a `Panel` for each translation, and fonts with all their characters."""
    panels = []
    for record, title in zip(translations, titles, strict=True):
        if not hasattr(record, "merge_words"):
            raise TypeError(
                "What is drawn is a zoo.decoding.Translation, which `translate` gives "
                f"with return_details=True. Received: {type(record).__name__}"
            )
        tokens = [*record.tokens, *record.source_tokens]
        merged = not are_characters(tokens) if words is None else words
        record = record.merge_words() if merged else record
        rows = [_short(label) for label in labels(record.tokens)]
        columns = [_short(label) for label in labels(record.source_tokens)]
        panels.append(Panel(record, rows, columns, printable(title or "")))
    need_matplotlib()
    texts = [text for p in panels for text in (*p.rows, *p.columns, p.title)]
    families, missing = find_fonts(set("".join(texts)))
    if missing:
        warn_caller(missing_characters(missing))
        table = dict.fromkeys(map(ord, missing), "\ufffd")
        for panel in panels:
            panel.rows = [text.translate(table) for text in panel.rows]
            panel.columns = [text.translate(table) for text in panel.columns]
            panel.title = panel.title.translate(table)
    return panels, families


def _short(label):
    label = printable(label)
    return label if len(label) <= _LONGEST else f"{label[: _LONGEST - 1]}…"


def draw(axes: Any, panel: Panel, size: float, families: list[str]) -> None:
    """Draws a heatmap with labels of a size in points."""
    record, height, width = panel.record, len(panel.rows), len(panel.columns)
    *paper, opaque = axes.figure.get_facecolor()
    if not opaque:  # a subfigure shows the whole figure's background
        *paper, _ = axes.figure.figure.get_facecolor()
    ink = DARK if sum(paper) > 1.5 else "white"
    font = {"family": families, "size": size, "color": ink, "parse_math": False}
    middle: dict[str, Any] = {"ha": "center", "va": "center", "family": families}
    axes.set(facecolor="none", frame_on=False, aspect="equal", anchor="NW")
    axes.set_title(panel.title, loc="left", **{**font, "size": size + 1})
    if panel.empty:
        axes.axis("off")
        axes.text(0, 1, _EMPTY, va="top", transform=axes.transAxes, **font)
        return
    axes.pcolormesh(
        [i - 0.5 for i in range(width + 1)],
        [i - 0.5 for i in range(height + 1)],
        record.alignment,
        cmap=_COLOURS,
        vmin=0,
        vmax=1,
        edgecolors=FAINT,
        linewidth=0.4,
    )
    axes.plot(*_frame(width, height), color=ink, linewidth=0.8, clip_on=False)
    axes.set(xlim=(-0.5, width - 0.5), ylim=(height - 0.5, -0.5))
    axes.xaxis.tick_top()
    axes.tick_params(length=0, pad=2)
    axes.grid(False)
    # Single letters, or characters that are words, stand upright.
    rotation = 0 if max(map(len, panel.columns)) == 1 else 90
    axes.set_xticks(range(width), panel.columns, rotation=rotation, **font)
    axes.set_yticks(range(height), panel.rows, **font)
    # Marks of p_t are above the numbers.
    lower = 0.12 if record.focus is not None else 0.03
    for (row, column), weight in _each(record.alignment):
        colour = "white" if weight > 0.5 else DARK
        number = f"{100 * weight:.0f}"
        axes.text(column, row + lower, number, size=0.75 * size, color=colour, **middle)
    if record.focus is not None:
        heads = [row - 0.22 for row in range(height)]
        axes.plot(record.focus, heads, **_FOCUS, clip_on=False)
        ends = _window_ends(record)
        tops, bottoms = [y - 0.5 for _, y in ends], [y + 0.5 for _, y in ends]
        axes.vlines([x for x, _ in ends], tops, bottoms, color=_MARK, linewidth=1.3)
    elif not record.alignment.any():
        middle.update(font, color=DARK, backgroundcolor="white")
        place = (width - 1) / 2, (height - 1) / 2
        axes.text(*place, "no attention", **middle)


def _frame(width, height):
    """Returns x and y of a line around the cells."""
    right, bottom = width - 0.5, height - 0.5
    return (-0.5, right, right, -0.5, -0.5), (-0.5, -0.5, bottom, bottom, -0.5)


def fitting_size(axes: Any, panel: Panel) -> float:
    """Returns a label size in points, no larger than the cells in these axes."""
    box, dpi = axes.get_window_extent(), axes.figure.dpi
    room = min(
        box.width / max(len(panel.columns), 1), box.height / max(len(panel.rows), 1)
    )
    return min(9.0, max(4.0, 0.5 * 72 * room / dpi))


def _each(alignment):
    """Yields the places and values of the weights whose number is printed."""
    for row, weights in enumerate(alignment):
        for column, weight in enumerate(weights):
            if weight >= 0.05:
                yield (row, column), weight


def _window_ends(record):
    """Returns x and row of each window end inside the sentence."""
    last, ends = len(record.source_tokens) - 1, []
    for row, (first, final) in enumerate(record.windows):
        ends += [(first - 0.5, row)] if first > 0 else []
        ends += [(final + 0.5, row)] if final < last else []
    return ends


# === Layout ===


def lay_out(panels: list[Panel], families: list[str], count: int) -> Any:
    """Returns a figure of panels, `count` per row, whose cells all have one size."""
    count = min(count, len(panels))
    lines = [panels[i : i + count] for i in range(0, len(panels), count)]
    stacks = [panels[i::count] for i in range(count)]
    wide = [float(max(len(p.columns) for p in stack) or 1) for stack in stacks]
    high = [max(len(p.rows) for p in line) or 1 for line in lines]
    cell = min(0.32, max(0.19, 9 / max(sum(wide), sum(high))))
    size = 9 if cell > 0.22 else 8
    # Inches of the labels, about; the layout measures them.
    left = sum(_longest([p.rows for p in stack], size) for stack in stacks)
    top = sum(_longest([p.columns for p in line], size) + 0.25 for line in lines)
    # A column has room for its titles, too.
    for number, stack in enumerate(stacks):
        titles = [[panel.title, _EMPTY * panel.empty] for panel in stack]
        wide[number] = max(wide[number], _longest(titles, size + 1) / cell)
    keys = _keys(panels)
    words = max((_longest([[key.get_label()]], size) for key in keys), default=0)
    width = max(cell * sum(wide) + left, 0.8 * words)
    height = cell * sum(high) + top + 0.2 * len(keys) + 0.2
    figure = new_figure(width, height, layout="compressed")
    figure.get_layout_engine().set(w_pad=0.06, h_pad=0.06)
    grid = figure.add_gridspec(len(lines), count, width_ratios=wide, height_ratios=high)
    for number, panel in enumerate(panels):
        row, column = divmod(number, count)
        axes = figure.add_subplot(grid[row, column])
        draw(axes, panel, size, families)
        # The same space for each panel of a row or column: the cells have one size.
        axes.set(xlim=(-0.5, wide[column] - 0.5), ylim=(high[row] - 0.5, -0.5))
    if keys:
        figure.legend(
            handles=keys,
            loc="outside lower left",
            prop={"family": families, "size": size - 1},
            labelcolor=DARK,
            frameon=False,
            borderaxespad=0.2,
            handletextpad=0.3,
        )
    return figure


def _longest(texts, size):
    """Returns the inches that the longest of some lists of texts takes, about."""
    letters = max((len(text) for some in texts for text in some), default=0)
    return 0.62 * size / 72 * letters + 0.1


def _keys(panels):
    """Returns the legend's entries for the marks that are drawn."""
    from matplotlib.lines import Line2D

    keys, panels = [], [panel for panel in panels if not panel.empty]
    if any(True for panel in panels for _ in _each(panel.record.alignment)):
        number = {"marker": "$87$", "ms": 9, "color": DARK, "mew": 0, "ls": ""}
        keys.append(Line2D([], [], **number, label=NUMBER_KEY))
    local = [panel.record for panel in panels if panel.record.focus is not None]
    if local:
        keys.append(Line2D([], [], **_FOCUS, label=FOCUS_KEY))
    if any(map(_window_ends, local)):
        keys.append(Line2D([], [], **_END, label=WINDOW_KEY))
    if any((record.alignment.sum(axis=-1) < 0.995).any() for record in local):
        total = {"marker": r"$\Sigma$", "ms": 6, "color": DARK, "mew": 0, "ls": ""}
        keys.append(Line2D([], [], **total, label=SUM_KEY))
    return keys
