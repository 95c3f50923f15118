"""The pictures of the page of figures, from runs that are made up."""

import itertools

import numpy as np
import pytest

pytest.importorskip("matplotlib")  # an extra

from tests.tools.papers.test_page import runs
from tools.papers.pictures import (
    SPANS,
    bleu_figure,
    differences_figure,
    draw,
    draw_alignments,
    lengths_figure,
)
from tools.papers.significance import better, estimate, over_seeds
from zoo.decoding import Translation

pytestmark = pytest.mark.backend_free


def bars(axes):
    """(centre, lowest, highest) of each interval along x."""
    found = []
    for container in axes.containers:
        [x] = container.lines[0].get_xdata()
        segments = [s for part in container.lines[2] for s in part.get_segments()]
        low, high = (segments[0][:, 0].tolist()) if segments else (x, x)
        found.append((x, low, high))
    return found


def test_each_arm_has_its_seeds_and_its_interval():
    found = runs(general=9, none=5) | runs(1, dot=7)
    [axes] = bleu_figure(found).axes
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == ["none", "dot", "general"]
    seeds = [
        line.get_xdata().tolist() for line in axes.lines if len(line.get_xdata()) > 1
    ]
    values = {
        arm: [found[arm, s].score("bleu") for s in (1, 2, 3)]
        for arm in ("none", "general")
    }
    assert values["none"] in seeds and values["general"] in seeds
    for arm, (x, low, high) in zip(("none", "general"), bars(axes)[::2], strict=True):
        one = over_seeds(values[arm])
        assert x == pytest.approx(one.mean)
        assert (low, high) == pytest.approx(
            (one.mean - one.interval, one.mean + one.interval)
        )
    x, low, high = bars(axes)[1]  # one seed has no interval
    assert low == x == high


def test_each_difference_has_an_interval_over_seeds_and_sentences():
    found = runs(general=9, general_plain=7, none=5) | runs(2, dot=7)
    [axes] = differences_figure(found).axes
    names = [label.get_text() for label in axes.get_yticklabels()]
    # `dot` has two seeds, of which nothing is said.
    assert "general_plain against none" in names
    assert not any("dot" in name for name in names)
    one = estimate(better("general_plain", "none"), found)
    x, low, high = bars(axes)[names.index("general_plain against none")]
    assert (x, high - x) == pytest.approx((one.mean, one.interval))


def test_curves_by_length():
    found = runs(general=9, none=5) | runs(1, bahdanau=7)
    [axes] = lengths_figure(found).axes
    # From below, each beside its curve's end.
    assert [text.get_text() for text in axes.texts] == ["none", "general"]
    assert len(axes.containers[0].lines[0].get_xdata()) == len(SPANS)


def test_names_of_curves_that_end_together_lie_apart():
    [axes] = lengths_figure(runs(general=9, bahdanau=9, none=5)).axes
    axes.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in axes.texts]
    assert len(boxes) == 3
    for low, high in itertools.pairwise(boxes):
        assert low.y1 <= high.y0


def test_pictures_are_drawn_alike_each_time(tmp_path):
    found = runs(general=9, none=5, general_plain=7)
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        draw(found, tmp_path / folder)
    names = ["study_bleu.svg", "study_differences.svg", "study_lengths.svg"]
    assert sorted(path.name for path in (tmp_path / "one").iterdir()) == names
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


def test_a_picture_of_alignments_for_each_sentence(tmp_path):
    record = Translation("x", 0.0, ["▁a"], ["▁b"], np.ones((1, 1)))
    details = {"one": [record] * 2, "$\\frac$": [record] * 2}
    draw_alignments(details, tmp_path)
    content = [(tmp_path / f"alignment_{n}.svg").read_bytes() for n in (1, 2)]
    assert content[0] == content[1]  # no date, and no ids drawn at random
