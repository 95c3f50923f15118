import json
import re
import sys
import warnings
from xml.etree import ElementTree

import numpy as np
import pytest

from zoo import analysis as plots
from zoo.analysis import figure as helpers
from zoo.analysis.alignment_plot import FOCUS_KEY, NUMBER_KEY, SUM_KEY, WINDOW_KEY
from zoo.decoding import Translation

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
    figure = record().plot()
    [axes] = figure.axes
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
    [legend] = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [NUMBER_KEY]


def test_an_alignment_of_pieces():
    [axes] = record().plot(words=False).axes
    assert labels(axes.xaxis) == ["A", "do", "-g", "runs", "."]
    assert labels(axes.yaxis) == ["Ein", "Hun", "-d", "."]
    np.testing.assert_array_equal(axes.collections[0].get_array(), WEIGHTS)


def test_windows_and_their_places():
    focus = np.array([0.25, 2.0, 2.5, 5.0])
    windows = np.array([[0, 1], [1, 3], [1, 3], [3, 4]])
    figure = record(focus=focus, windows=windows).plot(words=False)
    [axes] = figure.axes
    _, marks = axes.lines  # after the frame
    np.testing.assert_allclose(marks.get_xdata(), focus)
    assert (np.round(marks.get_ydata()) == [0, 1, 2, 3]).all()
    # A line at a row's side where the window ends inside the sentence.
    ends = axes.collections[1].get_segments()
    found = sorted((x, y, bottom) for (x, y), (_, bottom) in map(tuple, ends))
    wanted = [(0.5, 0.5, 1.5), (0.5, 1.5, 2.5), (1.5, -0.5, 0.5), (2.5, 2.5, 3.5)]
    assert found == [*wanted, (3.5, 0.5, 1.5), (3.5, 1.5, 2.5)]
    keys = [text.get_text() for text in figure.legends[0].get_texts()]
    assert keys == [NUMBER_KEY, FOCUS_KEY, WINDOW_KEY]
    assert "attention in %" in keys[0] and "source position" in keys[1]
    assert "window $[p_t - D, p_t + D]$" in keys[2]
    assert axes.get_xlim() == (-0.5, 4.5)  # p_t = S changes nothing
    options = {"focus": focus, "windows": np.array([[0, 4]] * 4)}
    for scale, more in ((1.0, []), (0.9, [SUM_KEY])):
        whole = record(alignment=scale * WEIGHTS, **options).plot()
        keys = [text.get_text() for text in whole.legends[0].get_texts()]
        assert keys == [NUMBER_KEY, FOCUS_KEY, *more]


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
    assert [t.get_text() for t in figure.axes[1].texts] == ["no attention"]
    assert [t.get_text() for t in figure.axes[2].texts] == ["nothing to align"]


def long_record(count, letters):
    tokens = ["▁" + "Wörter"[:letters] for _ in range(count)]
    weights = np.full((count, count), 1 / count)
    return record(tokens=tokens, source_tokens=tokens, alignment=weights)


@pytest.mark.parametrize("count", [1, 6, 60])
@pytest.mark.parametrize("letters", [1, 6])
def test_no_text_covers_another(count, letters):
    places = {"focus": np.ones(4), "windows": np.array([[0, 2]] * 4)}
    records = [long_record(count, letters), record(**places)]
    title = "ein Titel, der breiter als das Bild unter ihm ist"
    figure = plots.plot_alignments(records, [title] * 2)
    assert len(figure.legends[0].get_texts()) == 3
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
    assert min(text.get_fontsize() for text in texts) >= 6


def test_a_label_is_no_formula_and_not_endless():
    tokens = ["▁$x$", "▁" + "a" * 99, "▁<b>&"]
    [axes] = record(source_tokens=tokens, alignment=WEIGHTS[:, :3]).plot().axes
    assert labels(axes.xaxis) == ["$x$", "a" * 23 + "…", "<b>&"]
    assert not axes.get_xticklabels()[0].get_parse_math()


def test_characters_that_the_font_lacks():
    from matplotlib import font_manager

    tokens = ["▁müßig", "▁犬", "▁がん"]
    weights = WEIGHTS[:, :3]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        [axes] = record(source_tokens=tokens, alignment=weights).plot().axes
    known = labels(axes.xaxis) == ["müßig", "犬", "がん"]
    if caught:  # no font of this machine has them
        assert not known and labels(axes.xaxis) == ["müßig", "\ufffd", "\ufffd" * 2]
        assert len(caught) == 1 and "犬" in str(caught[0].message)
        assert caught[0].filename == __file__
    else:
        family = axes.get_xticklabels()[0].get_fontfamily()
        fonts = [font_manager.get_font(font_manager.findfont(f)) for f in family]
        assert known and any(ord("犬") in font.get_charmap() for font in fonts)


def test_given_axes():
    from matplotlib.figure import Figure

    for face, ink in (("white", "#222222"), ("black", "white")):
        figure = Figure(facecolor=face)
        axes = figure.add_subplot()
        assert plots.plot_alignment(record(), axes, title="a") is axes
        assert axes.get_aspect() == 1 and axes.get_title(loc="left") == "a"
        assert axes.get_xticklabels()[0].get_color() == ink
        assert figure.axes == [axes]
        inner = Figure(facecolor=face).subfigures(1, 2)[0].add_subplot()
        plots.plot_alignment(record(), inner)
        assert inner.get_xticklabels()[0].get_color() == ink


def test_pictures_bring_their_own_colours():
    """In a dark style, as in a dark notebook."""
    import matplotlib
    from matplotlib.colors import to_hex

    with matplotlib.rc_context():
        matplotlib.rcParams["figure.facecolor"] = "black"
        matplotlib.rcParams["axes.facecolor"] = "black"
        matplotlib.rcParams["text.color"] = "white"
        matplotlib.rcParams["xtick.color"] = "white"
        matplotlib.rcParams["font.size"] = 30
        figure = record(focus=np.zeros(4), windows=np.array([[0, 1]] * 4)).plot()
    [axes] = figure.axes
    assert to_hex(figure.get_facecolor()) == "#ffffff" and not axes.get_frame_on()
    texts = [*axes.get_xticklabels(), *figure.legends[0].get_texts()]
    assert {to_hex(text.get_color()) for text in texts} == {helpers.DARK}
    assert max(text.get_fontsize() for text in texts) <= 9


# === Files ===


@pytest.mark.parametrize("name", ["a.png", "a.PNG", "a.svg"])
def test_saved_files(tmp_path, name):
    plots.save(record().plot(title="großer Hund"), tmp_path / name)
    content = (tmp_path / name).read_bytes()
    if name.endswith("svg"):
        text = content.decode()
        assert text.startswith("<?xml") and "<svg" in text
        assert "<text" not in text  # outlines: no font is needed
        assert not re.search("<image", text)  # cells can be drawn at any size
    else:
        assert content.startswith(b"\x89PNG\r\n\x1a\n")


NASTY = [r"$\frac$", "\x1b[0m\x00", "\ud800\ufffe", "a\nb", "<script>-->", "_x", "$"]


def test_whatever_a_text_has_the_svg_is_valid(tmp_path):
    for text in NASTY:
        tokens = [f"▁{text}", f"▁x{text}"]
        options = {"tokens": tokens, "source_tokens": tokens, "alignment": np.eye(2)}
        plots.save(record(**options).plot(title=text), tmp_path / "a.svg")
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
    assert helpers.printable(text) == wanted


@pytest.mark.parametrize("name", ["a.pdf", "a", "png", "a.png.txt"])
def test_other_endings_are_refused(tmp_path, name):
    (tmp_path / name).write_text("old")
    with pytest.raises(ValueError, match=r"\.png or \.svg, received"):
        plots.save(None, tmp_path / name)
    assert (tmp_path / name).read_text() == "old"


def test_a_notebook_shows_it_without_pyplot():
    before = "matplotlib.pyplot" in sys.modules
    assert record().plot()._repr_png_().startswith(b"\x89PNG")
    assert before == ("matplotlib.pyplot" in sys.modules)


# === Training ===


def run(folder, losses):
    folder.mkdir(parents=True)
    rows = "".join(f"{epoch},{loss}\n" for epoch, loss in enumerate(losses))
    (folder / "log.csv").write_text(f"epoch,loss\n{rows}")
    return folder


def test_training_curves(tmp_path):
    one, two = run(tmp_path / "a" / "x-tiny", [3, 2]), run(tmp_path / "b", [5, 4, 3])
    [axes] = plots.plot_training(one).axes
    assert axes.get_lines()[0].get_ydata().tolist() == [3, 2]
    figure = plots.plot_training([one, two / "log.csv"])
    drawn = {line.get_label(): line for line in figure.axes[0].get_lines()}
    assert drawn["x-tiny"].get_xdata().tolist() == [1, 2]
    assert drawn["b"].get_ydata().tolist() == [5, 4, 3]
    figure = plots.plot_training([one, two], labels=["1", "2"])
    assert [t.get_text() for t in figure.legends[0].get_texts()] == ["1", "2"]


def test_the_loss_has_a_name_where_all_runs_have_the_same(tmp_path):
    folders = [run(tmp_path / str(n), [3, 2]) for n in range(3)]
    for folder in folders:
        choices = {
            "loss": {"normalize": "tokens" if folder == folders[2] else "sentences"}
        }
        config = {"recipe": {"name": "a"}, "arguments": {}, "backend": "jax", "set": []}
        config["hyper_parameters"] = choices
        (folder / "config.json").write_text(json.dumps(config))

    def title(logs):
        return plots.plot_training(logs).axes[0].get_title()

    wanted = "training loss: cross-entropy, per sentence"
    assert title(folders[0]) == title(folders[:2]) == wanted
    assert title(folders[0] / "log.csv") == wanted
    assert title(folders) == "training loss: not the same in all runs"
    (folders[2] / "config.json").unlink()
    assert title(folders) == title(folders[2]) == "training loss"


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["runs/a", "runs/b/"], ["a", "b"]),
        (["runs/a/log.csv", "b"], ["a", "b"]),
        (["x/1/a", "x/2/a"], ["1/a", "2/a"]),
        (["a", "a"], ["a", "a"]),
        ([], []),
    ],
)
def test_short_names(paths, names):
    assert helpers.short_names(paths) == names


# === Refusals ===


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([],), ValueError, "0 translations"),
        (([1],), TypeError, "return_details=True. Received: int"),
        ((["Ein Hund."],), TypeError, "Received: str"),
        (([record()], ["a", "b"]), ValueError, "1 translations, 2 titles"),
        (([record()], None, True, 0), ValueError, "columns=0"),
        (([record()], None, True, True), ValueError, "columns=True"),
    ],
)
def test_bad_arguments(arguments, error, message):
    with pytest.raises(error, match=re.escape(message)):
        plots.plot_alignments(*arguments)


def test_bad_logs(tmp_path):
    folder = run(tmp_path / "a", [1])
    for arguments in (([],), ([folder], ["a", "b"]), ([folder, folder],)):
        with pytest.raises(ValueError, match="There must be a log"):
            plots.plot_training(*arguments)
    with pytest.raises(FileNotFoundError, match="none"):
        plots.plot_training(tmp_path / "none")


def test_without_matplotlib(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    folder = run(tmp_path / "a", [1])
    for draw in (record().plot, lambda: plots.plot_training(folder)):
        with pytest.raises(ImportError, match=r"pip install 'attention-zoo\[plot\]'"):
            draw()
