import math

import numpy as np
import pytest

from zoo.analysis import plot_training
from zoo.analysis.training_plot import draw_curves, read_log

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
        r"val_$\frac$": [1, 2],
    }
    figure = draw_curves({"": log})
    wanted = "training loss", "validation BLEU", "gradient norm"
    assert titles(figure) == [*wanted, r"validation $\frac$", "validation accuracy"]
    loss, bleu, norm, _, _ = figure.axes
    assert lines(norm) == {"mean of the epoch": [1.0, 0.5], "highest": [40.0, 2.0]}
    assert len(norm.get_legend().get_texts()) == 2
    assert list(lines(bleu).values()) == [[1.0, 9.0]]  # a single set is its own mean
    assert bleu.get_legend() is None
    assert norm.get_yscale() == "log" and loss.get_yscale() == "linear"
    figure.draw_without_rendering()  # a formula would be refused


def run(folder, losses):
    folder.mkdir(parents=True)
    rows = "".join(f"{epoch},{loss}\n" for epoch, loss in enumerate(losses))
    (folder / "log.csv").write_text(f"epoch,loss\n{rows}")
    return folder


def test_several_runs_share_axes(tmp_path):
    one, two = run(tmp_path / "a" / "x", [3, 2]), run(tmp_path / "_b", [5, 4, 3])
    [axes] = plot_training([one, two / "log.csv"]).axes
    assert lines(axes) == {"x": [3, 2], "_b": [5, 4, 3]}
    assert [t.get_text() for t in axes.get_legend().get_texts()] == ["x", "_b"]
    first, second = axes.get_lines()  # not told apart by colour alone
    assert second.get_linestyle() != first.get_linestyle()
    other = run(tmp_path / "b" / "x", [1])  # of the same name: both get their paths
    assert set(lines(plot_training([one, other]).axes[0])) == {str(one), str(other)}
    for logs in ([], [one, one]):
        with pytest.raises(ValueError, match="There must be different logs. Received"):
            plot_training(logs)


def test_nothing_to_draw():
    with pytest.raises(ValueError, match="nothing that can be drawn"):
        draw_curves({"a": {"epoch": [1.0], "loss": [np.nan]}})
