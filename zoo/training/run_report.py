"""The report of a run: one HTML file with its curves, scores and translations.

It needs nothing but the files in the run's folder, so that an interrupted run has a
report, too: `zoo report runs/NAME-SCALE`.
"""

import json
import re
from pathlib import Path

import jinja2
import numpy as np
from markupsafe import Markup

from zoo.analysis.alignment_plot import plot_alignment
from zoo.analysis.figure import printable, render
from zoo.analysis.training_plot import (
    describe_loss,
    draw_curves,
    loss_of,
    read_log,
    without_single_sets,
)
from zoo.files import write_bytes
from zoo.strings import counted, duration
from zoo.training.fit.checkpoint import read_state
from zoo.training.fit.samples import read_samples, translation_of

_PAGE = Path(__file__).with_name("run_report.html")


def write_report(folder: str | Path) -> Path:
    """Writes `report.html` into a run's folder.

    It has test scores with their signatures, curves and a table of all epochs,
    translations of the same sentences after several epochs, their alignments after the
    last one, and the run's configuration, as far as there are any. Pictures need
    matplotlib (extra `plot`); without it, the report says so.

    Args:
        folder: folder of a run, with a `log.csv`.

    Returns:
        The path of the report.

    Raises:
        FileNotFoundError: if the folder has no `log.csv`, or one without an epoch.
        ValueError: if one of the files is damaged.
    """
    folder = Path(folder)
    log = read_log(str(folder / "log.csv"))
    checkpoint = folder / "checkpoint.npz"
    state = read_state(checkpoint) if checkpoint.exists() else {}
    results = _read_results(folder / "results.json")
    samples = read_samples(folder / "samples.jsonl")
    loss = loss_of(str(folder)) or describe_loss(state.get("settings"))
    loss = loss or describe_loss(state)
    name = state.get("recipe", folder.absolute().name)
    title = f"{name}, {state['scale']}" if "scale" in state else name
    names = without_single_sets([name for name in log if name != "epoch"])
    scores = list(_score_rows(results))
    environment = jinja2.Environment(autoescape=True, finalize=_on_a_page)
    text = environment.from_string(_PAGE.read_text(encoding="utf-8")).render(
        title=title,
        summary=_summary(log, state),
        scores=scores,
        translated=any(len(row) > 3 for row in scores),
        loss=loss,
        curves=_picture(lambda: draw_curves({"": log}, loss), "curves"),
        heads=("epoch", *(name.replace("_", " ") for name in names)),
        epochs=[
            (f"{epoch:.0f}", *(f"{log[name][row]:.5g}" for name in names))
            for row, epoch in enumerate(log["epoch"])
        ],
        best=_best(log),
        translations=[
            _translation(place, *sample) for place, sample in enumerate(samples.items())
        ],
        settings=_configuration(state),
    )
    path = folder / "report.html"
    write_bytes(path, text.encode())
    return path


def _on_a_page(value):
    """A value of the template as text that HTML can contain, once it is escaped."""
    return value if isinstance(value, Markup) else printable(str(value))


def _picture(draw, name):
    """A figure as SVG whose ids begin with `name`; None without matplotlib."""
    try:
        svg = render(draw(), "svg", 72).decode()
    except ImportError:
        return None
    # Comments repeat the texts unescaped.
    svg = re.sub("<!--.*?-->", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    return Markup(re.sub(r'(?<= id=")|(?<=href="#)|(?<=url\(#)', f"{name}-", svg))


def _read_results(path):
    try:
        return dict(json.loads(path.read_bytes())) if path.exists() else {}
    except (ValueError, TypeError, RecursionError) as error:
        raise ValueError(f"{path} is damaged: {error}") from error


def _summary(log, state):
    text = counted(int(log["epoch"][-1]), "epoch")
    if "seconds" in log:
        text += f", {duration(np.nansum(log['seconds']))} of training"
    best = _best(log)
    if best is not None:
        text += (
            f". Best validation BLEU, greedy search: {log['val_bleu'][best]:.2f} after "
            f"epoch {log['epoch'][best]:.0f}"
        )
    return text + (". Training stopped early." if state.get("stopped") else ".")


def _best(log):
    """The row of the epoch whose weights are the best."""
    if np.isnan(log.get("val_bleu", [np.nan])).all():
        return None
    return int(np.nanargmax(log["val_bleu"]))


def _score_rows(results, place=""):
    """Yields place, score, metric and signature of results, however deep they are."""
    if "bleu" in results:  # a translator's
        for key, label in (("bleu", "BLEU"), ("chrf", "chrF")):
            score = results[key]
            signature = Markup("<code>{}</code>").format(printable(score["signature"]))
            yield place, f"{score['score']:.2f}", label, signature
        if "before" in results:  # of the preset that was fine-tuned
            yield from _score_rows(results["before"], f"{place} before")
        return
    for name, value in results.items():
        if isinstance(value, dict):
            yield from _score_rows(value, f"{place} {name}".strip())
        elif isinstance(value, (bool, int)):
            yield place, str(value), name
        elif isinstance(value, float):
            yield place, f"{value:.5g}", name


def _translation(place, key, by_epoch):
    """Name, rows, last epoch and picture of a sample."""
    (name, source, reference), epochs = key, sorted(by_epoch)
    # Powers of two, since early epochs change most, and the last epoch.
    few = {e: by_epoch[e] for e in epochs if e & (e - 1) == 0 or e == epochs[-1]}
    texts = [(f"epoch {e}", x["translation"] or "(nothing)") for e, x in few.items()]
    rows = [("source", source), *texts, ("reference", reference)]
    record = translation_of(by_epoch[epochs[-1]])
    picture = record and _picture(lambda: plot_alignment(record), f"sample{place}")
    return name, rows, epochs[-1], picture


def _configuration(state):
    """The run's identity, from its checkpoint, and the plans under which it ran."""
    names = list(state)[: list(state).index("epoch")] if state else []
    identity = {name: state[name] for name in names if name != "vocabulary"}
    identity |= identity.pop("settings", {})
    rows = {name: value for name, value in identity.items() if value or value == 0}
    for first, epochs, backend, commit in state.get("plans", []):
        planned = counted(epochs, "epoch")
        plan = f"{planned} planned, {backend} backend, commit {commit}"
        rows[f"from epoch {first + 1}"] = plan
    return [
        (name, value if isinstance(value, str) else json.dumps(value))
        for name, value in rows.items()
    ]
