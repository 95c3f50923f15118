"""A captioner of the local server: its results are those of `caption`."""

import base64
import io
import json
import struct
import zlib

import numpy as np
import pytest

from tests.harness import randomize
from zoo.data import draw_formulas, draw_scenes, formulas
from zoo.explorer.info import model_info
from zoo.explorer.options import Options
from zoo.explorer.pictures import Captioner
from zoo.images import MAX_PIXELS
from zoo.models import (
    ShowAttendTell,
    ShowAttendTellCaptioner,
    ShowAttendTellCaptionerPreprocessor,
)
from zoo.presets import find
from zoo.text import Tokenizer, train_tokenizer

Image = pytest.importorskip("PIL.Image", reason="images are read by Pillow")
pytestmark = pytest.mark.once

SHAPE = (16, 24, 3)  # whose grid is (2, 3)
TEXTS = ["a red ring", "a blue star above a ring"]
INFO = {"window": None, "card": {"data": [{"name": "scenes"}]}}


def make_captioner(attention="soft", shape=SHAPE):
    tokenizer = Tokenizer(train_tokenizer(TEXTS, 10, model_type="word"))
    sizes = {"embedding_dim": 6, "annotation_dim": 4, "attention_dim": 5}
    sizes |= {"hidden_dim": 8, "image_shape": shape, "attention": attention}
    backbone = ShowAttendTell(tokenizer.vocabulary_size(), **sizes)
    preprocessor = ShowAttendTellCaptionerPreprocessor(tokenizer, shape, 9)
    return ShowAttendTellCaptioner(randomize(backbone, seed=2), preprocessor)


def picture(size=(30, 20), mode="RGB", seed=0):
    height, width = size[1], size[0]
    array = np.random.default_rng(seed).integers(0, 256, (height, width, 3))
    return Image.fromarray(array.astype("uint8")).convert(mode)


def png(form="PNG", **options):
    content = io.BytesIO()
    picture(**options).save(content, form)
    return content.getvalue()


def array_of(url):
    """The pixels of a data URL, and the mode of its PNG."""
    head, _, content = url.partition(",")
    assert head == "data:image/png;base64"
    image = Image.open(io.BytesIO(base64.b64decode(content)), formats=("PNG",))
    return np.asarray(image), image.mode


@pytest.fixture(scope="module", params=["soft", "hard"])
def model(request):
    return Captioner(make_captioner(request.param), INFO)


@pytest.mark.parametrize(
    "options",
    [
        {"beam_size": 1},
        {"beam_size": 4, "n_best": 3},
        {"beam_size": 3, "length_penalty": 0.0},
        {"beam_size": 2, "n_best": 2, "max_length": 4},
    ],
)
def test_captions_are_those_of_caption(model, options):
    for seed in range(3):
        content = png(seed=seed)
        result = model.run(content, Options(**options, trace=True))
        json.dumps(result, allow_nan=False)
        wanted = model.task.caption(
            Image.open(io.BytesIO(content)), **options, return_details=True
        )
        wanted = wanted if isinstance(wanted, list) else [wanted]
        for got, record in zip(result["translations"], wanted, strict=True):
            assert got["text"] == record.text
            assert got["tokens"] == record.tokens
            assert got["score"] == pytest.approx(record.score, abs=1e-4)
            places = ["1,1", "1,2", "1,3", "2,1", "2,2", "2,3"]
            assert got["source_tokens"] == places
            alignment = np.reshape(got["alignment"], np.shape(record.alignment))
            np.testing.assert_allclose(alignment, record.alignment, atol=1e-5)
        chosen = [step["chosen"]["piece"] for step in result["steps"]]
        assert chosen[: len(wanted[0].tokens)] == wanted[0].tokens
        assert result["tree"]


def test_a_coverage_penalty_changes_nothing(model):
    plain = model.run(png(), Options(beam_size=2))
    penalized = model.run(png(), Options(beam_size=2, coverage_penalty=0.7))
    assert penalized["translations"] == plain["translations"]


def test_a_word_is_forced_and_attention_is_moved(model):
    plain = model.run(png(), Options(trace=True))
    first = plain["steps"][0]
    other = first["candidates"][1]["id"]
    forced = model.run(png(), Options(prefix=(other,), trace=True))
    assert forced["steps"][0]["chosen"]["id"] == other
    place = int(np.argmin(first["weights"]))
    given = tuple(float(i == place) for i in range(6))
    moved = model.run(png(), Options(attention={(0,): given}, trace=True))
    assert moved["steps"][0]["weights"] == list(given)
    before, after = (
        {x["id"]: x["probability"] for x in result["steps"][0]["candidates"]}
        for result in (plain, moved)
    )
    assert before != after


def test_pictures_are_as_the_model_reads_them(model):
    loaded = model.loaded()
    assert (loaded["grid"], loaded["size"]) == ([2, 3], [16, 24])
    assert loaded["pieces"] == model.vocabulary
    wanted, _ = model.preprocessor.images(picture())
    np.testing.assert_array_equal(array_of(model.picture(png()))[0], wanted[0])


@pytest.mark.parametrize(
    ("data", "draw"), [("scenes", draw_scenes), ("formulas", draw_formulas)]
)
def test_examples_are_of_the_data_that_the_card_names(model, monkeypatch, data, draw):
    if data == "formulas":
        pytest.importorskip("matplotlib", reason="formulas need the extra `plot`")
    card = {"data": [{"name": "mine"}, {"name": data}]}
    monkeypatch.setattr(model, "info", {**INFO, "card": card})
    wanted, _ = model.preprocessor.images([one.draw() for one in draw(6, "test")])
    found, modes = zip(*map(array_of, model.loaded()["examples"]), strict=True)
    assert set(modes) == {"RGB"} and np.std(found) > 5
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("name", ["show_attend_tell", "show_attend_tell_formulas"])
def test_a_bundled_captioner_has_examples(name, model, monkeypatch):
    pytest.importorskip("matplotlib", reason="formulas are rendered by matplotlib")
    info = model_info(find(name), name)
    monkeypatch.setattr(model, "info", info)
    assert len(model.loaded()["examples"]) == 6


@pytest.mark.parametrize("card", [{}, {"data": []}, {"data": [{"name": "coco"}]}])
def test_no_examples_where_the_data_are_unknown(model, monkeypatch, card):
    monkeypatch.setattr(model, "info", {**INFO, "card": card})
    assert model.loaded()["examples"] == []


def test_no_examples_of_formulas_without_matplotlib(model, monkeypatch):
    def missing(*_):
        raise ImportError("no matplotlib")

    monkeypatch.setattr(formulas, "_parse", missing)
    card = {"data": [{"name": "formulas"}]}
    monkeypatch.setattr(model, "info", {**INFO, "card": card})
    assert model.loaded()["examples"] == []


@pytest.mark.parametrize("form", ["JPEG", "WEBP"])
def test_other_formats_are_read(model, form):
    array, _ = array_of(model.picture(png(form)))
    wanted, _ = model.preprocessor.images(picture())
    assert array.shape == SHAPE
    smooth = [x.astype(float).mean(axis=(0, 1)) for x in (array, wanted[0])]
    np.testing.assert_allclose(*smooth, atol=8)


def test_grey_captioners_read_grey_pictures():
    model = Captioner(make_captioner(shape=(16, 16, 1)), INFO)
    array, mode = array_of(model.picture(png(mode="RGBA")))
    assert (array.shape, mode) == ((16, 16), "L")
    assert array_of(model.loaded()["examples"][0])[1] == "L"
    assert model.run(png(), Options())["translations"]


def test_captioners_of_other_channels_are_refused():
    task = make_captioner(shape=(16, 16, 4))
    with pytest.raises(ValueError, match="grey or RGB images. Received: a captioner"):
        Captioner(task, INFO)


def header(width, height):
    """A PNG that says that it is so large."""
    said = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = [said, b"IDAT" + zlib.compress(b"\0" * 999), b"IEND"]
    parts = [
        struct.pack(">I", len(x) - 4) + x + struct.pack(">I", zlib.crc32(x))
        for x in chunks
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no PNG, JPEG or WebP, or damaged"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "no PNG, JPEG or WebP"),
        (png("GIF"), "no PNG, JPEG or WebP"),
        (png("TIFF"), "no PNG, JPEG or WebP"),
        (png()[:-30], "or damaged"),
        (png("JPEG")[:300], "or damaged"),
        (header(6000, 5001), f"{MAX_PIXELS:,} pixels. Received: 30,006,000"),
        (header(60_000, 60_000), "or damaged|pixels"),
    ],
    ids=range(8),
)
def test_what_is_no_picture_is_refused(model, content, message):
    for read in (model.picture, lambda content: model.run(content, Options())):
        with pytest.raises(ValueError, match=message):
            read(content)
