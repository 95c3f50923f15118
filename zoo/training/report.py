"""The report of a run: one HTML file with its curves, scores and translations.

It is made from the files in the run's folder alone, so that it can be made of a run
that was interrupted, too: `zoo report runs/NAME-SCALE`.
"""

import html
import json
import os

import numpy as np

from zoo.files import write_bytes
from zoo.plots import render
from zoo.training.curves import draw_curves, read_log, without_single_sets

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


def write_report(folder):
    """Writes `report.html` into a run's folder.

    It has what is there of: test scores with their signatures, curves and a table of
    all epochs, translations of the same sentences after several epochs, and the run's
    configuration. Curves need matplotlib (extra `plot`); without it the report says so.

    Args:
        folder: of a run, with a `log.csv`.

    Returns:
        The path of the report.

    Raises:
        FileNotFoundError: if the folder has no `log.csv`, or one without an epoch.
    """
    log = read_log(os.path.join(folder, "log.csv"))
    state = _read_state(os.path.join(folder, "checkpoint.npz"))
    results = _read_json(os.path.join(folder, "results.json"))
    samples = _read_samples(os.path.join(folder, "samples.jsonl"))
    name = state.get("recipe", os.path.basename(os.path.abspath(folder)))
    title = f"{name}, {state['scale']}" if "scale" in state else name
    parts = [
        f"<h1>{html.escape(title)}</h1>",
        f"<p>{_summary(log, state)}</p>",
        _scores(results),
        "<h2>Curves</h2>",
        _curves(log),
        "<h2>Epochs</h2>",
        _epochs(log),
        _translations(samples),
        _configuration(state),
    ]
    page = (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f"<title>{html.escape(title)}</title>\n<style>{_STYLE}</style></head>\n"
        f"<body>\n{chr(10).join(part for part in parts if part)}\n</body></html>\n"
    )
    path = os.path.join(folder, "report.html")
    write_bytes(path, page.encode())
    return path


# === The run's files ===


def _read_state(path):
    if not os.path.exists(path):
        return {}
    with np.load(path, allow_pickle=False) as file:
        return json.loads(str(file["state"]))


def _read_json(path):
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def _read_samples(path):
    """`{(set, source, reference): {epoch: translation}}`; an epoch that was trained
    again counts as it was the last time."""
    samples = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            for line in file:
                if not line.endswith("\n"):
                    continue  # the run was killed while it wrote
                entry = json.loads(line)
                key = entry["set"], entry["source"], entry["reference"]
                samples.setdefault(key, {})[entry["epoch"]] = entry["translation"]
    return samples


# === The report's parts ===


def _summary(log, state):
    epochs = int(log["epoch"][-1])
    text = f"{epochs} epoch" + ("s" if epochs > 1 else "")
    if "seconds" in log:
        text += f", {_time(np.nansum(log['seconds']))} of training"
    best = _best(log)
    if best is not None:
        text += (
            f". Best validation BLEU: {log['val_bleu'][best]:.2f} after epoch "
            f"{log['epoch'][best]:.0f}"
        )
    return text + (". Training stopped early." if state.get("stopped") else ".")


def _time(seconds):
    if seconds < 120:
        return f"{seconds:.0f} seconds"
    if seconds < 7200:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.1f} hours"


def _best(log):
    """The row of the epoch whose weights are the best."""
    if np.isnan(log.get("val_bleu", [np.nan])).all():
        return None
    return int(np.nanargmax(log["val_bleu"]))


def _scores(results):
    if not results:
        return "<p>There are no test scores: the run has not come to its end.</p>"
    rows = [
        (
            html.escape(name),
            f"{found[metric]['score']:.2f}",
            label,
            f"<code>{html.escape(found[metric]['signature'])}</code>",
        )
        for name, found in results.items()
        for metric, label in (("bleu", "BLEU"), ("chrf", "chrF"))
    ]
    table = _table(("test set", "score", "metric", "sacreBLEU signature"), rows, {1})
    return f"<h2>Test scores</h2>\n<p>Beam search, 5 hypotheses.</p>\n{table}"


def _curves(log):
    try:
        figure = draw_curves({"": log})
    except ImportError:
        return (
            "<p>Curves need matplotlib: <code>pip install 'attention-zoo[plot]'"
            "</code>, then <code>zoo report FOLDER</code>.</p>"
        )
    picture = render(figure, "svg", 72).decode()
    return picture[picture.index("<svg") :]


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
        return ""
    parts = ["<h2>Translations</h2>\n<p>Greedy search, after some of the epochs.</p>"]
    for (name, source, reference), found in samples.items():
        epochs = sorted(found)
        # Early epochs change most: twice as far each time, and the last.
        few = [e for e in epochs if e & (e - 1) == 0][:6] + epochs[-1:]
        rows = [("source", html.escape(source))]
        rows += [
            (f"epoch {epoch}", html.escape(found[epoch]) or "(nothing)")
            for epoch in dict.fromkeys(few)
        ]
        rows.append(("reference", html.escape(reference)))
        parts.append(_table((html.escape(name), ""), rows))
    return "\n".join(parts)


def _configuration(state):
    """What a checkpoint holds of the run's identity, and under which plans it ran."""
    if not state:
        return ""
    names = list(state)[: list(state).index("epoch")]  # the identity stands first
    rows = [(name, _short(state[name])) for name in names if name != "vocabulary"]
    for first, epochs, backend, commit in state.get("plans", []):
        plan = f"{epochs} epochs planned, {backend} backend, commit {commit}"
        rows.append((f"from epoch {first + 1}", plan))
    rows = [tuple(map(html.escape, row)) for row in rows if row[1]]
    return f"<h2>Configuration</h2>\n{_table(('what', 'value'), rows)}"


def _short(value):
    """A value as text, without what is not set."""
    if isinstance(value, dict):
        if "class_name" in value:  # a learning-rate schedule: its length is the plan's
            options = {k: v for k, v in value["config"].items() if k != "total"}
            return f"{value['class_name']} ({_short(options)})"
        parts = [(name, _short(part)) for name, part in value.items()]
        # Keras names a momentum where there is no average, too; the scale has it.
        return ", ".join(
            f"{name} {part}" for name, part in parts if part and name != "ema_momentum"
        )
    if isinstance(value, list):
        return ", ".join(_short(part) for part in value)
    return "" if value is None or value is False else str(value)


def _table(heads, rows, numbers=(), best=None):
    def line(cells, tag):
        return "".join(
            f'<{tag} class="number">{cell}</{tag}>'
            if column in numbers
            else f"<{tag}>{cell}</{tag}>"
            for column, cell in enumerate(cells)
        )

    lines = [f"<tr>{line(heads, 'th')}</tr>"]
    for number, row in enumerate(rows):
        kind = ' class="best"' if number == best else ""
        lines.append(f"<tr{kind}>{line(row, 'td')}</tr>")
    return f'<div class="wide"><table>{chr(10).join(lines)}</table></div>'
