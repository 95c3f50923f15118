import sys
from xml.etree import ElementTree

import pytest

from zoo.analysis import save
from zoo.analysis.figure import draw_plainly, new_figure, printable

pytestmark = pytest.mark.backend_free

pytest.importorskip("matplotlib")  # an extra


def drawn(text="großer Hund"):
    figure = new_figure(2, 1)
    draw_plainly(figure.add_subplot().set_title(text))
    return figure


@pytest.mark.parametrize("name", ["a.png", "a.PNG", "a.svg"])
def test_saved_files(tmp_path, name):
    for _ in range(2):
        save(drawn(), tmp_path / name)
        content = (tmp_path / name).read_bytes()
        (tmp_path / "first").exists() or (tmp_path / "first").write_bytes(content)
    assert content == (tmp_path / "first").read_bytes()
    if name.endswith("svg"):
        assert b"<svg" in content and b"<text" not in content  # no font is needed
    else:
        assert content.startswith(b"\x89PNG\r\n\x1a\n")


NASTY = [r"$\frac$", "\x1b[0m\x00", "\ud800\ufffe", "a\nb", "<script>-->", "_x", "$"]


def test_whatever_a_text_has_the_svg_is_valid(tmp_path):
    for text in NASTY:
        save(drawn(text), tmp_path / "a.svg")
        ElementTree.parse(tmp_path / "a.svg")
    with pytest.raises(ElementTree.ParseError):  # as it would be otherwise
        ElementTree.fromstring("<svg>\x1b</svg>")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Hund $x$ <b>", "Hund $x$ <b>"),
        ("a\r\nb\u2028c", "a b c"),
        ("\x1b[0m\x9b", "\ufffd[0m\ufffd"),
        ("\udc80\uffff", "\ufffd\ufffd"),
        ("犬\U0001f436", "犬\U0001f436"),
    ],
)
def test_printable_text(text, wanted):
    assert printable(text) == wanted


@pytest.mark.parametrize("name", ["a.pdf", "a", "a.png.txt"])
def test_other_endings_are_refused(tmp_path, name):
    (tmp_path / name).write_text("old")
    with pytest.raises(ValueError, match=r"\.png or \.svg, received"):
        save(None, tmp_path / name)
    assert (tmp_path / name).read_text() == "old"


def test_a_notebook_shows_it_without_pyplot():
    before = "matplotlib.pyplot" in sys.modules
    assert drawn()._repr_png_().startswith(b"\x89PNG")
    assert before == ("matplotlib.pyplot" in sys.modules)


def test_a_cjk_font_is_used_where_there_is_one(monkeypatch):
    from matplotlib import font_manager

    from zoo.analysis import figure

    names = ["DejaVu Sans", "Noto Serif CJK JP", "Noto Sans CJK JP"]
    monkeypatch.setattr(font_manager, "get_font_names", lambda: names)
    figure._families.cache_clear()
    assert figure._families()[1:] == ["Noto Sans CJK JP"]
    figure._families.cache_clear()
