"""Attention drawn with matplotlib: alignments as heatmaps, captions' on the image."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from zoo.analysis.figure import draw_plainly, new_figure, shortened
from zoo.checks import positive
from zoo.text.word_splitting import are_characters, labels

_MARK = "#d95f02"
_FOCUS = {"marker": "v", "ms": 3.6, "color": _MARK, "mec": "white", "ls": ""}
_END = {"marker": "|", "ms": 9, "color": _MARK, "mew": 1.3, "ls": ""}
_SIZE, _NUMBER = 8, 6  # points, of labels and numbers
_LONGEST = 24  # characters of a label
FOCUS_KEY = "$p_t$ = source position that the attention centres on"
WINDOW_KEY = "end of the window $[p_t - D, p_t + D]$: no attention beyond it"


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

    Chinese, Japanese and Korean need a font on this machine with "CJK" in its name,
    such as Google's Noto Sans CJK; other scripts that matplotlib's own font lacks need
    one in `matplotlib.rcParams["font.family"]`. Words stand in their reading order, the
    first one at the left and at the top, in scripts from right to left as well.

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
    _draw(axes, _merged(translation, words), title)
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
    records = [_merged(translation, words) for translation in translations]
    names = [None] * len(records) if titles is None else list(titles)
    if not records or len(names) != len(records):
        raise ValueError(
            "There must be a translation, and a title for each or none. Received: "
            f"{len(records)} translations, {len(names)} titles"
        )
    count = len(records) if columns is None else positive("columns", columns)
    count = min(count, len(records))
    lines = [records[i : i + count] for i in range(0, len(records), count)]
    stacks = [records[i::count] for i in range(count)]
    wide = [_most(stack, "source_tokens") for stack in stacks]
    high = [_most(line, "tokens") for line in lines]
    cell = min(0.32, max(0.19, 9 / max(sum(wide), sum(high))))
    # A column has room for its titles, and the figure for labels.
    room = [_inches(names[i::count]) / cell for i in range(count)]
    wide = [max(pair) for pair in zip(wide, room, strict=True)]
    left = sum(_inches(sum((r.tokens for r in stack), [])) for stack in stacks)
    top = sum(_inches(sum((r.source_tokens for r in line), [])) for line in lines)
    size = cell * sum(wide) + left, cell * sum(high) + top + 0.3 * len(lines) + 0.5
    figure = new_figure(*size, layout="compressed")
    grid = figure.add_gridspec(len(lines), count, width_ratios=wide, height_ratios=high)
    for number, (record, name) in enumerate(zip(records, names, strict=True)):
        row, column = divmod(number, count)
        axes = figure.add_subplot(grid[row, column])
        _draw(axes, record, name)
        # The same space for each panel of a row or column: the cells have one size.
        axes.set(xlim=(-0.5, wide[column] - 0.5), ylim=(high[row] - 0.5, -0.5))
    if any(record.focus is not None for record in records):
        _add_legend(figure, records)
    return figure


def _merged(translation, words):
    """Returns a record with words in place of pieces, if it has any."""
    if not hasattr(translation, "merge_words"):
        raise TypeError(
            "What is drawn is a zoo.decoding.Translation, which `translate` gives "
            f"with return_details=True. Received: {type(translation).__name__}"
        )
    tokens = [*translation.tokens, *translation.source_tokens]
    merged = not are_characters(tokens) if words is None else words
    return translation.merge_words() if merged else translation


def _most(records, field):
    return max(1.0, *(float(len(getattr(record, field))) for record in records))


def _inches(texts):
    """Returns the inches that the longest of some labels takes, about."""
    letters = max((min(len(text or ""), _LONGEST) for text in texts), default=0)
    return 0.62 * _SIZE / 72 * letters + 0.1


def _draw(axes, record, title):
    """Draws a heatmap."""
    rows, columns = (
        [shortened(label, _LONGEST) for label in labels(tokens)]
        for tokens in (record.tokens, record.source_tokens)
    )
    axes.set(frame_on=False, aspect="equal", anchor="NW")
    draw_plainly(axes.set_title(title or "", loc="left", fontsize=_SIZE + 1))
    if not rows or not columns:
        axes.axis("off")
        axes.text(0, 1, "nothing to align", va="top", transform=axes.transAxes)
        return
    edges = [[i - 0.5 for i in range(len(side) + 1)] for side in (columns, rows)]
    style: Any = {"cmap": "Blues", "edgecolors": "0.9", "linewidth": 0.4}
    axes.pcolormesh(*edges, record.alignment, vmin=0, vmax=1, **style)
    axes.set(xlim=(-0.5, len(columns) - 0.5), ylim=(len(rows) - 0.5, -0.5))
    axes.xaxis.tick_top()
    axes.tick_params(length=0, pad=2, labelsize=_SIZE)
    # Single letters, or characters that are words, stand upright.
    rotation = 0 if max(map(len, columns)) == 1 else 90
    axes.set_xticks(range(len(columns)), columns, rotation=rotation)
    axes.set_yticks(range(len(rows)), rows)
    draw_plainly(*axes.get_xticklabels(), *axes.get_yticklabels())
    # Marks of p_t are above the numbers.
    lower = 0.12 if record.focus is not None else 0.03
    middle = {"ha": "center", "va": "center", "size": _NUMBER}
    for row, weights in enumerate(record.alignment):
        for column, weight in enumerate(weights):
            if weight >= 0.05:
                color = "white" if weight > 0.5 else "black"
                number = f"{100 * weight:.0f}"
                axes.text(column, row + lower, number, color=color, **middle)
    if record.focus is not None:
        heads = [row - 0.22 for row in range(len(rows))]
        axes.plot(record.focus, heads, **_FOCUS, mew=0.5, clip_on=False)
        for x, row in _window_ends(record):
            axes.vlines(x, row - 0.5, row + 0.5, color=_MARK, linewidth=1.3)


def _window_ends(record):
    """Returns x and row of each window end inside the sentence."""
    last, ends = len(record.source_tokens) - 1, []
    for row, (first, final) in enumerate(record.windows):
        ends += [(first - 0.5, row)] if first > 0 else []
        ends += [(final + 0.5, row)] if final < last else []
    return ends


def _add_legend(figure, records):
    """Explains the marks of local attention."""
    from matplotlib.lines import Line2D

    keys = [Line2D([], [], **_FOCUS, label=FOCUS_KEY)]
    if any(record.focus is not None and _window_ends(record) for record in records):
        keys.append(Line2D([], [], **_END, label=WINDOW_KEY))
    style = {"fontsize": _SIZE - 1, "frameon": False, "handletextpad": 0.3}
    figure.legend(handles=keys, loc="outside lower left", **style)


# === Captions ===
_SIDE, _LABEL = 1.3, 0.24  # inches: of a picture, of its word
_DIM = 0.72  # how far a place without attention fades into white
_LONGEST_WORD = 16  # characters of a label
SHARE_KEY = "% = attention at the clearest place"


def plot_caption(caption: Any, title: str = "") -> Any:
    """Draws where a captioner looks at each word, as in Xu et al. 2015, figure 2.

    The first picture is the image; in the others, one for each word, a place is the
    clearer the more attention it has, and what has none fades. A word's attention is
    the mean of its pieces', smoothed between the places of the grid; each picture's
    clearest place is its highest weight, which stands beside the word in percent, as
    the line below the pictures says.

    Args:
        caption: a `zoo.decoding.Caption`.
        title: the figure's title. Default: none.

    Returns:
        A matplotlib `Figure`.

    Raises:
        TypeError: if `caption` is not such a record.
        ValueError: if its image has other than 1 or 3 channels.
        ImportError: without matplotlib.
    """
    if not hasattr(caption, "merge_words") or not hasattr(caption, "image"):
        raise TypeError(
            "What is drawn is a zoo.decoding.Caption, which `caption` gives with "
            f"return_details=True. Received: {type(caption).__name__}"
        )
    record, shape = caption.merge_words(), np.shape(caption.image)
    if len(shape) != 3 or shape[-1] not in (1, 3):
        raise ValueError(
            "the caption's image must have 1 or 3 channels to be drawn. "
            f"Received: a shape of {shape}"
        )
    figure, grid = _panels(shape[0] / shape[1], len(record.tokens) + 1)
    for axes in grid:
        axes.imshow(np.broadcast_to(record.image, (*shape[:2], 3)))
        axes.set(xticks=[], yticks=[])
    for axes, token, weights in zip(
        grid[1:], labels(record.tokens), np.asarray(record.alignment), strict=True
    ):
        text = f"{shortened(token, _LONGEST_WORD)}  {100 * float(weights.max()):.0f} %"
        draw_plainly(axes.set_title(text, size=8, pad=3))
        _fade(axes, weights)
    left = {"x": 0, "ha": "left"}
    if title:
        draw_plainly(figure.suptitle(title, size=9, **left))
    if record.tokens:
        draw_plainly(figure.supxlabel(SHARE_KEY, size=_SIZE - 1, **left))
    return figure


def _panels(ratio, count):
    """A figure, about twice as wide as high, with pictures of a height to width."""
    columns = min(count, max(1, round(math.sqrt(2 * count * (ratio + 0.2)))))
    rows = math.ceil(count / columns)
    width, height = _SIDE * math.sqrt(1 / ratio), _SIDE * math.sqrt(ratio)
    size = max(columns * width, 1.9), rows * (height + _LABEL) + 2 * _LABEL
    figure = new_figure(*size, layout="compressed")
    grid = list(figure.subplots(rows, columns, squeeze=False).flat)
    for axes in grid[count:]:
        axes.remove()
    return figure, grid[:count]


def _fade(axes, weights):
    """Lays white over an image where weights `(h, w)` are low."""
    # The eye sees shares of brightness: without the root only the peak would be clear.
    clear = np.sqrt(weights / max(weights.max(), 1e-9))
    white = np.ones((*weights.shape, 4))
    white[..., 3] = _DIM * (1 - clear)
    axes.imshow(white, extent=axes.images[0].get_extent(), interpolation="bicubic")
