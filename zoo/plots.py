"""Pictures: what a translation attended to, and how a training went.

    result = zoo.load("luong_local").translate("A dog runs.", return_details=True)
    zoo.plots.save(result.plot(), "dog.png")

It needs matplotlib (the extra `plot`), which is imported when something is drawn, and
neither pyplot nor a backend of Keras. Pictures bring their own background and colours,
whatever matplotlib's style is, and can be read in grey. Threads may draw at the same
time; what they draw they write with `save`.
"""

import functools
import io
import os
import re
import threading

ENDINGS = (".png", ".svg")
DARK, FAINT = "#222222", "#e4e4e4"  # text and frames, lines of a grid
_LOCK = threading.RLock()
# What XML forbids, and the control characters that it only discourages.
_FORBIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_BREAKS = re.compile("[\t\n\v\f\r\x85\u2028\u2029]+")


def alone(function):
    """`function`, by one thread at a time: matplotlib's fonts crash under two."""

    @functools.wraps(function)
    def locked(*arguments, **options):
        with _LOCK:
            return function(*arguments, **options)

    return locked


@alone
def plot_alignment(translation, axes=None, words=True, title=None):
    """Draws what a translation attended to, as in Bahdanau et al. 2015, figure 3.

    Source words stand at the top, the translation's down the side; the darker a cell,
    the more of the target word's attention went to the source word, on the same scale
    in every picture. Its number is in percent, from 5 on. Of local attention (Luong et
    al. 2015) two things are marked: p_t, the source position that it centres on, and
    where its window ends inside the sentence. A legend explains the marks.

    Args:
        translation: a `zoo.decoding.Translation`.
        axes: matplotlib `Axes` to draw in, without a legend; None, the default, for a
            figure of its own.
        words: whether pieces are merged into words, as `Translation.merge_words` does:
            attention is summed over the pieces of a source word and averaged over those
            of a target word. If not, a piece that goes on with a word begins with "-".
        title: str, above the picture.

    Returns:
        A matplotlib `Figure`, or `axes` if they were given.

    Raises:
        TypeError: if `translation` is no such record.
        ImportError: without matplotlib.
    """
    if axes is None:
        return plot_alignments([translation], [title], words)
    from zoo.decoding.heatmap import draw, fitting_size, make_panels

    [panel], families = make_panels([translation], [title], words)
    draw(axes, panel, fitting_size(axes, panel), families)
    axes.set_aspect("equal")
    return axes


@alone
def plot_alignments(translations, titles=None, words=True, columns=None):
    """Draws several alignments side by side, of one size of cell and one scale.

    Args:
        translations: list of `zoo.decoding.Translation`.
        titles: list of str, one each: by default none.
        words: see `plot_alignment`.
        columns: pictures in a row; None, the default, for all of them.

    Returns:
        A matplotlib `Figure`.

    Raises:
        TypeError: for anything but such records.
        ValueError: if there are none, as many titles as records are not given, or
            `columns` is not a positive integer.
        ImportError: without matplotlib.

    Example:
        ```python
        results = [
            zoo.load(name).translate("A dog runs.", return_details=True)
            for name in ("luong_local", "bahdanau")
        ]
        zoo.plots.plot_alignments(results, ["luong_local", "bahdanau"])
        ```
    """
    from zoo.decoding.heatmap import lay_out, make_panels

    translations = list(translations)
    titles = [None] * len(translations) if titles is None else list(titles)
    columns = len(translations) if columns is None else columns
    if not translations or len(titles) != len(translations):
        raise ValueError(
            "There must be a translation, and a title for each or none. Received: "
            f"{len(translations)} translations, {len(titles)} titles"
        )
    if isinstance(columns, bool) or not isinstance(columns, int) or columns < 1:
        raise ValueError(
            f"`columns` must be a positive integer. Received: columns={columns!r}"
        )
    return lay_out(*make_panels(translations, titles, words), columns)


def plot_training(logs, labels=None):
    """Draws the training curves of a run, or of several in the same axes.

    Of one run every column of its log is drawn; of several the first of each kind, as
    the mean of the validation sets' BLEU.

    Args:
        logs: folder of a run or path of its `log.csv`, or a list of them.
        labels: list of str, what the runs are called; by default by their folders.

    Returns:
        A matplotlib `Figure`.

    Raises:
        FileNotFoundError: if a log is not there, or has no epoch yet.
        ValueError: if there is no log, a log is none of a training, or as many labels
            as logs are not given.
        ImportError: without matplotlib.
    """
    from zoo.training.curves import draw_curves, loss_of, read_log

    logs = [logs] if isinstance(logs, (str, os.PathLike)) else list(logs)
    labels = short_names(logs) if labels is None else list(labels)
    if not logs or len(set(labels)) != len(logs):
        raise ValueError(
            "There must be a log, and a label of its own for each or none. Received: "
            f"{len(logs)} logs, labels={labels}"
        )
    found = dict(zip(labels, map(read_log, logs), strict=True))
    losses = set(map(loss_of, logs))
    differ = None if None in losses else "not the same in all runs"
    return draw_curves(found, losses.pop() if len(losses) == 1 else differ)


def save(figure, path):
    """Writes a figure as PNG (200 dots an inch) or as SVG, by the path's ending.

    An SVG's text is drawn as outlines: it looks the same where a font is missing.

    Raises:
        ValueError: for another ending.
        OSError: if the file cannot be written.
    """
    ending = check_ending(path)
    picture = render(figure, ending[1:], 200)  # first, for the sake of what is there
    with open(path, "wb") as file:
        file.write(picture)


def check_ending(path):
    """The ending of a picture's path, in small letters; a ValueError if `save` has no
    format for it."""
    ending = os.path.splitext(os.fspath(path))[1].lower()
    if ending not in ENDINGS:
        raise ValueError(
            f"a picture's name ends in {' or '.join(ENDINGS)}, received {str(path)!r}"
        )
    return ending


def need_matplotlib():
    """Raises an ImportError that names the extra if matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise ImportError(
            "pictures need matplotlib: pip install 'attention-zoo[plot]'"
        ) from None


def short_names(paths):
    """The ends of paths, as long as it takes to tell them from each other."""
    paths = [os.fspath(path) for path in paths]
    folders = [path.removesuffix("log.csv") for path in paths]
    parts = [os.path.abspath(folder).split(os.sep) for folder in folders]
    for count in range(1, max(map(len, parts), default=0) + 1):
        names = ["/".join(part[-count:]) for part in parts]
        if len(set(names)) == len(names):
            return names
    return paths


def printable(text):
    """Text of data as one line that SVG and HTML can hold, though not escaped yet.

    Line breaks become a space; control characters and other code points that XML
    forbids become U+FFFD.

    Example:
        >>> printable("one\\ntwo \\x1b[0m")
        'one two \ufffd[0m'
    """
    return _FORBIDDEN.sub("\ufffd", _BREAKS.sub(" ", text))


def draw_plainly(*texts):
    """Makes matplotlib `Text`s that come from data show what they say: `$` begins no
    formula, and each is `printable`."""
    for text in texts:
        text.set_parse_math(False)
        text.set_text(printable(text.get_text()))


def new_figure(width, height, **options):
    """A `Figure` of this size in inches, white in every style, which notebooks show."""
    need_matplotlib()
    from matplotlib.figure import Figure

    figure = Figure((width, height), facecolor="white", **options)
    # A notebook shows what has it, without pyplot.
    figure._repr_png_ = functools.partial(render, figure, "png", 100)
    return figure


@alone
def render(figure, kind, dpi):
    """A figure as the bytes of a file of this kind, "png" or "svg"."""
    file = io.BytesIO()
    figure.savefig(file, format=kind, dpi=dpi, facecolor="white")
    return file.getvalue()
