"""Figures in matplotlib's style, which notebooks display, and saving them."""

import functools
import io
import re
from pathlib import Path
from typing import Any

from zoo.checks import need_packages
from zoo.files import StrPath

ENDINGS = (".png", ".svg")
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


def printable(text: str) -> str:
    r"""Makes text a single line that SVG and HTML can contain once it is escaped.

    Line breaks become a space; control characters and other code points that XML
    forbids become U+FFFD.

    Example:
        >>> printable("one\ntwo \x1b[0m")
        'one two �[0m'
    """
    return _FORBIDDEN.sub("\ufffd", _BREAKS.sub(" ", text))


def shortened(text: str, longest: int) -> str:
    """Returns a label, `printable` and cut to a number of characters."""
    text = printable(text)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def draw_plainly(*texts: Any) -> None:
    """Makes matplotlib `Text`s literal (`$` begins no formula) and `printable`.

    Characters that the default font lacks, as Chinese, come from a CJK font, if there
    is one.
    """
    for text in texts:
        text.set(parse_math=False, text=printable(text.get_text()), family=_families())


@functools.cache
def _families():
    import matplotlib
    from matplotlib import font_manager

    others = [name for name in font_manager.get_font_names() if "CJK" in name]
    return [*matplotlib.rcParams["font.family"], *sorted(others)[:1]]


def new_figure(width: float, height: float, **options: Any) -> Any:
    """Returns a `Figure` of this size in inches, which notebooks display.

    Raises:
        ImportError: without matplotlib; the message names the extra.
    """
    need_packages("Drawing", "plot", "matplotlib")
    from matplotlib.figure import Figure

    figure: Any = Figure((width, height), **options)
    # Notebooks display any object with this method, without pyplot.
    figure._repr_png_ = functools.partial(render, figure, "png", 100)
    return figure


def render(figure: Any, kind: str, dpi: int) -> bytes:
    """Renders a figure as the bytes of a "png" or "svg" file, the same each time."""
    from matplotlib import rc_context

    file = io.BytesIO()
    metadata = {"Date": None} if kind == "svg" else None
    with rc_context({"svg.hashsalt": "zoo"}):  # names in an SVG are random otherwise
        options = {"bbox_inches": "tight", "pad_inches": 0.08}
        figure.savefig(file, format=kind, dpi=dpi, metadata=metadata, **options)
    return file.getvalue()
