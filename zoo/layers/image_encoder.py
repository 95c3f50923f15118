"""A small convolutional net whose map of an image is a grid of annotation vectors."""

from typing import Annotated, Any

import keras
from keras import ops

from zoo.backend import Shape, Tensor
from zoo.checks import positive
from zoo.layers.configured import ConfiguredLayer


def sizes(name: str, value: Any) -> tuple[int, ...]:
    """The check of one positive integer or more."""
    value = tuple(positive(name, size) for size in value)
    if not value:
        raise ValueError(f"`{name}` must not be empty. Received: {value!r}")
    return value


@keras.saving.register_keras_serializable(package="zoo")
class ImageEncoder(ConfiguredLayer):
    """Reads images into the annotation vectors a_i of Xu et al. 2015, section 3.1.1.

    Blocks of a 3 × 3 convolution, rectified units and a 2 × 2 maximum, as in the net
    that the paper takes from Simonyan & Zisserman 2015, but small enough to be trained
    with the decoder from nothing. A vector of each place, learned, is added to the
    grid: a small net does not see from the image's edges where a place is.

    Args:
        filters: features of each block's convolution; the last is the annotations'
            size D. Default (32, 64, 128): a grid of an eighth of the image's size.

    Call arguments:
        images: `(B, H, W, C)`, numbers from 0 to 255 of any dtype, channels last.

    Returns:
        `(B, H / 2^n, W / 2^n, D)` for n blocks, rounded down, in the compute dtype.

    Variables: `places` `(h, w, D)`, and the convolutions' kernels and biases.

    Raises:
        ValueError: for filters that are not positive, none, or an image of unknown or
            too small a size.

    Example:
        >>> import numpy as np
        >>> encoder = ImageEncoder(filters=(4, 8))
        >>> encoder(np.zeros((2, 20, 30, 3), "uint8")).shape
        (2, 5, 7, 8)
    """

    filters: Annotated[Any, sizes] = (32, 64, 128)

    def setup(self) -> None:
        self.convolutions = [
            keras.layers.Conv2D(
                count,
                3,
                padding="same",
                activation="relu",
                kernel_initializer="he_normal",
                data_format="channels_last",
                dtype=self.dtype_policy,
                name=f"convolution_{number}",
            )
            for number, count in enumerate(self.filters)
        ]

    def build(self, input_shape: Shape) -> None:
        *_, height, width, size = shape = self.compute_output_shape(input_shape)
        if not height or not width:
            raise ValueError(
                f"{len(self.filters)} blocks need images of a known size, of "
                f"{2 ** len(self.filters)} pixels or more a side, channels last. "
                f"Received: a shape of {tuple(input_shape)}"
            )
        for convolution in self.convolutions:
            convolution.build(input_shape)
            input_shape = (None, None, None, convolution.filters)
        self.places = self.add_weight(
            name="places", shape=shape[1:], initializer="zeros"
        )
        self.built = True

    def call(self, images: Tensor) -> Tensor:
        x = ops.cast(images, self.compute_dtype) / 127.5 - 1
        for convolution in self.convolutions:
            x = pooled(convolution(x))
        return x + ops.cast(self.places, x.dtype)

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        batch, *sides, _ = input_shape
        sides = [side and side >> len(self.filters) for side in sides]
        return (batch, *sides, self.filters[-1])


def pooled(x: Tensor) -> Tensor:
    """The maxima of 2 × 2 places: `(B, H, W, n)` to `(B, H // 2, W // 2, n)`.

    On a CPU under JAX its gradient takes half the time of a pooling layer's.
    """
    height, width, size = (x.shape[1] // 2, x.shape[2] // 2, x.shape[3])
    x = ops.reshape(x[:, : 2 * height, : 2 * width], (-1, height, 2, width, 2, size))
    return ops.max(x, axis=(2, 4))
