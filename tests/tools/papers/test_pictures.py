"""The pictures of the page of figures, from figures that are made up."""

import numpy as np
import pytest

from tests.tools.papers.test_reproduce import results
from tools.papers.pictures import OTHERS, SHOWN, draw_alignments, lengths_figure
from zoo.decoding import Translation

pytestmark = pytest.mark.backend_free

pytest.importorskip("matplotlib")  # an extra


def shown(axes):
    return [line for line in axes.get_lines() if line.get_color() == SHOWN]


def test_every_preset_has_a_panel_in_which_the_others_are_grey():
    found = results()
    names = list(found["lengths"])
    figure = lengths_figure(found)
    panels = figure.axes[: len(names)]
    assert [axes.get_title(loc="left") for axes in panels] == names
    for name, axes in zip(names, panels, strict=True):
        left, right = shown(axes)
        own = found["bleu"][name]["multi30k"]
        # Without the span that has no sentence.
        assert left.get_xdata().tolist() == [0, 2]
        assert left.get_ydata().tolist() == [own, found["lengths"][name][2][3]]
        assert right.get_ydata().tolist() == [own, own / 2, own / 4]
        grey = {line.get_label() for line in axes.get_lines()} - {name}
        assert grey == set(names) - {name}
        rest = [line for line in axes.get_lines() if line not in (left, right)]
        assert {line.get_color() for line in rest} == {OTHERS}
        assert [text.get_text() for text in axes.texts][0] == f"{own:.1f}"
    assert len({(axes.get_xlim(), axes.get_ylim()) for axes in panels}) == 1
    ticks = [tick.get_text() for tick in panels[-1].get_xticklabels()]
    assert ticks == ["1–8", "9–19", "20+", "1 caption", "2", "4"]


def test_a_picture_of_alignments_for_each_sentence(tmp_path):
    record = Translation("x", 0.0, ["▁a"], ["▁b"], np.ones((1, 1)))
    details = {"one": [record] * 2, "$\\frac$": [record] * 2}
    names = draw_alignments(details, tmp_path)
    assert names == ["alignment_1.svg", "alignment_2.svg"]
    content = [(tmp_path / name).read_bytes() for name in names]
    assert content[0] == content[1]  # no date, and no ids drawn at random
