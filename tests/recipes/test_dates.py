"""The recipe of dates: unseen ones come out right, and alignments show their parts."""

import datetime
import json
import warnings

import numpy as np
import pytest

import zoo
from tests.harness import load_recipe
from tests.marks import proved_under
from zoo.data.generated.dates import PATTERNS, date_pairs, write_date

pytest.importorskip("babel")  # of the extra `train`

# The least share of characters whose largest weight lies in its part of the source.
POINTS = {"year": 0.95, "month": 0.95, "day": 0.95}
# A form of each language in which a day, the name of its month and a year stand apart.
FORMS = {
    "en-GB": "EEEE, d MMMM y",
    "en-US": "EEEE, MMMM d, y",
    "de": "EEEE, d. MMMM y",
    "fr": "EEEE d{th} MMMM y",
    "es": "EEEE, d 'de' MMMM 'de' y",
}
# The characters of "1999-05-03" by their pieces, of which the first is a space. The
# source may lack the 0 of 03: the last one shows where a day is.
ROWS = {"year": slice(1, 5), "month": slice(6, 8), "day": slice(10, 11)}


def pointing(model, days):
    """The share of the characters of year, month and day in dates of each language,
    whose largest weight lies on the same part of the source."""
    sources, targets, spans = [], [], []
    for language, form in FORMS.items():
        assert form in PATTERNS[language]
        for day in map(datetime.date.fromisoformat, days):
            text = write_date(day, form, language)
            month = write_date(day, "d MMMM", language).split(" ", 1)[1]
            number = next(i for i, c in enumerate(text) if c.isdigit())
            parts = {
                "year": (text.index(str(day.year)), 4),
                "month": (text.index(month, text.index(" ")), len(month)),
                "day": (number, len(str(day.day))),
            }
            sources.append(text)
            targets.append(day.isoformat())
            # The first piece of a source is a space as well.
            spans.append({k: range(i + 1, i + 1 + n) for k, (i, n) in parts.items()})
    shares = {part: [] for part in ROWS}
    for record, places in zip(model.align(sources, targets), spans, strict=True):
        for part, rows in ROWS.items():
            peaks = record.alignment[rows].argmax(axis=-1)
            shares[part] += [peak in places[part] for peak in peaks]
    return {part: np.mean(hits) for part, hits in shares.items()}


def check_pointing(model):
    found = pointing(model, date_pairs("de", split="test").targets[:40])
    assert all(found[part] >= least for part, least in POINTS.items()), found


@pytest.mark.long
@proved_under("jax")
def test_unseen_dates_come_out_right(tmp_path):
    argv = ["--scale", "tiny", "--output", str(tmp_path)]
    assert load_recipe("dates").RECIPE.main(argv) == 0
    results = json.loads((tmp_path / "results.json").read_text())
    assert results["dates"]["exact"] > 0.99
    check_pointing(zoo.load(tmp_path / "preset" / "dates"))


@pytest.mark.once
def test_the_bundled_alignments_show_year_month_and_day():
    check_pointing(zoo.load("dates"))


@pytest.mark.once
def test_a_few_steps_lower_the_loss_and_leave_a_preset(tmp_path, monkeypatch):
    """With its card: title, terms and score."""

    def few(name, source, target, split, **_):
        pairs = date_pairs(source, target, split)
        sides = [
            side[: 300 if split == "train" else 2]
            for side in (pairs.sources, pairs.targets)
        ]
        return zoo.data.Pairs(name, split, source, target, *sides)

    monkeypatch.setattr(zoo.data, "load", few)
    argv = ["--epochs", "2", "--output", str(tmp_path), "--set", "buckets=1"]
    assert load_recipe("dates").RECIPE.main(argv) == 0
    first, second = np.genfromtxt(tmp_path / "log.csv", delimiter=",", names=True)
    assert second["loss"] < first["loss"]
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)  # as of one without a card
        model = zoo.load(tmp_path / "preset" / "dates")
    tokens = model.translate("3. Mai", return_details=True).source_tokens
    assert tokens == ["▁", "3", ".", "▁", "M", "a", "i"]
    card = zoo.presets.card.read_card(tmp_path / "preset" / "dates")
    assert card.license == "apache-2.0" and card.languages == ["mul", "zxx"]
    [score] = card.scores
    assert score["metric"] == "exact"
    assert score["command"].endswith("--data dates --split test")
