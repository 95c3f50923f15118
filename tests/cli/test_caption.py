import numpy as np
import pytest

import zoo
from tests.harness import randomize
from tests.presets_for_tests import FACTS
from tests.serving.conftest import needs_onnx
from zoo.cli import main
from zoo.models import (
    ShowAttendTell,
    ShowAttendTellCaptioner,
    ShowAttendTellCaptionerPreprocessor,
)
from zoo.presets.pages import write_card
from zoo.text import Tokenizer, train_tokenizer

Image = pytest.importorskip("PIL.Image", reason="images are read by Pillow")
pytestmark = pytest.mark.once
SHAPE = (16, 16, 3)


@pytest.fixture(scope="module")
def preset(tmp_path_factory):
    folder = tmp_path_factory.mktemp("presets") / "tiny"
    tokenizer = Tokenizer(train_tokenizer(["a red ring"], 7, model_type="word"))
    backbone = ShowAttendTell(
        7,
        hidden_dim=8,
        embedding_dim=6,
        annotation_dim=4,
        attention_dim=5,
        image_shape=SHAPE,
    )
    preprocessor = ShowAttendTellCaptionerPreprocessor(tokenizer, SHAPE, 6)
    task = ShowAttendTellCaptioner(randomize(backbone), preprocessor)
    task.save_to_preset(folder)
    write_card(folder, {**FACTS, "name": "tiny", "task": "caption"})
    return folder


@pytest.fixture
def images(tmp_path):
    paths = []
    for number in range(2):
        array = np.random.default_rng(number).integers(0, 256, (20, 24, 3))
        paths.append(str(tmp_path / f"{number}.png"))
        Image.fromarray(array.astype("uint8")).save(paths[-1])
    return paths


def test_a_line_for_each_image(preset, images, tmp_path, capsys):
    expected = zoo.load(preset).caption(images)
    assert main(["caption", str(preset), *images]) == 0
    assert capsys.readouterr().out.splitlines() == expected
    out = tmp_path / "out.txt"
    argv = ["caption", "--preset", str(preset), images[1], "--output", str(out)]
    assert main(argv) == 0
    assert out.read_text().splitlines() == expected[1:]


def test_several_captions_have_numbers_and_scores(preset, images, capsys):
    assert main(["caption", str(preset), *images, "--n-best", "2"]) == 0
    lines = [line.split(" ||| ") for line in capsys.readouterr().out.splitlines()]
    assert [line[0] for line in lines] == ["0", "0", "1", "1"]
    assert all(float(line[2]) <= 0 for line in lines)


def test_attention_is_drawn(preset, images, tmp_path, capsys):
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    picture = tmp_path / "attention.png"
    assert main(["caption", str(preset), images[0], "--plot", str(picture)]) == 0
    assert Image.open(picture).width > 100
    assert "attention.png" in capsys.readouterr().err


@pytest.mark.long
def test_an_engine_tells_the_same(preset, images, tmp_path, monkeypatch, capfd):
    needs_onnx()
    monkeypatch.setenv("ZOO_CACHE_DIR", str(tmp_path / "cache"))
    expected = zoo.load(preset).caption(images)
    for _ in range(2):
        assert main(["caption", str(preset), *images, "--engine", "onnx"]) == 0
        out, err = capfd.readouterr()
        assert out.splitlines() == expected
    assert "exporting" not in err  # it was, the first time


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["show"], "give both PRESET and IMAGE"),
        (["birnn", "{image}"], "birnn cannot caption"),
        (["birnn", "{image}", "--engine=onnx"], "birnn cannot caption"),
        (["{preset}", "no.png"], "cannot read no.png"),
        (["{preset}", "{image}", "--n-best", "9"], "--n-best can be at most"),
        (["{preset}", "{image}", "--plot", "a.gif"], "ends in .png or .svg"),
        (["{preset}", "{image}", "{image}", "--plot", "a.png"], "draws one image"),
        (["{preset}", "{text}"], "is no image"),
    ],
)
def test_bad_input(argv, message, preset, images, tmp_path, capsys):
    text = tmp_path / "text.png"
    text.write_text("no image")
    names = {"preset": preset, "image": images[0], "text": text}
    assert main(["caption", *(word.format(**names) for word in argv)]) == 2
    assert message in capsys.readouterr().err
