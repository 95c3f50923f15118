"""Reads image files by operations of TensorFlow, for graphs."""

import tensorflow as tf

from zoo.backend import Shape, Tensor
from zoo.images import LUMA, MAX_PIXELS

_PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"  # what its files begin with


def read_images(contents: Tensor, shape: Shape) -> Tensor:
    """Reads image files by operations of TensorFlow.

    The result is that of `zoo.images.read_images`: other sizes are centre-cropped to
    the shape's aspect ratio and resized; transparent areas become white. Pixels of a
    resized image may differ by a few levels at sharp edges, since Pillow rounds twice,
    and the EXIF orientation is ignored.

    Args:
        contents: tf.string `(B,)`, PNG or JPEG files, each of at most 30 million
            pixels; anything else is an InvalidArgumentError.
        shape: height, width and channels of the result, 1 or 3.

    Returns:
        uint8 `(B, *shape)`.
    """
    spec = tf.TensorSpec(shape, tf.uint8)
    # One after another, since each may be large.
    return tf.map_fn(
        lambda content: _read_image(content, shape),
        contents,
        fn_output_signature=spec,
        parallel_iterations=1,
    )


def _read_image(content, shape):
    jpeg, size = _header(content)
    wanted = list(shape[:2])
    # The largest middle part that has the shape's proportions.
    there = tf.cast(tf.maximum(size, 1), tf.float32)
    scale = tf.reduce_max(wanted / there)
    margin = (there - wanted / scale) / 2
    # The filter reads two pixels more, of the size of those that it makes; the rest is
    # left out, since an image may be very long.
    reach = 2 * tf.maximum(1 / scale, 1) + 1
    begin = tf.cast(tf.maximum(margin - reach, 0), tf.int32)
    end = size - begin

    def crop(image):
        return image[begin[0] : end[0], begin[1] : end[1]]

    image = tf.cond(
        jpeg,
        # As Pillow does it.
        lambda: crop(tf.io.decode_jpeg(content, 3, dct_method="INTEGER_ACCURATE")),
        lambda: _on_white(crop(tf.io.decode_png(content, 4)), content),
    )
    image = tf.raw_ops.ScaleAndTranslate(
        images=tf.ensure_shape(image, [None, None, 3])[None],
        size=wanted,
        scale=[scale, scale],
        translation=(tf.cast(begin, tf.float32) - margin) * scale,
        kernel_type="keyscubic",  # Pillow's
        antialias=True,
    )
    image = tf.ensure_shape(_rounded(image[0]), [*wanted, 3])
    if shape[-1] == 1:
        luma = tf.constant(LUMA, tf.float32)[:, None]
        image = _rounded(tf.tensordot(tf.cast(image, tf.float32), luma, 1))
    return image


def _header(content):
    """Returns whether a file is a JPEG, and its size, checked before it is unpacked."""
    jpeg = tf.io.is_jpeg(content)
    png = tf.strings.substr(content, 0, len(_PNG)) == _PNG
    known = tf.debugging.assert_equal(
        jpeg | png, True, "an image must be the content of a PNG or JPEG file"
    )
    with tf.control_dependencies([known]):
        size = tf.cond(
            jpeg,
            lambda: tf.io.extract_jpeg_shape(content)[:2],
            lambda: _png_numbers(content, 16, 8, tf.int32)[::-1],
        )
    pixels = tf.reduce_prod(tf.cast(size, tf.int64))
    few = tf.debugging.assert_less_equal(
        pixels, tf.constant(MAX_PIXELS, tf.int64), "an image has too many pixels"
    )
    with tf.control_dependencies([few]):
        return tf.identity(jpeg), size


def _png_numbers(content, start, size, dtype):
    """Returns the numbers in a PNG's header: its width and height, its bit depth."""
    # A file that is cut off is refused by its decoder.
    content = tf.strings.join([content, "\0" * 32])
    part = tf.strings.substr(content, start, size)
    return tf.io.decode_raw(part, dtype, little_endian=False)


def _on_white(image, content):
    """Returns the colours of `(H, W, 4)`, on white where they are transparent."""
    colours, alpha = image[..., :3], image[..., 3:]
    # Without transparency TensorFlow fills in the largest number of the file's depth,
    # 1 for black and white.
    depth = tf.cast(_png_numbers(content, 24, 1, tf.uint8)[0], tf.int32)
    opaque = tf.cast(2 ** tf.minimum(depth, 8) - 1, tf.uint8)

    def composed():
        share = tf.cast(alpha, tf.float32) / 255
        return _rounded(255 + share * (tf.cast(colours, tf.float32) - 255))

    return tf.cond(tf.reduce_all(alpha == opaque), lambda: colours, composed)


def _rounded(numbers):
    return tf.cast(tf.clip_by_value(tf.round(numbers), 0, 255), tf.uint8)
