"""Alignments as heatmaps, drawn with matplotlib."""

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

from zoo.analysis.figure import (
    DARK,
    FAINT,
    need_matplotlib,
    new_figure,
    one_thread,
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
_GAP, _PAD, _LINE = 0.2, 0.06, 0.22  # inches between pictures, at labels, of a line
_LONGEST = 24  # characters of a label
NUMBER_KEY = "number = attention in % (blank below 5)"
FOCUS_KEY = "$p_t$ = source position that the attention centres on"
WINDOW_KEY = "end of the window $[p_t - D, p_t + D]$: no attention beyond it"
SUM_KEY = (
    "a row may sum to less than 100: the Gaussian at $p_t$ is not renormalised (eq. 10)"
)


@one_thread
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
    Google's Noto fonts, which is found by its characters; a warning names the script
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
    axes.set_aspect("equal")
    return axes


@one_thread
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
    rotation: int = 90  # of the columns' labels

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


def draw(
    axes: Any, panel: Panel, size: float, families: list[str], head: float | None = None
) -> None:
    """Draws a heatmap.

    Args:
        axes: matplotlib `Axes`.
        panel: the content.
        size: size of the labels in points.
        families: font families.
        head: height of the title, as a share of the axes' height.
    """
    record, height, width = panel.record, len(panel.rows), len(panel.columns)
    *paper, opaque = axes.figure.get_facecolor()
    if not opaque:  # a subfigure shows the whole figure's background
        *paper, _ = axes.figure.figure.get_facecolor()
    ink = DARK if sum(paper) > 1.5 else "white"
    font = {"family": families, "size": size, "color": ink, "parse_math": False}
    middle: dict[str, Any] = {"ha": "center", "va": "center", "family": families}
    axes.set_facecolor("white")
    axes.set_title(panel.title, loc="left", y=head, **{**font, "size": size + 1})
    if panel.empty:
        axes.axis("off")
        axes.text(0, 0.5, "nothing to align", transform=axes.transAxes, **font)
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
    axes.set(xlim=(-0.5, width - 0.5), ylim=(height - 0.5, -0.5))
    axes.xaxis.tick_top()
    axes.tick_params(length=0, pad=36 * _PAD)
    axes.grid(False)
    axes.set_xticks(range(width), panel.columns, rotation=panel.rotation, **font)
    axes.set_yticks(range(height), panel.rows, **font)
    for spine in axes.spines.values():
        spine.set_color(ink)
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
        axes.text(0.5, 0.5, "no attention", transform=axes.transAxes, **middle)


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
    rows = [panels[i : i + count] for i in range(0, len(panels), count)]
    across = max(sum(len(panel.columns) for panel in row) for row in rows)
    most = max(across, *(len(panel.rows) for panel in panels), 1)
    cell = min(0.32, max(0.19, 9 / most))
    size = 9 if cell > 0.22 else 8
    boxes = _boxes(panels, cell, families, size)
    places = [divmod(index, count) for index in range(len(panels))]

    def largest(index, axis):
        """Inches of each row (axis 0) or column (axis 1) of panels."""
        sizes = {}
        for place, box in zip(places, boxes, strict=True):
            sizes[place[axis]] = max(box[index], sizes.get(place[axis], 0))
        return list(sizes.values())

    left, wide, top, high = (largest(i, axis) for i, axis in enumerate((1, 1, 0, 0)))
    steps = [a + b + _GAP for a, b in zip(left, wide, strict=True)]
    falls = [a + b + _GAP for a, b in zip(top, high, strict=True)]
    width, height = max(sum(steps), 1.8), sum(falls)
    keys = _keys(panels)
    room, em = _ruler(families), (size - 1) / 72
    # Beside each text its mark and the gap before the next one.
    widths = [room([key.get_label()], size - 1, True) + 4 * em for key in keys]
    in_line = width > sum(widths)
    width = max([width, *widths])
    foot = _LINE * (1 if in_line else len(keys)) + _GAP / 2 if keys else 0
    figure = new_figure(width, height + foot, layout="none")
    for panel, box, (row, column) in zip(panels, boxes, places, strict=True):
        x = _GAP / 2 + sum(steps[:column]) + left[column]
        y = height + foot - _GAP / 2 - sum(falls[:row]) - top[row] - box[3]
        inside = len(panel.columns) * cell if not panel.empty else box[1]
        share = x / width, y / (height + foot), inside / width, box[3] / (height + foot)
        title = 1 + (top[row] - _LINE) / box[3]
        draw(figure.add_axes(share), panel, size, families, title)
    if keys:
        figure.legend(
            handles=keys,
            loc="lower left",
            ncols=len(keys) if in_line else 1,
            prop={"family": families, "size": size - 1},
            labelcolor=DARK,
            frameon=False,
            borderaxespad=0.2,
            handletextpad=0.3,
            columnspacing=1.2,
        )
    return figure


def _boxes(panels, cell, families, size):
    """Measures each panel in inches.

    Returns:
        The width of the labels at its left, the width of its cells with room for the
        title, the height of the labels and title at its top, the height of its cells.
    """
    room, boxes = _ruler(families), []
    for panel in panels:
        title = room([panel.title], size + 1)
        above = _LINE if panel.title else 0
        if panel.empty:
            boxes.append(
                (0, max(title, room(["nothing to align"], size)), above, _LINE)
            )
            continue
        top = room(panel.columns, size)
        if top <= cell:  # single letters, or characters that are words
            panel.rotation, top = 0, _LINE
        wide, high = cell * len(panel.columns), cell * len(panel.rows)
        boxes.append((room(panel.rows, size), max(wide, title), above + top, high))
    return boxes


def _ruler(families):
    """Returns a function that measures the widest of some texts in inches.

    It takes the texts, their size in points, and whether they contain formulas.
    """
    from matplotlib.backends.backend_agg import RendererAgg
    from matplotlib.font_manager import FontProperties

    renderer = RendererAgg(1, 1, 72)

    def room(texts, size, formulas=False):
        font = FontProperties(family=families, size=size)
        extents = [
            renderer.get_text_width_height_descent(text, font, formulas)
            for text in texts
        ]
        return max((width for width, *_ in extents), default=0) / 72 + _PAD

    return room


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
