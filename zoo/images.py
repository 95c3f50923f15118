"""Images of any form as arrays of a model's shape. Imports no Keras."""

import io
import os
from pathlib import Path
from typing import Any

import numpy as np

from zoo.strings import describe

CHANNELS = (1, 3)  # of what is an image: grey, or red, green and blue
LUMA = (0.299, 0.587, 0.114)  # the weights of red, green and blue (ITU-R BT.601)


def read_images(images: Any, shape: tuple[int, int, int]) -> tuple[np.ndarray, bool]:
    """Returns images as one array.

    Args:
        images: one image or several, as `zoo.models.ShowAttendTellCaptioner.caption`
            takes them.
        shape: height, width and channels of the result.

    Returns:
        uint8 `(N, *shape)` from 0 to 255, and whether `images` was a single one. For
        other than 1 or 3 channels, float32 numbers as they are.

    Raises:
        TypeError: for anything else; the message gives its position.
        ValueError: for an array of another shape or range, or a damaged file.
        FileNotFoundError: if a file is not there.
        ImportError: without Pillow, for a file, or an image of another size.

    Example:
        >>> array, single = read_images(np.zeros((4, 6), "uint8"), (4, 6, 3))
        >>> array.shape, single
        ((1, 4, 6, 3), True)
    """
    single = _is_single(images)
    given = [images] if single else list(images)
    size = np.uint8 if shape[-1] in CHANNELS else np.float32
    array = np.zeros((len(given), *shape), size)
    for place, image in enumerate(given):
        array[place] = _read(image, shape, "image" if single else f"images[{place}]")
    return array, single


def _is_single(images):
    several = isinstance(images, (list, tuple))
    return not several and len(getattr(images, "shape", ())) < 4


def _read(image, shape, name):
    array = _array(image, name)
    if shape[-1] not in CHANNELS:
        if array.shape != shape:
            raise ValueError(
                f"{name} must have the shape {shape}. Received: {array.shape}"
            )
        return array
    array = _bytes(array, name)
    if array.shape[:2] != shape[:2]:
        array = _cropped(array, shape[0], shape[1])
    if shape[-1] == 1 and array.shape[-1] == 3:
        return _rounded(array @ np.array(LUMA)[:, None])
    return array


def _array(image, name):
    """An array, a file, a PIL image or a tensor as an array."""
    if isinstance(image, (str, os.PathLike)):
        return _open(_existing(image, name), name)
    if hasattr(image, "convert"):  # a PIL image
        return _rgb(image)
    if not hasattr(image, "shape"):
        raise TypeError(
            f"{name} must be an array, a path, a PIL image or a list of them. "
            f"Received: {describe(image)}"
        )
    return np.asarray(image.detach().cpu() if hasattr(image, "detach") else image)


def _bytes(array, name):
    """The array as uint8 `(H, W, 1 or 3)`."""
    array = array[..., None] if array.ndim == 2 else array
    if array.ndim != 3 or array.shape[-1] not in CHANNELS or 0 in array.shape:
        raise ValueError(
            f"{name} must have the shape (height, width), or with 1 or 3 channels "
            f"last. Received: {array.shape}"
        )
    floats = array.dtype.kind == "f"
    fits = array.dtype.kind in "fiu" and array.min() >= 0
    if not (fits and array.max() <= (1 if floats else 255)):
        raise ValueError(
            f"{name} must have integers from 0 to 255, or floats from 0 to 1. "
            f"Received: {array.dtype} from {array.min()} to {array.max()}"
        )
    return _rounded(array.astype("float32") * 255) if floats else array.astype("uint8")


def _rounded(array):
    return np.round(array).clip(0, 255).astype("uint8")


# === Files to send ===
def check_shape(shape: tuple[int, int, int]) -> None:
    """Raises a `ValueError` for a captioner's `image_shape` that is of no picture."""
    if shape[-1] not in CHANNELS:
        raise ValueError(
            "Files are of grey or RGB images. Received: a captioner with "
            f"image_shape={tuple(shape)}"
        )


def encode_images(images: Any) -> tuple[list[bytes], bool]:
    """Returns the contents of images' files: a file's as it is, else a PNG's.

    Args:
        images: one image or several: paths, the contents of files, or PIL images or
            arrays as `zoo.models.ShowAttendTellCaptioner.caption` takes them.

    Returns:
        A list of contents, and whether `images` was a single one.

    Raises:
        TypeError: for anything else; the message gives its position.
        ValueError: for an array of another shape or range.
        FileNotFoundError: if a file is not there.
        ImportError: without Pillow, for what is no file.
    """
    if _is_single(images):
        return [_encode(images, "image")], True
    return [_encode(image, f"images[{n}]") for n, image in enumerate(images)], False


def _encode(image, name):
    if isinstance(image, bytes):
        return image
    if isinstance(image, (str, os.PathLike)):
        return _existing(image, name).read_bytes()
    file = io.BytesIO()
    _from_array(_bytes(_array(image, name), name)).save(file, "PNG")
    return file.getvalue()


# === Pillow ===
def _pillow():
    try:
        from PIL import Image
    except ImportError:
        raise ImportError(
            "image files, images of another size than the model's, and those to send "
            "need Pillow: pip install pillow"
        ) from None
    return Image


def _open(file, name):
    """The array of an image file."""
    pillow = _pillow()
    try:
        with pillow.open(file) as image:
            return _rgb(image)
    except MemoryError:
        raise
    except Exception as error:  # decoders of damaged files raise all kinds
        raise ValueError(f"{name} is no image that Pillow reads: {error}") from error


def _existing(path, name):
    if not Path(path).is_file():
        raise FileNotFoundError(f"{name}: there is no file {os.fspath(path)!r}")
    return Path(path)


def _rgb(image):
    """A PIL image as an array: upright, by its EXIF data, and opaque, on white."""
    from PIL import ImageOps

    image = ImageOps.exif_transpose(image)
    if image.mode.startswith("I;16"):  # whose numbers `convert` would cut off at 255
        grey = (np.asarray(image) >> 8).astype("uint8")
        return np.stack([grey] * 3, axis=-1)
    if "A" in image.getbands() or "transparency" in image.info:
        image = image.convert("RGBA")
        ground = _pillow().new("RGBA", image.size, "white")
        image = _pillow().alpha_composite(ground, image)
    return np.asarray(image.convert("RGB"))


def _cropped(array, height, width):
    """The largest middle part of the shape's proportions, scaled to it."""
    bicubic = _pillow().Resampling.BICUBIC
    from PIL import ImageOps

    scaled = np.asarray(ImageOps.fit(_from_array(array), (width, height), bicubic))
    return scaled if scaled.ndim == 3 else scaled[..., None]


def _from_array(array):
    """A PIL image of uint8 `(H, W, 1 or 3)`."""
    return _pillow().fromarray(array if array.shape[-1] == 3 else array[..., 0])
