import pytest

import zoo
from tests.serving.conftest import IMAGES, needs_onnx
from zoo.cli import main

Image = pytest.importorskip("PIL.Image", reason="images are read by Pillow")
pytestmark = pytest.mark.once


@pytest.fixture
def preset(made):
    return str(made("captioner"))


@pytest.fixture
def images(tmp_path):
    paths = [str(tmp_path / f"{number}.png") for number in range(2)]
    for path, array in zip(paths, IMAGES, strict=False):
        Image.fromarray(array).save(path)
    return paths


def test_a_line_for_each_image(preset, images, tmp_path, capsys):
    expected = zoo.load(preset).caption(images)
    assert main(["caption", preset, *images]) == 0
    assert capsys.readouterr().out.splitlines() == expected
    out = tmp_path / "out.txt"
    argv = ["caption", "--preset", preset, images[1], "--output", str(out)]
    assert main(argv) == 0
    assert out.read_text().splitlines() == expected[1:]


def test_several_captions_have_numbers_and_scores(preset, images, capsys):
    assert main(["caption", preset, *images, "--n-best", "2"]) == 0
    lines = [line.split(" ||| ") for line in capsys.readouterr().out.splitlines()]
    assert [line[0] for line in lines] == ["0", "0", "1", "1"]
    assert all(float(line[2]) <= 0 for line in lines)


def test_attention_is_drawn(preset, images, tmp_path, capsys):
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    picture = tmp_path / "attention.png"
    assert main(["caption", preset, images[0], "--plot", str(picture)]) == 0
    assert Image.open(picture).width > 100
    assert "attention.png" in capsys.readouterr().err


@pytest.mark.long
def test_an_engine_tells_the_same(preset, images, tmp_path, monkeypatch, capfd):
    needs_onnx()
    monkeypatch.setenv("ZOO_CACHE_DIR", str(tmp_path / "cache"))
    expected = zoo.load(preset).caption(images)
    for _ in range(2):
        assert main(["caption", preset, *images, "--engine", "onnx"]) == 0
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
        (["{preset}", "{image}", "--n-best", "9"], "n_best=9"),
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
