import json

import numpy as np
import pytest

from tests.marks import long
from tests.serving.conftest import (
    CAPTIONS,
    IMAGES,
    make_captioner,
    needs_onnx,
    needs_tensorflow,
)
from zoo.analysis.caption_scores import draw_tests
from zoo.serving import export_onnx
from zoo.serving.export.manifest import read_version
from zoo.serving.runtime import onnx

pytestmark = needs_tensorflow


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """A captioner, and the folder of its export."""
    needs_onnx()
    task = make_captioner(seed=2)
    return task, export_onnx(task, tmp_path_factory.mktemp("exports") / "tiny")


def same(found, wanted):
    """Two records are of the same caption, with the same numbers."""
    assert (found.text, found.tokens) == (wanted.text, wanted.tokens)
    assert found.score == pytest.approx(wanted.score, abs=1e-4)
    np.testing.assert_array_equal(found.image, wanted.image)
    assert found.alignment.shape == (len(found.tokens), 2, 3)
    np.testing.assert_allclose(found.alignment, wanted.alignment, atol=1e-5)
    assert (found.log_probs is None) == (wanted.log_probs is None)
    if found.log_probs is not None:
        np.testing.assert_allclose(found.log_probs, wanted.log_probs, atol=1e-4)


def test_the_manifest_describes_the_image(pair):
    manifest, files = read_version(pair[1])
    assert set(files) == {"encode.onnx", "start.onnx", "step.onnx", "vocabulary.spm"}
    assert manifest["task"] == "caption"
    assert manifest["settings"] == {"target_length": 10}
    assert manifest["image"] == {
        "shape": [16, 24, 3],
        "dtype": "float32",
        "range": [0, 255],
        "grid": [2, 3],
    }
    images = {"name": "images", "dtype": "float32", "shape": ["B", 16, 24, 3]}
    assert manifest["graphs"]["encode"]["inputs"] == [images]
    step = {x["name"]: x["shape"] for x in manifest["graphs"]["step"]["inputs"]}
    assert step["memory.0"] == ["B", 6, 4] and step["state.0"] == ["R", 8]


OPTIONS = [
    {"beam_size": 1},
    {"batch_size": 2, "length_penalty": 0.0, "max_length": 5},
    {"beam_size": 3, "length_penalty": 0.5, "min_length": 4},
]


@pytest.mark.parametrize("options", OPTIONS, ids="-".join)
def test_captions_are_those_of_keras(pair, options):
    task, version = pair
    found = onnx.load(version, workers=2).caption
    wanted = task.caption(IMAGES, return_details=True, **options)
    assert len({record.text for record in wanted}) > 1
    for one, other in zip(
        found(IMAGES, return_details=True, **options), wanted, strict=True
    ):
        same(one, other)
    assert found(list(IMAGES), **options) == [record.text for record in wanted]


def test_given_captions_are_scored_and_aligned_alike(pair):
    task, version = pair
    found, given = onnx.load(version), (IMAGES[:3], CAPTIONS)
    for one, other in zip(found.align(*given), task.align(*given), strict=True):
        same(one, other)
    wanted = pytest.approx(task.score(*given), abs=1e-4)
    assert found.score(*given, batch_size=2) == wanted
    tokens = found.score(IMAGES[0], CAPTIONS[0], per_token=True)
    assert tokens.shape == (4,)
    assert tokens.sum() == pytest.approx(task.score(*given)[0], abs=1e-4)


CAPTION = """
import numpy as np
import zoo
paths = json.loads(sys.argv[2])
model = zoo.serving.runtime.onnx.load(sys.argv[1])
print(model.caption(np.load(sys.argv[3])))
try:
    print(json.dumps([model.caption(paths), model.caption(paths[0])]))
except ImportError as error:
    print(error)
"""


def test_a_process_without_keras_reads_files_and_without_pillow_arrays(
    pair, alone, tmp_path
):
    image = pytest.importorskip("PIL.Image", reason="image files need Pillow")
    task, version = pair
    np.save(tmp_path / "image.npy", IMAGES[0])
    paths = [str(tmp_path / f"{n}.png") for n in range(2)]
    pixels = np.random.default_rng(8).integers(0, 256, (2, 30, 40, 3)).astype("uint8")
    for path, array in zip(paths, pixels, strict=True):
        image.fromarray(array).save(path)
    arguments = version, json.dumps(paths), tmp_path / "image.npy"
    caption, found = alone(CAPTION, *arguments).splitlines()
    assert caption == task.caption(IMAGES[0])
    assert json.loads(found) == [task.caption(paths), task.caption(paths[0])]
    caption, message = alone(CAPTION, *arguments, more="PIL").splitlines()
    assert caption == task.caption(IMAGES[0])
    assert "need Pillow: pip install pillow" in message


@pytest.mark.parametrize("beam_size", [long(1), long(5)])
@pytest.mark.parametrize(
    ("name", "data"),
    [("show_attend_tell", "scenes"), ("show_attend_tell_formulas", "formulas")],
)
def test_the_preset_tells_what_keras_tells(export, name, data, beam_size):
    task, folder = export(name)
    images = draw_tests(data, range(1000))
    options = {"beam_size": beam_size, "return_details": True}
    wanted = task.caption(images, **options)
    for one, other in zip(
        onnx.load(folder).caption(images, **options), wanted, strict=True
    ):
        assert one.text == other.text
        assert one.score == pytest.approx(other.score, abs=1e-4)
        np.testing.assert_allclose(one.alignment, other.alignment, atol=1e-4)
