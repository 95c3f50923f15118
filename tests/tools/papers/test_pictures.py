"""The pictures of the page of figures, from figures that are made up."""

from xml.etree import ElementTree

import numpy as np
import pytest

from tests.tools.papers.test_reproduce import results
from tools import ROOT
from tools.papers.page import page
from tools.papers.pictures import (
    OTHERS,
    SHOWN,
    draw_alignments,
    draw_lengths,
    lengths_figure,
    read_page,
)
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


def test_the_page_has_what_the_picture_needs():
    wanted = results()
    found = read_page(page(wanted))
    for name, spans in wanted["lengths"].items():
        bleu = wanted["bleu"][name]["multi30k"]
        assert found["bleu"][name]["multi30k"] == pytest.approx(bleu, abs=0.051)
        for read, span in zip(found["lengths"][name], spans, strict=True):
            assert read[:3] == span[:3]
            assert read[3] == (span[3] and pytest.approx(span[3], abs=0.051))
        assert list(found["joined"][name]) == list(wanted["joined"][name])
        for n, scores in wanted["joined"][name].items():
            read = found["joined"][name][n]
            assert read == {
                key: pytest.approx(v, abs=0.051) for key, v in scores.items()
            }


def test_the_committed_picture_is_that_of_the_committed_page(tmp_path):
    """Compared by the texts that the SVG's comments repeat: how matplotlib writes a
    line differs from version to version."""
    text = (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8")
    draw_lengths(read_page(text), tmp_path)
    files = [
        folder / "lengths.svg" for folder in (tmp_path, ROOT / "docs/reproduction")
    ]
    found = []
    for file in files:
        parser = ElementTree.XMLParser(
            target=ElementTree.TreeBuilder(insert_comments=True)
        )
        root = ElementTree.parse(file, parser).getroot()
        found.append([node.text for node in root.iter(ElementTree.Comment)])
    assert found[0] == found[1] and len(found[0]) > 11


def test_a_picture_of_alignments_for_each_sentence(tmp_path):
    record = Translation("x", 0.0, ["▁a"], ["▁b"], np.ones((1, 1)))
    details = {"one": [record] * 2, "$\\frac$": [record] * 2}
    names = draw_alignments(details, tmp_path)
    assert names == ["alignment_1.svg", "alignment_2.svg"]
    content = [(tmp_path / name).read_bytes() for name in names]
    assert content[0] == content[1]  # no date, and no ids drawn at random
