"""Figures that bring their own background and colours, and how they are written."""

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


def one_thread(function):
    """`function`, by one thread at a time: matplotlib's fonts crash under two."""

    @functools.wraps(function)
    def locked(*arguments, **options):
        with _LOCK:
            return function(*arguments, **options)

    return locked


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


@one_thread
def render(figure, kind, dpi):
    """A figure as the bytes of a file of this kind, "png" or "svg"."""
    file = io.BytesIO()
    figure.savefig(file, format=kind, dpi=dpi, facecolor="white")
    return file.getvalue()
