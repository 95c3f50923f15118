import math

import numpy as np
import pytest

from zoo.analysis.training_plot import describe_loss, draw_curves, loss_of, read_log

pytestmark = pytest.mark.backend_free

pytest.importorskip("matplotlib")  # an extra


def test_a_log_is_read(tmp_path):
    (tmp_path / "log.csv").write_text(
        "epoch,loss,val_bleu\n0,2.5,NA\n1,1.5,12.25\n2,1."  # killed while it wrote
    )
    for path in (tmp_path, tmp_path / "log.csv"):
        log = read_log(path)
        assert log["epoch"] == [1, 2] and log["loss"] == [2.5, 1.5]
        assert math.isnan(log["val_bleu"][0]) and log["val_bleu"][1] == 12.25


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no epoch yet"),
        (b"epoch,loss\n", "no epoch yet"),
        (b"a,b\n1,2\n", "no column 'epoch'"),
        (b"epoch\n\xff\n", "not a training log"),
    ],
)
def test_what_is_no_log(tmp_path, content, message):
    (tmp_path / "log.csv").write_bytes(content)
    with pytest.raises((FileNotFoundError, ValueError), match=message) as error:
        read_log(tmp_path)
    assert str(tmp_path) in str(error.value)
    with pytest.raises(FileNotFoundError):
        read_log(tmp_path / "none")


def titles(figure):
    return [axes.get_title().split(" (")[0] for axes in figure.axes]


def lines(axes):
    return {line.get_label(): list(line.get_ydata()) for line in axes.get_lines()}


def test_the_curves_are_those_of_the_log():
    log = {
        "epoch": [1.0, 2.0],
        "loss": [4.0, 3.0],
        "seconds": [9.0, 9.0],
        "val_accuracy": [0.9, 0.95],
        "val_bleu": [1.0, 9.0],
        "val_bleu_news": [1.0, 9.0],
        "val_chrf": [1.0, 2.0],
        "gradient_norm": [1.0, 0.5],
        "gradient_norm_max": [40.0, 2.0],
        "val_perplexity": [float("nan")] * 2,
    }
    figure = draw_curves({"": log})
    assert titles(figure) == [
        "training loss",
        "validation BLEU",
        "validation accuracy",
        "gradient norm",
    ]
    loss, bleu, accuracy, norm = figure.axes
    assert lines(norm) == {"mean of the epoch": [1.0, 0.5], "highest": [40.0, 2.0]}
    assert [text.get_text() for text in norm.get_legend().get_texts()] == list(
        lines(norm)
    )
    assert list(lines(bleu).values()) == [[1.0, 9.0]]  # a single set is its own mean
    assert bleu.get_legend() is None and not figure.legends
    assert norm.get_yscale() == "log" and loss.get_yscale() == "linear"
    assert accuracy.get_ylim()[0] > 0.8  # or nothing would be seen
    assert bleu.get_ylim()[0] <= 0


def test_of_several_runs_the_first_of_each_kind_is_drawn():
    one = {"epoch": [1, 2], "loss": [4, 3], "val_bleu": [1, 2], "val_bleu_a": [0, 1]}
    one["val_bleu_b"] = [2, 3]
    two = {"epoch": [1, 2, 3], "loss": [9, 8, 7], "val_right": [0, 0, 1]}
    figure = draw_curves({"one": one, "two": two})
    loss, bleu, right = figure.axes
    assert lines(loss) == {"one": [4, 3], "two": [9, 8, 7]}
    assert lines(bleu) == {"one": [1, 2]} and lines(right) == {"two": [0, 0, 1]}
    # A run has one look in all axes, and not by its colour alone.
    first, second = loss.get_lines()
    assert right.get_lines()[0].get_color() == second.get_color() != first.get_color()
    assert second.get_linestyle() != first.get_linestyle()
    [legend] = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["one", "two"]


def test_columns_are_drawn_as_they_are_called(tmp_path):
    name = r"val_$\frac$"
    log = {"epoch": [1, 2], name: [1, 2], "val_bleu_$a$": [1, 2], "val_bleu__b": [3, 4]}
    figure = draw_curves({"": log})
    figure.savefig(tmp_path / "a.svg")  # a formula would be refused
    bleu, other = figure.axes
    assert other.get_title() == r"validation $\frac$"
    assert [t.get_text() for t in bleu.get_legend().get_texts()] == ["$a$", "_b"]


@pytest.mark.parametrize(
    ("choices", "name"),
    [
        ({"loss": {}}, "cross-entropy, per target piece"),
        (
            {"loss": {"smoothing": 0.1, "normalize": "sentences"}},
            "cross-entropy with label smoothing 0.1, per sentence",
        ),
        ({"loss": "mse"}, "mse"),
        ({}, None),
        (None, None),
    ],
)
def test_the_loss_in_words(choices, name):
    assert describe_loss(choices) == name


def test_the_loss_is_named_in_its_axes_alone(tmp_path):
    log = {"epoch": [1, 2], "loss": [2, 1], "val_bleu": [1, 2]}
    loss, bleu = draw_curves({"": log}, "$of$ a kind").axes
    assert loss.get_title() == "training loss: $of$ a kind"
    assert not loss.title.get_parse_math() and "kind" not in bleu.get_title()
    assert loss_of(tmp_path) is None
    (tmp_path / "config.json").write_text("{")
    assert loss_of(tmp_path) is None


def test_nothing_to_draw():
    with pytest.raises(ValueError, match="nothing that can be drawn"):
        draw_curves({"a": {"epoch": [1.0], "loss": [np.nan]}})
