"""Figures with their own background and colours, and saving them."""

import functools
import io
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from zoo.files import StrPath

ENDINGS = (".png", ".svg")
DARK, FAINT = "#222222", "#e4e4e4"  # text and frames, lines of a grid
# Code points that XML forbids, and control characters that it discourages.
_FORBIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_BREAKS = re.compile("[\t\n\v\f\r\x85\u2028\u2029]+")


def save(figure: Any, path: StrPath) -> None:
    """Saves a figure as PNG (200 dots per inch) or SVG, depending on the extension.

    Text in an SVG is drawn as outlines, so it looks the same without the font.

    Raises:
        ValueError: for another extension.
        OSError: if the file cannot be written.
    """
    ending = check_ending(path)
    picture = render(figure, ending[1:], 200)  # before an existing file is overwritten
    Path(path).write_bytes(picture)


def check_ending(path: StrPath) -> str:
    """Returns the lower-case extension of a picture's path.

    Raises:
        ValueError: if `save` has no format for it.
    """
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise ValueError(
            f"a picture's name ends in {' or '.join(ENDINGS)}, received {str(path)!r}"
        )
    return ending


def need_matplotlib() -> None:
    """Raises an ImportError that names the extra if matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise ImportError(
            "pictures need matplotlib: pip install 'attention-zoo[plot]'"
        ) from None


def short_names(paths: Iterable[StrPath]) -> list[str]:
    """Returns the shortest ends of paths that tell them apart."""
    names = [os.fspath(path) for path in paths]
    # Not resolved: links keep their names.
    parts = [Path(x.removesuffix("log.csv")).absolute().parts for x in names]
    for count in range(1, max(map(len, parts), default=0) + 1):
        ends = ["/".join(part[-count:]) for part in parts]
        if len(set(ends)) == len(ends):
            return ends
    return names


def printable(text: str) -> str:
    r"""Makes text a single line that SVG and HTML can contain once it is escaped.

    Line breaks become a space; control characters and other code points that XML
    forbids become U+FFFD.

    Example:
        >>> printable("one\ntwo \x1b[0m")
        'one two �[0m'
    """
    return _FORBIDDEN.sub("\ufffd", _BREAKS.sub(" ", text))


def draw_plainly(*texts: Any) -> None:
    """Makes matplotlib `Text`s literal (`$` begins no formula) and `printable`."""
    for text in texts:
        text.set_parse_math(False)
        text.set_text(printable(text.get_text()))


def new_figure(width: float, height: float, **options: Any) -> Any:
    """Returns a white `Figure` of this size in inches, which notebooks display."""
    need_matplotlib()
    from matplotlib.figure import Figure

    figure: Any = Figure((width, height), facecolor="white", **options)
    # Notebooks display any object with this method, without pyplot.
    figure._repr_png_ = functools.partial(render, figure, "png", 100)
    return figure


def render(figure: Any, kind: str, dpi: int) -> bytes:
    """Renders a figure as the bytes of a "png" or "svg" file, the same each time."""
    from matplotlib import rc_context

    file = io.BytesIO()
    metadata = {"Date": None} if kind == "svg" else None
    with rc_context({"svg.hashsalt": "zoo"}):  # names in an SVG are random otherwise
        options = {"facecolor": "white", "bbox_inches": "tight", "pad_inches": 0.08}
        figure.savefig(file, format=kind, dpi=dpi, metadata=metadata, **options)
    return file.getvalue()
