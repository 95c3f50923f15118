import re
import sys

import numpy as np
import pytest

from zoo import analysis as plots
from zoo.analysis.alignment_plot import FOCUS_KEY, SHARE_KEY, WINDOW_KEY
from zoo.decoding import Caption, Translation

pytestmark = pytest.mark.backend_free

pytest.importorskip("matplotlib")  # an extra

PIECES = "▁A ▁do g ▁runs .".split()
ROWS = "▁Ein ▁Hun d .".split()
WEIGHTS = np.array(
    [
        [0.9, 0.02, 0.02, 0.03, 0.03],
        [0.1, 0.4, 0.3, 0.1, 0.1],
        [0.0, 0.2, 0.6, 0.1, 0.1],
        [0.0, 0.0, 0.0, 0.0, 1.0],
    ]
)


def record(**options):
    fields = {"tokens": ROWS, "source_tokens": PIECES, "alignment": WEIGHTS}
    return Translation("Ein Hund.", -1.0, **{**fields, **options})


def labels(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def numbers(axes):
    return {
        tuple(np.round(text.get_position()).astype(int)): text.get_text()
        for text in axes.texts
    }


def test_an_alignment_of_words():
    [axes] = record().plot().axes
    assert labels(axes.xaxis) == ["A", "dog", "runs", "."]
    assert labels(axes.yaxis) == ["Ein", "Hund", "."]
    [cells] = axes.collections
    wanted = [[0.9, 0.04, 0.03, 0.03], [0.05, 0.75, 0.1, 0.1], [0, 0, 0, 1]]
    np.testing.assert_allclose(cells.get_array(), wanted)
    assert cells.get_clim() == (0, 1)  # the same in every picture
    assert axes.xaxis.get_ticks_position() == "top"
    assert axes.get_ylim()[0] > axes.get_ylim()[1]  # the first word at the top
    # Percent, by column and row; little ones are left out.
    assert numbers(axes) == {
        (0, 0): "90",
        (0, 1): "5",
        (1, 1): "75",
        (2, 1): "10",
        (3, 1): "10",
        (3, 2): "100",
    }


def test_pieces_and_characters():
    [axes] = record().plot(words=False).axes
    assert labels(axes.xaxis) == ["A", "do", "-g", "runs", "."]
    np.testing.assert_array_equal(axes.collections[0].get_array(), WEIGHTS)
    fields = {"tokens": ["▁", "a", "b"], "source_tokens": ["▁", "3", ".", "▁", "5"]}
    date = record(**fields, alignment=np.ones((3, 5)) / 5)
    for words, rows in ((None, ["␣", "a", "b"]), (True, ["ab"])):
        [axes] = date.plot(words=words).axes
        assert labels(axes.yaxis) == rows


def test_windows_and_their_places():
    focus = np.array([0.25, 2.0, 2.5, 5.0])
    windows = np.array([[0, 1], [1, 3], [1, 3], [3, 4]])
    figure = record(focus=focus, windows=windows).plot(words=False)
    [axes] = figure.axes
    [marks] = axes.lines
    np.testing.assert_allclose(marks.get_xdata(), focus)
    assert (np.round(marks.get_ydata()) == [0, 1, 2, 3]).all()
    # A line at a row's side where the window ends inside the sentence.
    ends = [lines.get_segments()[0] for lines in axes.collections[1:]]
    found = sorted((x, y, bottom) for (x, y), (_, bottom) in ends)
    wanted = [(0.5, 0.5, 1.5), (0.5, 1.5, 2.5), (1.5, -0.5, 0.5), (2.5, 2.5, 3.5)]
    assert found == [*wanted, (3.5, 0.5, 1.5), (3.5, 1.5, 2.5)]
    keys = [text.get_text() for text in figure.legends[0].get_texts()]
    assert keys == [FOCUS_KEY, WINDOW_KEY]
    assert axes.get_xlim() == (-0.5, 4.5)  # p_t = S changes nothing


def test_several_side_by_side():
    none = record(alignment=0 * WEIGHTS)
    empty = record(tokens=[], source_tokens=[], alignment=np.zeros((0, 0)))
    titles = ["luong_local", "seq2seq", "b", "$x$ und $y$"]
    figure = plots.plot_alignments([record(), none, empty, record()], titles, columns=2)
    assert [axes.get_title(loc="left") for axes in figure.axes] == titles
    figure.draw_without_rendering()
    boxes = [axes.get_position() for axes in figure.axes]
    assert boxes[0].y1 == pytest.approx(boxes[1].y1) and boxes[0].x1 < boxes[1].x0
    assert boxes[3].x0 == pytest.approx(boxes[1].x0) and boxes[3].y1 < boxes[1].y0
    size = figure.get_size_inches()
    spans = [np.ptp([axes.get_xlim(), axes.get_ylim()], axis=1) for axes in figure.axes]
    cells = [np.array(boxes[i].size) * size / spans[i] for i in (0, 1, 3)]
    np.testing.assert_allclose(cells, cells[0][0])  # squares of one size
    assert [t.get_text() for t in figure.axes[2].texts] == ["nothing to align"]


@pytest.mark.parametrize("count", [1, 6, 60])
@pytest.mark.parametrize("letters", [1, 6])
def test_no_text_covers_another(count, letters):
    tokens = ["▁" + "Wörter"[:letters] for _ in range(count)]
    weights = np.full((count, count), 1 / count)
    places = {"focus": np.ones(4), "windows": np.array([[0, 2]] * 4)}
    long = record(tokens=tokens, source_tokens=tokens, alignment=weights)
    figure = plots.plot_alignments([long, record(**places)], ["ein langer Titel"] * 2)
    figure.draw_without_rendering()
    texts = [text for axes in figure.axes for text in axes.texts]
    texts += [axes._left_title for axes in figure.axes]
    for axes in figure.axes:
        texts += [*axes.get_xticklabels(), *axes.get_yticklabels()]
    texts += figure.legends[0].get_texts()
    boxes = [t.get_window_extent() for t in texts if t.get_text()]
    for index, box in enumerate(boxes):
        # Extents have a pixel of air.
        assert not any(box.padded(-1).overlaps(o.padded(-1)) for o in boxes[:index])


def test_a_label_is_no_formula_and_not_endless():
    tokens = ["▁$x$", "▁" + "a" * 99, "▁<b>&"]
    [axes] = record(source_tokens=tokens, alignment=WEIGHTS[:, :3]).plot().axes
    assert labels(axes.xaxis) == ["$x$", "a" * 23 + "…", "<b>&"]
    assert not axes.get_xticklabels()[0].get_parse_math()


def test_given_axes():
    from matplotlib.figure import Figure

    axes = Figure().add_subplot()
    assert plots.plot_alignment(record(), axes, title="a") is axes
    assert axes.get_aspect() == 1 and axes.get_title(loc="left") == "a"


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([],), ValueError, "0 translations"),
        (([1],), TypeError, "return_details=True. Received: int"),
        (([record()], ["a", "b"]), ValueError, "1 translations, 2 titles"),
        (([record()], None, True, 0), ValueError, "columns=0"),
    ],
)
def test_bad_arguments(arguments, error, message):
    with pytest.raises(error, match=re.escape(message)):
        plots.plot_alignments(*arguments)


def test_without_matplotlib(monkeypatch):
    for name in list(sys.modules):
        if name.split(".")[0] == "matplotlib":
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'attention-zoo\[plot\]'"):
        record().plot()


# === Captions ===
IMAGE = np.full((20, 30, 3), 120, "uint8")


def caption(tokens=("▁a", "▁ri", "ng"), image=IMAGE):
    weights = np.zeros((len(tokens), 4, 6))
    weights[:, 1, 4] = 1.0
    return Caption("a ring", -1.0, list(tokens), image, weights)


def test_each_word_has_a_picture_with_its_highest_weight():
    figure = plots.plot_caption(caption(), title="seen")
    titles = [axes.get_title() for axes in figure.axes]
    assert titles == ["", "a  100 %", "ring  100 %"]
    assert [text.get_text() for text in figure.texts] == ["seen", SHARE_KEY]


def test_pictures_stand_in_columns_without_overlap():
    figure = plots.plot_caption(caption(["▁a"] * 6))
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
    _, axes, *_ = plots.plot_caption(caption()).axes
    image, white = axes.images
    assert (image.get_array() == IMAGE).all()
    assert image.get_extent() == white.get_extent()
    cover = white.get_array()[..., 3]  # how white a place becomes
    assert cover[1, 4] == 0 and np.sort(cover.ravel())[1] > 0.7
    even = caption(["▁a"])
    even.alignment[:] = 1 / 24
    assert plots.plot_caption(even).axes[1].images[1].get_array()[..., 3].max() == 0


def test_grey_images_and_empty_captions():
    grey = np.full((16, 16, 1), 90, "uint8")
    assert len(plots.plot_caption(caption(image=grey)).axes) == 3
    empty = plots.plot_caption(caption(()))
    assert len(empty.axes) == 1 and not empty.texts


def test_what_is_not_drawn():
    with pytest.raises(TypeError, match="return_details=True. Received: str"):
        plots.plot_caption("a ring")
    with pytest.raises(ValueError, match="1 or 3 channels to be drawn"):
        plots.plot_caption(caption(image=np.zeros((4, 4, 7))))
