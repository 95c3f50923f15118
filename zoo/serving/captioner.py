"""The signatures of a captioner: functions of image files in a TensorFlow graph."""

from typing import Any

from zoo.backend import Shape, Tensor
from zoo.images import GREY, MOST_PIXELS, check_shape
from zoo.serving.limits import Limits
from zoo.serving.translator import SearchSignatures

_PNG = b"\x89PNG\r\n\x1a\n"  # what its files begin with


class CaptionerSignatures(SearchSignatures):
    """The signatures of a captioner; see `SearchSignatures` and `read_images`.

    Args:
        task: a `zoo.models.ShowAttendTellCaptioner` with a preprocessor, under the
            TensorFlow backend.
        limits: the limits of all requests.

    Raises:
        ValueError: if its images are neither grey nor RGB.
    """

    task_name = "caption"
    default = "caption"
    written = "caption"
    # Signature -> the names of its inputs.
    inputs = {
        "caption": ("image_bytes",),
        "caption_n_best": ("image_bytes",),
        "greedy": ("image_bytes",),
        "align": ("image_bytes",),
        "score": ("image_bytes", "caption"),
    }

    def __init__(self, task: Any, limits: Limits) -> None:
        super().__init__(task, limits)
        self.image_shape = task.preprocessor.image_shape
        check_shape(self.image_shape)

    def limits_used(self) -> dict[str, Any]:
        """Returns the effective limits, for the metadata."""
        limits = self.limits
        return {
            "max_length": self.target_length,
            "beam_size": limits.beam_size,
            "length_penalty": limits.length_penalty,
            "n_best": limits.n_best,
        }

    # === Signatures ===
    def caption(self, image_bytes: Tensor) -> dict[str, Tensor]:
        """Returns `caption` and `score`, the best of the beam."""
        return self._best(image_bytes, self.limits.beam_size)

    def caption_n_best(self, image_bytes: Tensor) -> dict[str, Tensor]:
        """Returns `captions` and `scores` `(B, n_best)`, best first.

        Missing captions have the score -1e9.
        """
        return self._n_best(image_bytes)

    def align(self, image_bytes: Tensor) -> dict[str, Tensor]:
        """Returns the best caption with its attention weights.

        Returns:
            `caption`, `score`, `tokens` `(B, T)` and `alignment` `(B, T, rows,
            columns)`, over the places of the grid.
        """
        import tensorflow as tf

        found, weights = self._align(self._read(image_bytes))
        shape = tf.concat([tf.shape(weights)[:2], self.model.backbone.grid], axis=0)
        return {**found, "alignment": tf.reshape(weights, shape)}

    def score(self, image_bytes: Tensor, caption: Tensor) -> dict[str, Tensor]:
        """Returns `log_probability` of each caption, its end token included."""
        what = "image_bytes and caption must hold equally many"
        return self._score(image_bytes, caption, what)

    # === Parts ===
    def _read(self, source):
        return read_images(source, self.image_shape)

    def _longest(self, read):
        import tensorflow as tf

        return tf.fill(tf.shape(read)[:1], self.target_length)


def read_images(contents: Tensor, shape: Shape) -> Tensor:
    """Reads image files by operations of TensorFlow.

    An image comes out as from `zoo.images.read_images`: of another size the largest
    middle part of the shape's proportions, scaled, by some levels of 255 otherwise at
    the sharpest edges, since Pillow rounds twice; what is transparent on white. A
    photograph is not turned as its EXIF data tell.

    Args:
        contents: tf.string `(B,)`, files as PNG or JPEG, each of at most 30 million
            pixels; anything else is an InvalidArgumentError.
        shape: height, width and channels of the result, 1 or 3.

    Returns:
        uint8 `(B, *shape)`.
    """
    import tensorflow as tf

    spec = tf.TensorSpec(shape, tf.uint8)
    # One after another, since each may be large.
    return tf.map_fn(
        lambda content: _scaled(_decoded(content), shape),
        contents,
        fn_output_signature=spec,
        parallel_iterations=1,
    )


def _decoded(content):
    """Returns uint8 `(H, W, 3)`."""
    import tensorflow as tf

    jpeg = tf.io.is_jpeg(content)
    png = tf.strings.substr(content, 0, len(_PNG)) == _PNG
    known = tf.debugging.assert_equal(
        jpeg | png, True, "an image must be the content of a PNG or JPEG file"
    )
    with tf.control_dependencies([known]):
        size = tf.cond(
            jpeg,
            lambda: tf.io.extract_jpeg_shape(content)[:2],
            lambda: _png_size(content),
        )
    # Before it is unpacked.
    pixels = tf.reduce_prod(tf.cast(size, tf.int64))
    few = tf.debugging.assert_less_equal(
        pixels, tf.constant(MOST_PIXELS, tf.int64), "an image has too many pixels"
    )
    with tf.control_dependencies([few]):
        image = tf.cond(
            jpeg,
            # As Pillow does it.
            lambda: tf.io.decode_jpeg(content, 3, dct_method="INTEGER_ACCURATE"),
            lambda: _on_white(tf.io.decode_png(content, 4)),
        )
    return tf.ensure_shape(image, [None, None, 3])


def _png_size(content):
    """Returns height and width, which stand in a PNG's first part."""
    import tensorflow as tf

    first = tf.strings.substr(tf.strings.join([content, "\0" * 24]), 16, 8)
    return tf.io.decode_raw(first, tf.int32, little_endian=False)[::-1]


def _on_white(image):
    import tensorflow as tf

    colours, alpha = image[..., :3], image[..., 3:]

    def composed():
        share = tf.cast(alpha, tf.float32) / 255
        return _rounded(255 + share * (tf.cast(colours, tf.float32) - 255))

    return tf.cond(tf.reduce_all(alpha == 255), lambda: colours, composed)


def _scaled(image, shape):
    import tensorflow as tf

    height, width, channels = shape
    size = tf.shape(image)[:2]

    def scaled():
        there = tf.cast(size, tf.float32)
        scale = tf.reduce_max([height, width] / there)
        found = tf.raw_ops.ScaleAndTranslate(
            images=image[None],
            size=[height, width],
            scale=[scale, scale],
            translation=([height, width] - scale * there) / 2,
            kernel_type="keyscubic",  # Pillow's
            antialias=True,
        )
        return _rounded(found[0])

    same = tf.reduce_all(size == [height, width])
    image = tf.ensure_shape(tf.cond(same, lambda: image, scaled), [height, width, 3])
    if channels == 1:
        grey = tf.constant(GREY, tf.float32)[:, None]
        image = _rounded(tf.tensordot(tf.cast(image, tf.float32), grey, 1))
    return image


def _rounded(numbers):
    import tensorflow as tf

    return tf.cast(tf.clip_by_value(tf.round(numbers), 0, 255), tf.uint8)
