import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="pictures need matplotlib")

from zoo.analysis import plot_caption
from zoo.analysis.caption_plot import KEY, fade, smoothed
from zoo.decoding import Caption

pytestmark = pytest.mark.backend_free
IMAGE = np.full((20, 30, 3), 120, "uint8")


def record(tokens=("▁a", "▁ri", "ng"), image=IMAGE):
    weights = np.zeros((len(tokens), 4, 6))
    weights[:, 1, 4] = 1.0
    return Caption("a ring", -1.0, list(tokens), image, weights)


def test_each_word_has_a_picture_with_its_highest_weight():
    figure = plot_caption(record(), title="seen")
    titles = [axes.get_title() for axes in figure.axes]
    assert titles == ["", "a  100 %", "ring  100 %"]
    assert [text.get_text() for text in figure.texts] == ["seen", KEY]
    pieces = plot_caption(record(), words=False)
    assert [axes.get_title() for axes in pieces.axes][2:] == ["ri  100 %", "-ng  100 %"]


def test_pictures_stand_in_columns_without_overlap():
    figure = plot_caption(record(["▁a"] * 7), columns=3)
    figure.draw_without_rendering()
    boxes = [axes.get_position() for axes in figure.axes]
    assert len({round(box.x0, 6) for box in boxes}) == 3
    assert len({round(box.y0, 6) for box in boxes}) == 3
    for box in boxes:
        assert box.x0 >= 0 and box.y0 >= 0 and box.x1 <= 1 and box.y1 <= 1
    for one in range(len(boxes)):
        for other in boxes[:one]:
            assert not boxes[one].overlaps(other)


def test_what_has_attention_stays_clear():
    image = (IMAGE / 255.0).repeat(4, axis=0).repeat(4, axis=1)
    weights = np.zeros((4, 6))
    weights[1, 4] = 1.0
    faded = fade(image, weights)
    height, width = image.shape[:2]
    clear = faded[int(1.5 * height / 4), int(4.5 * width / 6)]
    assert np.allclose(clear, 120 / 255, atol=0.02)
    assert faded[-1, 0].min() > 0.8  # nearly white
    even = fade(image, np.full((4, 6), 1 / 24))
    assert np.abs(even - image)[20:-20, 20:-20].max() < 0.06


def test_smoothing_keeps_sums_and_centres():
    weights = np.random.default_rng(0).dirichlet(np.ones(24)).reshape(4, 6)
    large = smoothed(weights, 40, 60)
    assert large.sum() == pytest.approx(1.0) and (large >= 0).all()
    one = np.zeros((4, 6))
    one[1, 4] = 1.0
    peak = np.unravel_index(smoothed(one, 40, 60).argmax(), (40, 60))
    assert peak[0] in (14, 15) and peak[1] in (44, 45)


def test_grey_images_and_empty_captions():
    grey = np.full((16, 16, 1), 90, "uint8")
    assert len(plot_caption(record(image=grey)).axes) == 3
    empty = plot_caption(record(()))
    assert len(empty.axes) == 1 and not empty.texts


def test_what_is_not_drawn():
    with pytest.raises(TypeError, match="return_details=True. Received: str"):
        plot_caption("a ring")
    with pytest.raises(ValueError, match="`columns` must be"):
        plot_caption(record(), columns=0)
    with pytest.raises(ValueError, match="1 or 3 channels to be drawn"):
        plot_caption(record(image=np.zeros((4, 4, 7))))
