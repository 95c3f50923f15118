"""The report of a run: one HTML file with its curves, scores and translations.

It needs nothing but the files in the run's folder, so that an interrupted run has a
report, too: `zoo report runs/NAME-SCALE`.
"""

import base64
import json
from pathlib import Path

import jinja2
import numpy as np

from zoo.analysis.alignment_plot import plot_alignment
from zoo.analysis.figure import printable, render
from zoo.analysis.training_plot import draw_curves, loss_of, read_log
from zoo.files import write_bytes
from zoo.strings import counted, duration
from zoo.training.fit.samples import read_samples, translation_of

_PAGE = Path(__file__).with_name("run_report.html")


def write_report(folder: str | Path) -> Path:
    """Writes `report.html` into a run's folder.

    It has test scores with their signatures, curves, translations of the same sentences
    after several epochs, and their alignments after the last one, as far as there are
    any. Pictures need matplotlib (extra `plot`); without it, the report says so.

    Args:
        folder: folder of a run, with a `log.csv`.

    Returns:
        The path of the report.

    Raises:
        FileNotFoundError: if the folder has no `log.csv`, or one without an epoch.
        ValueError: if one of the files is damaged.
    """
    folder = Path(folder)
    log, loss = read_log(folder / "log.csv"), loss_of(folder)
    samples = read_samples(folder / "samples.jsonl")
    environment = jinja2.Environment(
        autoescape=True, finalize=lambda value: printable(str(value))
    )
    text = environment.from_string(_PAGE.read_text(encoding="utf-8")).render(
        title=folder.absolute().name,
        summary=_summary(log),
        scores=list(_score_rows(_read_results(folder / "results.json"))),
        loss=loss,
        curves=_picture(lambda: draw_curves({"": log}, loss)),
        translations=[_translation(*sample) for sample in samples.items()],
    )
    path = folder / "report.html"
    write_bytes(path, text.encode())
    return path


def _picture(draw):
    """A figure as the address of an image; None without matplotlib."""
    try:
        svg = render(draw(), "svg", 72)
    except ImportError:
        return None
    return f"data:image/svg+xml;base64,{base64.b64encode(svg).decode()}"


def _read_results(path):
    try:
        return dict(json.loads(path.read_bytes())) if path.exists() else {}
    except (ValueError, TypeError, RecursionError) as error:
        raise ValueError(f"{path} is damaged: {error}") from error


def _summary(log):
    text = counted(int(log["epoch"][-1]), "epoch")
    if "seconds" in log:
        text += f", {duration(np.nansum(log['seconds']))} of training"
    if not np.isnan(log.get("val_bleu", [np.nan])).all():
        best = int(np.nanargmax(log["val_bleu"]))
        text += (
            f". Best validation BLEU, greedy search: {log['val_bleu'][best]:.2f} after "
            f"epoch {log['epoch'][best]:.0f}"
        )
    return f"{text}."


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


def _translation(key, by_epoch):
    """Name, rows and picture of a sample."""
    (name, source, reference), epochs = key, sorted(by_epoch)
    # Powers of two, since early epochs change most, and the last epoch.
    few = {e: by_epoch[e] for e in epochs if e & (e - 1) == 0 or e == epochs[-1]}
    texts = [(f"epoch {e}", x["translation"] or "(nothing)") for e, x in few.items()]
    rows = [("source", source), *texts, ("reference", reference)]
    record = translation_of(by_epoch[epochs[-1]])
    return name, rows, record and _picture(lambda: plot_alignment(record))
