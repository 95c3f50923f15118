"""The report of a run: one HTML file with its curves, scores and translations.

It needs nothing but the files in the run's folder, so that an interrupted run has a
report, too: `zoo report runs/NAME-SCALE`.
"""

import base64
import json
from pathlib import Path

import jinja2
import numpy as np

from zoo.analysis.figure import printable, render
from zoo.analysis.training_plot import draw_curves, read_log
from zoo.files import write_bytes
from zoo.strings import counted, duration

_PAGE = Path(__file__).with_name("run_report.html")


def write_report(folder: str | Path) -> Path:
    """Writes `report.html` into a run's folder.

    It has test scores with their signatures, curves, and the worst outputs of each test
    set, as far as there are any. Pictures need matplotlib (extra `plot`); without it,
    the report says so.

    Args:
        folder: folder of a run, with a `log.csv`.

    Returns:
        The path of the report.

    Raises:
        FileNotFoundError: if the folder has no `log.csv`, or one without an epoch.
        ValueError: if one of the files is damaged.
    """
    folder = Path(folder)
    log = read_log(folder / "log.csv")
    epochs = counted(int(log["epoch"][-1]), "epoch")
    results = _read_results(folder / "results.json")
    environment = jinja2.Environment(
        autoescape=True, finalize=lambda value: printable(str(value))
    )
    text = environment.from_string(_PAGE.read_text(encoding="utf-8")).render(
        title=folder.absolute().name,
        summary=f"{epochs}, {duration(np.nansum(log.get('seconds', 0)))} of training",
        scores=list(_score_rows(results)),
        curves=_curves(log),
        worst=[
            (name, example["source"], example["output"], example["reference"])
            for name, found in results.items()
            for example in (found.get("worst", []) if isinstance(found, dict) else [])
        ],
    )
    path = folder / "report.html"
    write_bytes(path, text.encode())
    return path


def _curves(log):
    """The picture as the address of an image; None without matplotlib."""
    try:
        svg = render(draw_curves({"": log}), "svg", 72)
    except ImportError:
        return None
    return f"data:image/svg+xml;base64,{base64.b64encode(svg).decode()}"


def _read_results(path):
    try:
        return dict(json.loads(path.read_bytes())) if path.exists() else {}
    except (ValueError, TypeError, RecursionError) as error:
        raise ValueError(f"{path} is damaged: {error}") from error


def _score_rows(results, place=""):
    """Yields place, name, score and signature of results, however deep they are."""
    for name, value in results.items():
        if isinstance(value, dict) and "signature" in value:  # a translator's
            yield place, name, f"{value['score']:.2f}", value["signature"]
        elif isinstance(value, dict):
            yield from _score_rows(value, f"{place} {name}".strip())
        elif isinstance(value, float):
            yield place, name, f"{value:.5g}", ""
        elif isinstance(value, int):
            yield place, name, str(value), ""
