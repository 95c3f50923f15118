"""Every kind of translator can be served; images are read as by Pillow."""

import io

import numpy as np
import pytest

from tests.harness import randomize
from tests.marks import long
from tests.models.test_everywhere import TRANSLATORS
from tests.serving.conftest import (
    IMAGES,
    ask,
    make_captioner,
    needs_tensorflow,
    strings,
)
from tests.serving.export.test_savedmodel import SENTENCEPIECE
from tests.test_images import header
from tests.translators import VOCABULARY
from zoo import images
from zoo.serving.export.savedmodel import make_signatures, trace
from zoo.text import Tokenizer, train_tokenizer

pytestmark = needs_tensorflow
Image = pytest.importorskip("PIL.Image", reason="files are written by Pillow")
pytest.importorskip("tensorflow", reason="it reads the images")
from zoo.serving.export.search_signatures import read_images  # noqa: E402

RNG = np.random.default_rng(1)
NOISE = Image.fromarray(RNG.integers(0, 256, (50, 40, 3)).astype("uint8"))
# As photographs are.
SMOOTH = NOISE.resize((8, 7)).resize((120, 90), Image.Resampling.BICUBIC)


def file(image, form="PNG", **options):
    content = io.BytesIO()
    image.save(content, form, **options)
    return content.getvalue()


def translucent(image):
    image = image.convert("RGBA")
    alpha = RNG.integers(0, 256, (image.height, image.width)).astype("uint8")
    image.putalpha(Image.fromarray(alpha))
    return image


FILES = {
    "same size": file(SMOOTH.resize((24, 16))),
    "JPEG": file(SMOOTH.resize((24, 16)), "JPEG"),
    "grey": file(SMOOTH.convert("L").resize((24, 16))),
    "grey JPEG": file(SMOOTH.convert("L").resize((24, 16)), "JPEG"),
    "palette": file(SMOOTH.convert("P").resize((24, 16))),
    "1 bit": file(NOISE.convert("1").resize((24, 16))),
    "16 colours": file(NOISE.quantize(16).resize((24, 16))),
    "16 bits": file(Image.fromarray(RNG.integers(0, 2**16, (16, 24)).astype("uint16"))),
    **{
        f"{n}, one clear": file(NOISE.quantize(n).resize((24, 16)), transparency=0)
        for n in (2, 4, 16, 99)
    },
    "interlaced": file(SMOOTH.resize((24, 16)), interlace=1),
    "high line": file(SMOOTH.resize((3, 3000))),
    "wide": file(SMOOTH.resize((200, 30))),
    "small": file(SMOOTH.resize((5, 3))),
    "pixel": file(NOISE.resize((1, 1))),
    "noise": file(NOISE),
    "large JPEG": file(SMOOTH, "JPEG", quality=90),
    "translucent noise": file(translucent(NOISE)),
    "translucent grey noise": file(translucent(NOISE).convert("LA")),
    "clear": file(Image.new("RGBA", (9, 6), (0, 0, 0, 0))),
}
SCALED = {"wide", "small", "large JPEG", "high line"}


@pytest.mark.parametrize("channels", [3, 1])
def test_files_are_read_as_by_pillow(channels):
    import tensorflow as tf

    shape = (16, 24, channels)
    read = tf.function(lambda contents: read_images(contents, shape))
    found = read(tf.constant(list(FILES.values()))).numpy()
    assert found.dtype == np.uint8 and found.shape == (len(FILES), *shape)
    for name, array in zip(FILES, found, strict=True):
        opened = Image.open(io.BytesIO(FILES[name]))
        [wanted], _ = images.read_images(opened, shape)
        apart = np.abs(array.astype(int) - wanted)
        if "noise" in name:  # Pillow rounds twice, and cuts off what is above 255
            assert apart.max() <= 12 and apart.mean() < 0.5, name
        else:
            assert apart.max() <= (name in SCALED or channels == 1), name


def test_a_photograph_is_not_turned():
    import tensorflow as tf

    exif = NOISE.getexif()
    exif[0x0112] = 6  # turned by a quarter
    contents = [file(NOISE), file(NOISE, exif=exif)]
    upright, turned = read_images(tf.constant(contents), (16, 24, 3)).numpy()
    assert (upright == turned).all()


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"<svg></svg>", file(NOISE, "WEBP"), file(NOISE)[:16], b"\xff\xd8\xff"),
        *(file(NOISE)[:200], file(NOISE, "JPEG")[:300]),
        *(header(*size, file(NOISE)) for size in ((2**31 - 1,) * 2, (0, 5))),
    ],
)
def test_what_is_no_image_is_the_requests_fault(content):
    import tensorflow as tf

    with pytest.raises(tf.errors.InvalidArgumentError):
        read_images(tf.constant([FILES["noise"], content]), (16, 24, 3))


def test_captions_end_at_the_limit(tasks):
    import tensorflow as tf

    captioner = tasks["captioner"]
    signatures = make_signatures(captioner, max_length=3, beam_size=2)
    function, _ = trace(signatures, "caption")
    found = function(image_bytes=tf.constant(images.encode_images(IMAGES)[0]))
    wanted = captioner.caption(IMAGES, beam_size=2, max_length=3)
    assert strings(found["caption"]) == wanted


def test_grids_made_elsewhere_are_refused(tmp_path):
    import keras

    maps = {"image_shape": (2, 3, 4), "image_encoder": keras.layers.Identity()}
    with pytest.raises(ValueError, match=r"grey or RGB.*image_shape=\(2, 3, 4\)"):
        make_captioner(**maps).export_savedmodel(tmp_path)
    assert list(tmp_path.iterdir()) == []


# === Translators ===
# Of exactly the harness's vocabulary.
WORDS = ["ab ba cd dc", "abc cba dab", "bad cab dad", "da da ab cc bb"] * 5


def traced(signatures, name):
    return trace(signatures, name)[0]


def operations(function):
    """Those of a function's graph and of the functions that it calls."""
    graph = function.graph.as_graph_def()
    inner = graph.library.function
    nodes = [*graph.node, *(node for part in inner for node in part.node_def)]
    return {node.op for node in nodes} - {part.signature.name for part in inner}


# Luong's is served in the other files; the rest, under TensorFlow alone, takes a while.
OTHERS = [long(cls) for cls in TRANSLATORS if "Luong" not in cls.__name__]


@pytest.mark.parametrize("cls", OTHERS)
def test_what_is_served_is_what_the_model_gives(cls):
    import tensorflow as tf

    options = {"vocabulary_size": VOCABULARY, **TRANSLATORS[cls]}
    tokenizer = Tokenizer(proto=train_tokenizer(WORDS, VOCABULARY))
    # Weights that write no pads, whatever else they write.
    seed = 2 if cls.__name__ == "LSTMNTranslator" else 0
    backbone = randomize(cls.backbone_cls(**options), seed=seed)
    task = cls(backbone, cls.preprocessor_cls(tokenizer, source_end=True))
    options = {"beam_size": 2, "length_penalty": 0.0, "max_length": 7}
    signatures = make_signatures(task, **options)
    translate = traced(signatures, "translate")
    texts = [*WORDS[:3], "", "a"]
    found = strings(ask(translate, texts)["translation"])
    assert found == task.translate(texts, **options)
    assert len(set(found)) > 1
    assert operations(translate) - set(dir(tf.raw_ops)) <= SENTENCEPIECE
    whole = make_signatures(task)  # no target is cut
    score = ask(traced(whole, "score"), WORDS[:3], WORDS[1:4])
    wanted = task.score(WORDS[:3], WORDS[1:4])
    np.testing.assert_allclose(score["log_probability"], wanted, rtol=1e-4)
    aligned = ask(traced(signatures, "align"), texts[:1])
    wanted = task.translate(texts[0], return_details=True, **options)
    assert strings(aligned["translation"]) == [wanted.text]
    np.testing.assert_allclose(aligned["alignment"][0], wanted.alignment, atol=1e-5)
