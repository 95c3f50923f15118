import keras
import numpy as np

from tests.harness import build_randomized, close, same_config, to_numpy
from tests.layers.reference import named
from zoo.layers import ImageEncoder

IMAGES = np.random.default_rng(3).integers(0, 256, (2, 13, 18, 3)).astype("uint8")


def reference_block(x, kernel, bias):
    """A 3 × 3 convolution with zeros around, relu, 2 × 2 maxima: pixel by pixel."""
    height, width, _ = x.shape
    padded = np.pad(x, ((1, 1), (1, 1), (0, 0)))
    out = np.zeros((height, width, kernel.shape[-1]))
    for i in range(height):
        for j in range(width):
            patch = padded[i : i + 3, j : j + 3]
            out[i, j] = np.einsum("abc,abcd->d", patch, kernel) + bias
    out = np.maximum(out, 0)[: height // 2 * 2, : width // 2 * 2]
    return out.reshape(height // 2, 2, width // 2, 2, -1).max((1, 3))


def test_the_grid_is_that_of_its_equations():
    encoder = build_randomized(ImageEncoder((3, 5)), IMAGES.shape, scale=0.4)
    found = to_numpy(encoder(IMAGES))
    assert found.shape == (2, 3, 4, 5) == encoder.compute_output_shape(IMAGES.shape)
    for image, grid in zip(IMAGES, found, strict=True):
        x = image.astype("float64") / 127.5 - 1
        for convolution in encoder.convolutions:
            weights = named(convolution)
            x = reference_block(x, weights["kernel"], weights["bias"])
        close(grid, x + to_numpy(encoder.places), atol=1e-4)


def test_config_and_half_precision():
    encoder = ImageEncoder((3, 4), dtype="mixed_bfloat16")
    assert keras.backend.standardize_dtype(encoder(IMAGES).dtype) == "bfloat16"
    again = same_config(encoder)
    assert again.filters == (3, 4)
    assert {v.dtype for v in encoder.weights} == {"float32"}
