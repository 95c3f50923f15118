"""Training curves, and the log of a run that they are drawn from."""

import csv
import math
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from zoo.analysis.figure import draw_plainly, new_figure
from zoo.files import StrPath

# Prefix of the log's columns in one panel -> its title. Others have one each.
_PANELS = {
    "loss": "training loss",
    "val_perplexity": "validation perplexity (per piece)",
    "val_bleu": "validation BLEU (greedy)",
    "learning_rate": "learning rate (last batch)",
    "gradient_norm": "gradient norm (before clipping)",
    "tokens_per_second": "target tokens per second",
}
_LOGARITHMIC = ("val_perplexity", "gradient_norm")
_LABELS = {
    "gradient_norm": "mean of the epoch",
    "gradient_norm_max": "highest",
    "val_bleu": "mean of the sets",
}
_LEFT_OUT = ("epoch", "seconds", "val_chrf")  # add little
_STYLES = ("-", "--", "-.", ":")  # distinguish lines in greyscale


def plot_training(logs: StrPath | Iterable[StrPath]) -> Any:
    """Draws the training curves of one run, or of several in the same axes.

    For one run, every column of its log is drawn; for several, the first of each kind,
    such as the mean of the validation sets' BLEU. They are labelled by their folders'
    names, or by their paths if two have one name.

    Args:
        logs: a run's folder or its `log.csv`, or a list of them.

    Returns:
        A matplotlib `Figure`.

    Raises:
        FileNotFoundError: if a log does not exist, or has no epoch yet.
        ValueError: if there is no log, one is not a training log, or one is there
            twice.
        ImportError: without matplotlib.
    """
    logs = [logs] if isinstance(logs, (str, os.PathLike)) else list(logs)
    paths = [Path(log).parent if Path(log).is_file() else Path(log) for log in logs]
    names = [path.absolute().name for path in paths]
    if len(set(names)) < len(names):
        names = list(map(str, paths))
    if not logs or len(set(names)) < len(names):
        raise ValueError(f"There must be different logs. Received: {names}")
    return draw_curves(dict(zip(names, map(read_log, logs), strict=True)))


def read_log(path: StrPath) -> dict[str, list[float]]:
    """Reads the columns of a run's `log.csv`, given it or its folder.

    Values are nan where there is no number; "epoch" counts from 1. Without an epoch it
    is a FileNotFoundError, what is no log a ValueError.
    """
    path = Path(path)
    path = path / "log.csv" if path.is_dir() else path
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = [row for row in csv.DictReader(file) if None not in row.values()]
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{path} is not a training log: {error}") from error
    if not rows:
        raise FileNotFoundError(f"{path} has no epoch yet: there is nothing to show")
    if "epoch" not in rows[0]:
        raise ValueError(f"{path} is not a training log: it has no column 'epoch'")
    names = [name for name in rows[0] if name is not None]
    columns = {name: [_number(row[name]) for row in rows] for name in names}
    columns["epoch"] = [epoch + 1 for epoch in columns["epoch"]]
    return columns


def _number(text):
    try:
        return float(text)
    except ValueError:
        return math.nan


def draw_curves(logs: dict[str, dict[str, list[float]]]) -> Any:
    """Draws the results of `read_log` by their labels as a matplotlib `Figure`."""
    panels = _curves(logs)
    if not panels:
        raise ValueError(
            "The logs have nothing that can be drawn: no column of numbers"
        )
    rows = -(-len(panels) // 2)
    figure = new_figure(9.5, 2.7 * rows, layout="constrained")
    for place, (title, lines, logarithmic) in enumerate(panels, start=1):
        axes = figure.add_subplot(rows, 2, place, xlabel="epoch")
        for number, label, epochs, values in lines:
            style = {"color": f"C{number}", "ls": _STYLES[number % 4], "marker": "."}
            axes.plot(epochs, values, label=label, **style)
        values = [v for *_, values in lines for v in values if math.isfinite(v)]
        if logarithmic and min(values) > 0:
            axes.set_yscale("log")
        axes.xaxis.get_major_locator().set_params(integer=True)
        draw_plainly(axes.set_title(title, fontsize=10))
        if len(lines) > 1:
            handles = axes.get_lines()  # a label may begin with "_"
            names = [line.get_label() for line in handles]
            draw_plainly(*axes.legend(handles, names).get_texts())
    return figure


def _curves(logs):
    """The panels: title, lines (style, label, epochs, values), whether logarithmic."""
    columns: dict[str, list[str]] = {prefix: [] for prefix in _PANELS}
    for name in sorted({name for log in logs.values() for name in log}):
        if not name.startswith(_LEFT_OUT):
            prefix = next((x for x in _PANELS if name.startswith(x)), name)
            columns.setdefault(prefix, []).append(name)
    panels = []
    for prefix, names in columns.items():
        if lines := _lines(logs, names):
            title = prefix.replace("val_", "validation ").replace("_", " ")
            title = _PANELS.get(prefix, title)
            panels.append((title, lines, prefix in _LOGARITHMIC))
    return panels


def _lines(logs, names):
    """Returns a panel's lines: one for each column, or for each of several runs."""
    lines = []
    for run, (label, log) in enumerate(logs.items()):
        shown = [n for n in names if any(map(math.isfinite, log.get(n, ())))]
        sets = [n for n in shown if n.startswith("val_bleu_")]
        if len(sets) == 1:  # it equals the mean
            shown.remove(*sets)
        if len(logs) > 1:
            lines += [(run, label, log["epoch"], log[name]) for name in shown[:1]]
            continue
        for number, name in enumerate(shown):
            label = _LABELS.get(name, name.removeprefix("val_bleu_"))
            lines.append((number, label, log["epoch"], log[name]))
    return lines
