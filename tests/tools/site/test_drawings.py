"""The drawings of docs/drawings."""

import xml.etree.ElementTree as ET

import pytest

from tools.site.drawings.__main__ import FOLDER, main
from tools.site.drawings.pen import DRAWINGS, Drawing, Node

pytestmark = pytest.mark.backend_free


def test_the_committed_drawings_are_those_of_the_code(tmp_path):
    main(tmp_path)
    made = {path.name: path.read_text("utf-8") for path in tmp_path.iterdir()}
    kept = {path.name: path.read_text("utf-8") for path in FOLDER.iterdir()}
    assert made == kept


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_drawing_has_a_title_and_stays_inside(name):
    drawing = DRAWINGS[name]
    root = ET.fromstring(drawing.svg())
    assert root.find("{*}title").text == drawing.title
    for box in root.iter("{http://www.w3.org/2000/svg}rect"):
        left, top, width, height = (
            float(box.get(key)) for key in ("x", "y", "width", "height")
        )
        assert left >= 0 and left + width <= drawing.width, name
        assert top >= 0 and top + height <= drawing.height, name


def test_formulas_and_edges():
    drawing = Drawing("a < b", 10, 10)
    drawing.text(5, 5, "h_{t-1}^W < 1")
    svg = drawing.svg()
    assert "a &lt; b" in svg and ">t-1</tspan>" in svg and ">W</tspan>" in svg
    assert Node(0, 0, 20, 10).edge(100, 0) == (10, 0)
    assert Node(0, 0, 20, 20, True).edge(0, 30) == (0, 10)
