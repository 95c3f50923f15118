"""The report of a run: one HTML file with its curves, scores and translations.

It needs nothing but the files in the run's folder, so that an interrupted run has a
report, too: `zoo report runs/NAME-SCALE`.
"""

import html
import json
import re
from pathlib import Path

import numpy as np

from zoo.files import write_bytes
from zoo.plots.alignment import plot_alignment
from zoo.plots.curves import (
    describe_loss,
    draw_curves,
    loss_of,
    read_log,
    without_single_sets,
)
from zoo.plots.figure import printable, render
from zoo.strings import counted, duration
from zoo.training.checkpoint import read_state
from zoo.training.samples import read_samples, translation_of

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 62em;
       padding: 0 1em; color: #222; }
h1 { font-size: 1.5em; } h2 { font-size: 1.15em; margin-top: 2em; }
table { border-collapse: collapse; } svg { max-width: 100%; height: auto; }
td, th { border-bottom: 1px solid #ddd; padding: .2em .7em; text-align: left;
         vertical-align: top; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
.wide { overflow-x: auto; } code { font-size: .9em; } tr.best td { font-weight: bold; }
"""


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
    results = _read_json(folder / "results.json")
    samples = read_samples(folder / "samples.jsonl")
    loss = loss_of(str(folder)) or describe_loss(state.get("settings"))
    loss = loss or describe_loss(state)
    name = state.get("recipe", folder.absolute().name)
    title = f"{name}, {state['scale']}" if "scale" in state else name
    body = [
        _element("h1", title),
        _element("p", _summary(log, state)),
        *_scores(results),
        _element("h2", "Curves"),
        *_curves(log, loss),
        _element("h2", "Epochs"),
        _epochs(log),
        *_translations(samples),
        *_configuration(state),
    ]
    head = [
        Markup('<meta charset="utf-8">'),
        _element("title", title),
        _element("style", Markup(_STYLE)),
    ]
    page = _element("html", _element("head", *head), _element("body", *body), lang="en")
    path = folder / "report.html"
    write_bytes(path, f"<!DOCTYPE html>\n{page}\n".encode())
    return path


# === HTML ===


class Markup(str):
    """HTML whose text is already escaped."""


def _element(tag, *contents, **attributes):
    """An element as `Markup`; other contents and attributes are escaped."""
    marks = "".join(f' {name}="{_escaped(v)}"' for name, v in attributes.items())
    inside = "".join(map(_escaped, contents))
    end = "" if tag == "code" else "\n"  # code is inside a line
    return Markup(f"<{tag}{marks}>{inside}</{tag}>{end}")


def _escaped(content):
    if isinstance(content, Markup):
        return content
    return html.escape(printable(str(content)))


def _table(heads, rows, numbers=(), best=None):
    def line(cells, tag, **attributes):
        kinds = [{"class": "number"} if i in numbers else {} for i in range(len(cells))]
        cells = zip(cells, kinds, strict=True)
        return _element("tr", *(_element(tag, c, **k) for c, k in cells), **attributes)

    lines = [
        line(row, "td", **({"class": "best"} if number == best else {}))
        for number, row in enumerate(rows)
    ]
    table = _element("table", line(heads, "th"), *lines)
    return _element("div", table, **{"class": "wide"})


def _picture(figure, name):
    """A figure as SVG whose ids begin with `name`, since a page may have several."""
    svg = render(figure, "svg", 72).decode()
    # Comments repeat the texts unescaped.
    svg = re.sub("<!--.*?-->", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    return Markup(re.sub(r'(?<= id=")|(?<=href="#)|(?<=url\(#)', f"{name}-", svg))


# === The run's files ===


def _read_json(path):
    if not path.exists():
        return {}
    try:
        return dict(json.loads(path.read_bytes()))
    except (ValueError, TypeError, RecursionError) as error:
        raise ValueError(f"{path} is damaged: {error}") from error


# === The report's parts ===


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


def _scores(results):
    if not results:
        text = "There are no test scores: the run has not finished."
        return [_element("p", text)]
    rows = list(_score_rows(results))
    translated = any(len(row) > 3 for row in rows)
    if not translated:
        table = _table(("group", "score", "name"), rows, {1})
        return [_element("h2", "Scores"), table]
    heads = ("test set", "score", "metric", "sacreBLEU signature")
    return [
        _element("h2", "Test scores"),
        _element("p", "Beam search, 5 hypotheses."),
        _table(heads, rows, {1}),
    ]


def _score_rows(results, place=""):
    """Yields place, score, metric and signature of results, however deep they are."""
    if "bleu" in results:  # a translator's
        for key, label in (("bleu", "BLEU"), ("chrf", "chrF")):
            score = results[key]
            signature = _element("code", score["signature"])
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


def _curves(log, loss):
    parts = [_element("p", f"Training loss: {loss}.")] if loss else []
    try:
        return [*parts, _picture(draw_curves({"": log}, loss), "curves")]
    except ImportError:
        install = _element("code", Markup("pip install 'attention-zoo[plot]'"))
        again = _element("code", "zoo report FOLDER")
        text = ["Pictures need matplotlib: ", install, ", then ", again, "."]
        return [*parts, _element("p", *text)]


def _epochs(log):
    names = without_single_sets([name for name in log if name != "epoch"])
    rows = [
        (f"{epoch:.0f}", *(f"{log[name][row]:.5g}" for name in names))
        for row, epoch in enumerate(log["epoch"])
    ]
    heads = ("epoch", *(name.replace("_", " ") for name in names))
    return _table(heads, rows, set(range(len(heads))), _best(log))


def _translations(samples):
    if not samples:
        return []
    text = "Greedy search, after some of the epochs."
    parts = [_element("h2", "Translations"), _element("p", text)]
    for place, ((name, source, reference), by_epoch) in enumerate(samples.items()):
        epochs = sorted(by_epoch)
        # Powers of two, since early epochs change most, and the last epoch.
        few = [e for e in epochs if e & (e - 1) == 0][:6] + epochs[-1:]
        rows = [("source", source)]
        rows += [
            (f"epoch {epoch}", by_epoch[epoch]["translation"] or "(nothing)")
            for epoch in dict.fromkeys(few)
        ]
        rows.append(("reference", reference))
        parts.append(_table((name, ""), rows))
        parts += _alignment(by_epoch[epochs[-1]], f"sample{place}")
    return parts


def _alignment(sample, name):
    """The heatmap of a sample, if it has an alignment and matplotlib is installed."""
    record = translation_of(sample)
    if record is None:
        return []
    try:
        picture = _picture(plot_alignment(record), name)
    except ImportError:
        return []
    text = (
        f"Attention after epoch {sample['epoch']}: the source is across, the "
        "translation down; darker is more."
    )
    return [_element("p", text), picture]


def _configuration(state):
    """The run's identity, from its checkpoint, and the plans under which it ran."""
    if not state:
        return []
    names = list(state)[: list(state).index("epoch")]  # the identity comes first
    identity = {name: state[name] for name in names if name != "vocabulary"}
    identity |= identity.pop("settings", {})
    rows = [(name, _short(value)) for name, value in identity.items()]
    for first, epochs, backend, commit in state.get("plans", []):
        planned = counted(epochs, "epoch")
        plan = f"{planned} planned, {backend} backend, commit {commit}"
        rows.append((f"from epoch {first + 1}", plan))
    rows = [row for row in rows if row[1]]
    return [_element("h2", "Configuration"), _table(("setting", "value"), rows)]


def _short(value):
    """A value as text, without options that are not set."""
    if isinstance(value, dict):
        if "class_name" in value:  # a learning-rate schedule; the plan has its length
            options = {k: v for k, v in value["config"].items() if k != "total"}
            return f"{value['class_name']} ({_short(options)})"
        parts = [(name, _short(part)) for name, part in value.items()]
        # Keras has a momentum even if there is no average.
        return ", ".join(
            f"{name} {part}" for name, part in parts if part and name != "ema_momentum"
        )
    if isinstance(value, list):
        return ", ".join(_short(part) for part in value)
    return "" if value is None or value is False else str(value)
