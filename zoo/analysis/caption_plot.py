"""The attention of a caption's words, laid over its image with matplotlib."""

import math
from typing import Any

import numpy as np

from zoo.analysis.figure import draw_plainly, new_figure, shortened
from zoo.checks import positive
from zoo.text.word_splitting import labels

_SIDE, _LABEL = 1.3, 0.24  # inches: of a picture, of its word
_PIXELS = 240  # of a picture's longer side
_DIM = 0.72  # how far a place without attention fades into white
_LONGEST = 16  # characters of a label
KEY = "% = attention at the clearest place"


def plot_caption(
    caption: Any, columns: int | None = None, words: bool = True, title: str = ""
) -> Any:
    """Draws where a captioner looks at each word, as in Xu et al. 2015, figure 2.

    The first picture is the image; in the others, one for each word, a place is the
    clearer the more attention it has, and what has none fades. The weights of the grid
    are enlarged to the image and smoothed by a Gaussian of half a place; each picture's
    clearest place is its highest weight, which stands beside the word in percent, as
    the line below the pictures says.

    Args:
        caption: a `zoo.decoding.Caption`.
        columns: pictures in a row. Default: as many as make the figure twice as wide as
            high, about.
        words: whether pieces are merged into words, whose attention is their mean.
        title: the figure's title. Default: none.

    Returns:
        A matplotlib `Figure`.

    Raises:
        TypeError: if `caption` is not such a record.
        ValueError: if `columns` is not a positive integer.
        ImportError: without matplotlib.
    """
    if not hasattr(caption, "merge_words") or not hasattr(caption, "image"):
        raise TypeError(
            "What is drawn is a zoo.decoding.Caption, which `caption` gives with "
            f"return_details=True. Received: {type(caption).__name__}"
        )
    record = caption.merge_words() if words else caption
    image = _enlarged(record.image)
    height, width = image.shape[:2]
    shape, count = height / width, len(record.tokens) + 1
    if columns is None:
        columns = min(count, max(1, round(math.sqrt(2 * count * (shape + 0.2)))))
    rows = math.ceil(count / positive("columns", columns))
    pictures = [("", image)]
    tokens = labels(record.tokens)
    for token, weights in zip(tokens, np.asarray(record.alignment), strict=True):
        text = f"{shortened(token, _LONGEST)}  {100 * float(np.max(weights)):.0f} %"
        pictures.append((text, fade(image, weights)))
    side = _SIDE * math.sqrt(1 / shape), _SIDE * math.sqrt(shape)
    size = max(columns * side[0], 1.9), rows * (side[1] + _LABEL) + 2 * _LABEL
    figure = new_figure(*size, layout="compressed")
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes, (text, picture) in zip(grid.flat, pictures, strict=False):
        axes.imshow(picture, interpolation="bilinear")
        axes.set(xticks=[], yticks=[])
        draw_plainly(axes.set_title(text, size=8, pad=3))
    for axes in figure.axes[count:]:
        axes.remove()
    left = {"x": 0, "ha": "left"}
    if title:
        draw_plainly(figure.suptitle(title, size=9, **left))
    if record.tokens:
        draw_plainly(figure.supxlabel(KEY, size=7, **left))
    return figure


def _enlarged(image):
    """An image of bytes as RGB `(H, W, 3)` from 0 to 1, of about `_PIXELS`."""
    image = np.asarray(image)
    if image.ndim != 3 or image.shape[-1] not in (1, 3):
        raise ValueError(
            "the caption's image must have 1 or 3 channels to be drawn. "
            f"Received: a shape of {image.shape}"
        )
    times = max(1, round(_PIXELS / max(image.shape[:2])))
    image = image.repeat(times, axis=0).repeat(times, axis=1)
    return np.broadcast_to(image, (*image.shape[:2], 3)).astype("float64") / 255


def fade(image: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Fades an image into white where it has no attention.

    Args:
        image: RGB `(H, W, 3)`, from 0 to 1.
        weights: attention `(h, w)`.

    Returns:
        `(H, W, 3)`, from 0 to 1.
    """
    smooth = smoothed(weights, *image.shape[:2])
    clear = (smooth / max(smooth.max(), 1e-9))[..., None]
    # The eye sees shares of brightness: without the root only the peak would be clear.
    share = _DIM * (1 - np.sqrt(clear))
    grey = image @ np.full((3, 1), 1 / 3)
    faded = grey + (image - grey) * np.sqrt(clear)
    return np.clip(faded + share * (1 - faded), 0, 1)


def smoothed(weights: np.ndarray, height: int, width: int) -> np.ndarray:
    """Enlarges weights `(h, w)` to `(height, width)`, smoothed by a Gaussian.

    A place keeps its weight as a sum; the Gaussian's deviation is half a place.
    """

    def spread(count, size):
        """The shares of each pixel `(size, count)`."""
        pixels = (np.arange(size) + 0.5) * count / size
        far = pixels[:, None] - (np.arange(count) + 0.5)
        shares = np.exp(-0.5 * (far / 0.5) ** 2)
        return shares / shares.sum(axis=0)

    rows, columns = weights.shape
    return spread(rows, height) @ weights @ spread(columns, width).T
