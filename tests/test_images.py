import io
import sys
import zlib

import numpy as np
import pytest

from zoo.images import encode_images, read_images

pytestmark = pytest.mark.backend_free
Image = pytest.importorskip("PIL.Image", reason="images are read by Pillow")

SHAPE = (6, 9, 3)
ARRAY = np.random.default_rng(1).integers(0, 256, SHAPE).astype("uint8")


def read(image, shape=SHAPE):
    array, single = read_images(image, shape)
    assert array.dtype == np.uint8 and array.shape[1:] == shape
    assert single == (len(array) == 1)
    return array[0]


@pytest.mark.parametrize(
    "image",
    [
        ARRAY,
        ARRAY.astype("int64"),
        ARRAY / 255.0,
        (ARRAY / 255.0).astype("float32"),
        Image.fromarray(ARRAY),
    ],
    ids=["bytes", "integers", "floats", "float32", "pillow"],
)
def test_any_form_gives_the_same_bytes(image):
    assert (read(image) == ARRAY).all()


def test_several_of_different_forms(tmp_path):
    path = tmp_path / "image.png"
    Image.fromarray(ARRAY).save(path)
    array, single = read_images([ARRAY, path, str(path), ARRAY / 255], SHAPE)
    assert (array == ARRAY).all() and len(array) == 4 and not single
    array, single = read_images(np.stack([ARRAY] * 2), SHAPE)
    assert array.shape == (2, *SHAPE) and not single
    assert read_images([], SHAPE)[0].shape == (0, *SHAPE)
    assert read_images([ARRAY], SHAPE)[1] is False


def test_grey_and_rgb_become_each_other():
    grey = ARRAY[..., 0]
    assert (read(grey) == grey[..., None]).all()
    assert (read(grey[..., None]) == grey[..., None]).all()
    array, _ = read_images(ARRAY, (6, 9, 1))
    wanted = ARRAY @ np.array([0.299, 0.587, 0.114])
    assert np.abs(array[0, ..., 0] - wanted).max() <= 0.51


def test_a_photograph_is_upright(tmp_path):
    pixels = np.arange(2 * 3 * 3, dtype="uint8").reshape(2, 3, 3)
    image = Image.fromarray(pixels)
    exif = image.getexif()
    exif[0x0112] = 6  # turned by a quarter: its first row is the right column
    image.save(tmp_path / "turned.png", exif=exif)
    (found,), _ = read_images(tmp_path / "turned.png", (3, 2, 3))
    np.testing.assert_array_equal(found, np.rot90(pixels, -1))


def test_sixteen_bits_are_cut_to_eight():
    grey = np.arange(54, dtype="uint16").reshape(6, 9) * 1200
    content = io.BytesIO()
    Image.fromarray(grey).save(content, "PNG")
    opened = Image.open(content)
    assert opened.mode.startswith("I;16")
    assert (read(opened) == (grey >> 8)[..., None]).all()


def test_what_is_transparent_is_white():
    clear = Image.new("RGBA", (9, 6), (0, 0, 0, 0))
    assert (read(clear) == 255).all()


def test_another_size_is_cut_in_the_middle_and_scaled():
    """A wide image of three stripes: the middle one is left."""
    wide = np.zeros((12, 54, 3), "uint8")
    wide[:, 18:36] = 200
    assert (read(wide)[:, 2:-2] == 200).all()  # the rim mixes with its neighbours
    assert read(wide).min() > 150
    high = np.zeros((60, 18, 3), "uint8")
    high[24:36] = 100
    assert (read(high)[2:-2] == 100).all() and read(high).min() > 75
    # Of the same proportions nothing is lost.
    assert abs(int(read(ARRAY.repeat(4, 0).repeat(4, 1)).mean()) - ARRAY.mean()) < 2


def test_other_channels_are_numbers_as_they_are():
    grid = np.random.default_rng(0).normal(size=(2, 3, 7)).astype("float32")
    array, single = read_images(grid, (2, 3, 7))
    assert single and array.dtype == np.float32 and (array[0] == grid).all()
    with pytest.raises(ValueError, match=r"shape \(2, 3, 7\). Received: \(3, 2, 7\)"):
        read_images(grid.transpose(1, 0, 2), (2, 3, 7))


@pytest.mark.parametrize(
    ("image", "error", "message"),
    [
        (ARRAY / 100.0, ValueError, "from 0 to 1. Received: float64 from 0"),
        (-ARRAY.astype(float), ValueError, "from 0 to 1"),
        (ARRAY.astype(int) * 2, ValueError, "integers from 0 to 255.*int64 from"),
        (np.full(SHAPE, np.nan), ValueError, "from 0 to 1"),
        (ARRAY[..., :2], ValueError, r"1 or 3 channels last. Received: \(6, 9, 2\)"),
        (np.zeros((0, 4, 3)), ValueError, "Received: .0, 4, 3"),
        (ARRAY > 9, ValueError, "Received: bool from False to True"),
        (ARRAY.astype(complex), ValueError, "Received: complex128"),
        (5, TypeError, "a PIL image or a list of them. Received: 5"),
        ([ARRAY, 5], TypeError, r"images\[1\] must be an array.*Received: 5"),
        ("no/such.png", FileNotFoundError, "there is no file 'no/such.png'"),
    ],
)
def test_what_is_no_image(image, error, message):
    with pytest.raises(error, match=message):
        read_images(image, SHAPE)


def test_a_file_that_is_no_image(tmp_path):
    path = tmp_path / "text.png"
    path.write_text("no image")
    with pytest.raises(ValueError, match="Pillow reads: cannot identify .*text.png"):
        read_images(path, SHAPE)
    whole = tmp_path / "cut.png"
    Image.fromarray(ARRAY.repeat(20, 0)).save(whole)
    whole.write_bytes(whole.read_bytes()[:60])
    with pytest.raises(ValueError, match="is no image that Pillow reads"):
        read_images(whole, SHAPE)


def test_an_array_of_the_right_size_needs_no_pillow(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "PIL", None)
    assert (read(ARRAY) == ARRAY).all()
    (tmp_path / "a.png").touch()
    for image in (tmp_path / "a.png", ARRAY[:3]):
        with pytest.raises(ImportError, match="pip install pillow"):
            read_images(image, SHAPE)


# === Files to send ===
def file(form="PNG", **options):
    content = io.BytesIO()
    Image.fromarray(ARRAY).save(content, form, **options)
    return content.getvalue()


def test_images_are_sent_as_files(tmp_path):
    path = tmp_path / "a.png"
    Image.fromarray(ARRAY).save(path)
    grey = ARRAY[..., 0]
    images = [ARRAY, ARRAY / 255, Image.fromarray(ARRAY), path, str(path), file(), grey]
    contents, single = encode_images(images)
    assert not single and contents[3:6] == [path.read_bytes()] * 2 + [file()]
    for content, wanted in zip(contents, [*[ARRAY] * 6, grey], strict=True):
        assert (np.asarray(Image.open(io.BytesIO(content))) == wanted).all()
    for image in images:
        [content], single = encode_images(image)
        assert single and content in contents
    assert encode_images([]) == ([], False)
    assert len(encode_images(np.stack([ARRAY] * 2))[0]) == 2


def header(width, height, content=None):
    """A PNG whose header tells another size."""
    content = content or file()
    size = width.to_bytes(4, "big") + height.to_bytes(4, "big")
    crc = zlib.crc32(b"IHDR" + size + content[24:29]).to_bytes(4, "big")
    return content[:16] + size + content[24:29] + crc + content[33:]


def test_what_is_no_image_is_not_sent(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"images\[1\]: there is no file"):
        encode_images([ARRAY, tmp_path / "none.png"])
    with pytest.raises(TypeError, match=r"images\[0\] must be an array.*Received: 5"):
        encode_images([5])
    with pytest.raises(ValueError, match="from 0 to 1"):
        encode_images(ARRAY * 2.0)
