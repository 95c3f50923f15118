"""Reads image files by operations of TensorFlow, for graphs."""

import tensorflow as tf

from zoo.backend import Shape, Tensor
from zoo.images import LUMA


def read_images(contents: Tensor, shape: Shape) -> Tensor:
    """Reads image files by operations of TensorFlow.

    The result is that of `zoo.images.read_images`: other sizes are centre-cropped to
    the shape's aspect ratio and resized; transparent areas become white. Pixels of a
    resized image may differ by a few levels at sharp edges, since Pillow rounds twice,
    and the EXIF orientation is ignored.

    Args:
        contents: tf.string `(B,)`, PNG or JPEG files; what TensorFlow cannot decode, or
            holds for too large, is an InvalidArgumentError.
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
    image = tf.cond(
        tf.io.is_jpeg(content),
        # As Pillow does it.
        lambda: tf.io.decode_jpeg(content, 3, dct_method="INTEGER_ACCURATE"),
        lambda: _on_white(tf.io.decode_png(content, 0)),
    )
    wanted = list(shape[:2])
    # The largest middle part that has the shape's proportions.
    size = tf.cast(tf.shape(image)[:2], tf.float32)
    scale = tf.reduce_max(wanted / size)
    image = tf.raw_ops.ScaleAndTranslate(
        images=tf.ensure_shape(image, [None, None, 3])[None],
        size=wanted,
        scale=[scale, scale],
        translation=(wanted - size * scale) / 2,
        kernel_type="keyscubic",  # Pillow's
        antialias=True,
    )
    image = tf.ensure_shape(_rounded(image[0]), [*wanted, 3])
    if shape[-1] == 1:
        luma = tf.constant(LUMA, tf.float32)[:, None]
        image = _rounded(tf.tensordot(tf.cast(image, tf.float32), luma, 1))
    return image


def _on_white(image):
    """Returns the colours `(H, W, 3)` of a PNG, on white where they are transparent."""
    size = tf.shape(image)

    def composed():
        share = tf.cast(image[..., -1:], tf.float32) / 255
        return _rounded(255 + share * (tf.cast(image[..., :-1], tf.float32) - 255))

    colours = tf.cond(size[2] % 2 == 0, composed, lambda: image)
    return tf.broadcast_to(colours, [size[0], size[1], 3])  # grey has one channel


def _rounded(numbers):
    return tf.cast(tf.clip_by_value(tf.round(numbers), 0, 255), tf.uint8)
