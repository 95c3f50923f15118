"""Preset cards: what a preset is, where it comes from and how good it is.

A preset folder holds KerasHub's own files and one `card.json`, which is this
module's `Card`: the paper, the data and its terms, the command that made the
weights, the scores, and the size and sha256 of every file that loading reads.
`zoo.presets.pages` writes the folder's README.md and the project's table of presets
from it.
"""

import dataclasses
import hashlib
import json
import os
import re
from pathlib import Path, PurePosixPath

from zoo.files import sha256

CARD_FILE = "card.json"
# What KerasHub's `save_to_preset` writes.
CONFIG_FILE, TASK_FILE = "config.json", "task.json"
WEIGHTS_FILES = ("model.weights.h5", "task.weights.h5")
# What a model can do with text: the names of its methods, and those that cards have.
TASKS = ("translate", "tag", "classify", "generate")
MOST_FILES = 1000  # of a preset
# A name becomes a folder's when the preset is exported.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # all but tab and newline

# Empty in the cards of earlier versions, and where nothing is known.
MAY_BE_MISSING = ("equations", "configuration", "examples", "speed")


class PresetError(ValueError):
    """A preset that is damaged, incomplete, altered or not one of zoo's."""


@dataclasses.dataclass(frozen=True)
class Card:
    """The description of one preset: the content of its `card.json`.

    Attributes:
        name: str. The name that `zoo.load` takes.
        title: str. One line for a heading.
        description: str. What the model is, in a paragraph.
        equations: str. Which of the paper's equations it follows, and which variant.
        intended_use: str. What it is good for.
        weaknesses: list of str. What it is known to do badly.
        license: str. The licence of the weights, as model hubs spell it.
        paper: dict with "title", "authors" (str), "year" (int) and "url".
        architecture: str. The class of the task in `zoo.models`.
        task: str. The method to call: "translate".
        languages: list of str. Language codes, source first.
        data: list of dicts with "name" and "terms": the training corpora.
        sizes: dict with "parameters" and "vocabulary" (entries), both int.
        recipe: str. The command that makes the preset.
        configuration: dict. The hyper-parameters of that run, as its config.json has
            them.
        seed: int. The random seed of that run.
        commit: str. The version of the code that ran.
        date: str. The day of the run, as YYYY-MM-DD.
        machine: str. What it ran on.
        training_time: str. How long it took.
        scores: list of dicts with "data", "split", "metric", "value" (float),
            "signature" (of sacreBLEU) and "command" (that prints the score).
        examples: list of dicts with "source", "reference" and "output": bad output.
        speed: dict with "value" (float), "unit" (as "sentences/s"), "machine" and
            "command" (that measures it); empty where it isn't measured.
        files: dict from a path inside the folder to a dict with "bytes" and
            "sha256".
    """

    name: str
    title: str
    description: str
    equations: str
    intended_use: str
    weaknesses: list
    license: str
    paper: dict
    architecture: str
    task: str
    languages: list
    data: list
    sizes: dict
    recipe: str
    configuration: dict
    seed: int
    commit: str
    date: str
    machine: str
    training_time: str
    scores: list
    examples: list
    speed: dict
    files: dict

    @property
    def bytes(self):
        """int. Size of the preset's files together."""
        return sum(entry["bytes"] for entry in self.files.values())

    def to_dict(self):
        """Returns the card as the plain dict that `card.json` holds."""
        return dataclasses.asdict(self)


# The keys that a record of a field must have.
_KEYS = {
    "paper": ("title", "authors", "year", "url"),
    "data": ("name", "terms"),
    "sizes": ("parameters", "vocabulary"),
    "scores": ("data", "split", "metric", "value", "signature", "command"),
    "examples": ("source", "reference", "output"),
    "speed": ("value", "unit", "machine", "command"),
}
# Field -> its type, and the keys of its records.
FIELDS = {
    field.name: (field.type, _KEYS.get(field.name, ()))
    for field in dataclasses.fields(Card)
}


def make_card(facts, where):
    """Builds a card from a plain dict and checks that it is complete.

    Args:
        facts: dict. One entry per attribute of `Card`; what a newer version of
            zoo may have added is left aside.
        where: str. Named in errors: the file that the facts come from.

    Returns:
        A `Card`.

    Raises:
        PresetError: if a field is missing, has the wrong type or holds a control
            character, or if the name could lead out of a folder.
    """
    if not isinstance(facts, dict):
        raise PresetError(
            f"{where} should hold a JSON object, received {type(facts).__name__}"
        )
    values = {}
    for field, (kind, keys) in FIELDS.items():
        value = facts.get(field, kind() if field in MAY_BE_MISSING else None)
        if not isinstance(value, kind) or isinstance(value, bool):
            raise PresetError(
                f"{where}: {field!r} should be a {kind.__name__}, received {value!r}"
            )
        if value == kind() and field in MAY_BE_MISSING:
            keys = ()
        for record in value if kind is list else [value]:
            if keys and not isinstance(record, dict):
                raise PresetError(
                    f"{where}: {field!r} should hold objects, received {record!r}"
                )
            missing = [key for key in keys if key not in record]
            if missing:
                raise PresetError(
                    f"{where}: {field!r} needs {', '.join(keys)}; "
                    f"missing {', '.join(missing)} in {record!r}"
                )
        _check_text(value, field, where)
        values[field] = value
    if not _NAME.fullmatch(values["name"]):
        raise PresetError(
            f"{where}: 'name' should be letters, digits, '.', '_' and '-' alone and "
            f"begin with a letter or digit, received {values['name']!r}"
        )
    for path, entry in values["files"].items():
        _check_file_entry(path, entry, where)
    return Card(**values)


def _check_text(value, field, where):
    """Refuses control characters, which a terminal would obey."""
    if isinstance(value, str) and (found := _CONTROL.search(value)):
        raise PresetError(
            f"{where}: {field!r} should hold no control characters, received "
            f"{found[0]!r}"
        )
    parts = [*value, *value.values()] if isinstance(value, dict) else value
    for part in parts if isinstance(parts, list) else ():
        _check_text(part, field, where)


def _check_file_entry(path, entry, where):
    parts = PurePosixPath(path).parts
    # Looked at as text and not resolved: a download cache keeps links.
    if (
        not parts
        or path.startswith("/")
        or ".." in parts
        or "\\" in path
        or ":" in path
    ):
        raise PresetError(
            f"{where}: files must stay inside the preset's folder, received {path!r}"
        )
    if not (
        isinstance(entry, dict)
        and isinstance(entry.get("bytes"), int)
        and isinstance(entry.get("sha256"), str)
    ):
        raise PresetError(
            f'{where}: {path!r} should have "bytes" (int) and "sha256" (str), '
            f"received {entry!r}"
        )


def read_card(folder):
    """Reads the card of a preset folder; imports nothing heavy.

    Args:
        folder: path of the preset folder.

    Returns:
        A `Card`.

    Raises:
        PresetError: if `card.json` is not there, not JSON or not complete.
    """
    path = Path(folder) / CARD_FILE
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise PresetError(f"no {CARD_FILE} in the preset folder {folder}") from None
    except (OSError, ValueError, RecursionError) as error:  # not JSON, or not UTF-8
        raise PresetError(f"{path} cannot be read as JSON: {error}") from None
    return make_card(facts, str(path))


def loaded_files(folder):
    """Lists what loading a preset may read, which is what a card has to cover.

    Args:
        folder: path of the preset folder.

    Returns:
        Sorted list of paths relative to `folder`, with forward slashes: the
        configurations, the weights and the assets, those in linked folders too.
        Neither the card and README.md nor a SavedModel exported beside them.

    Raises:
        PresetError: if links lead to one folder of assets twice, or to more than
            `MOST_FILES` files.
    """
    folder = Path(folder)
    found, seen = [*folder.glob("*.json"), *folder.glob("*.h5")], set()
    # Not by glob, which leaves linked folders out.
    for place, _, files in os.walk(folder / "assets", followlinks=True):
        found += [Path(place, name) for name in files]
        real = os.path.realpath(place)
        if real in seen or len(found) > MOST_FILES:
            reason = "comes twice" if real in seen else f"has over {MOST_FILES} files"
            raise PresetError(f"{place} in a preset {reason}: a link leads astray")
        seen.add(real)
    names = {path.relative_to(folder).as_posix() for path in found if path.is_file()}
    return sorted(names - {CARD_FILE})


def digest(folder):
    """Returns one sha256 of all that loading a preset reads."""
    files = json.dumps(list_files(folder), sort_keys=True)
    return hashlib.sha256(files.encode()).hexdigest()


def list_files(folder):
    """Returns the "files" entry of a card for what is in `folder` now."""
    folder = Path(folder)
    return {
        name: {"bytes": (folder / name).stat().st_size, "sha256": sha256(folder / name)}
        for name in loaded_files(folder)
    }


def format_bytes(count):
    """Returns a size in bytes as text: "512 B", "7.7 MB".

    >>> format_bytes(7_712_000)
    '7.7 MB'
    """
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} B"


def format_scores(card):
    """Returns a card's scores on one line: "BLEU 38.1, chrF 63.0 (multi30k ...)"."""
    groups = {}
    for score in card.scores:
        where = f"{score['data']} {score['split']}"
        groups.setdefault(where, []).append(f"{score['metric']} {score['value']:.1f}")
    return "; ".join(f"{', '.join(found)} ({where})" for where, found in groups.items())


def format_speed(card):
    """Returns a card's speed as text: "52 sentences/s", "-" where it has none."""
    if not card.speed:
        return "-"
    digits = 0 if card.speed["value"] >= 10 else 1
    return f"{card.speed['value']:.{digits}f} {card.speed['unit']}"


def short_machine(card):
    """Returns the machine of a card's run without its software: "2 CPU cores"."""
    return card.machine.split(", Keras")[0].replace(" (x86_64)", "")


def short_paper(card):
    """Returns a paper as "Luong et al. 2015", or with both authors if it has two."""
    authors = [name for name in card.paper["authors"].split(",") if name.strip()]
    authors = [name.split()[-1] for name in authors]
    shown = " & ".join(authors) if len(authors) < 3 else f"{authors[0]} et al."
    return f"{shown} {card.paper['year']}"


def format_task(card):
    """Returns what a preset does: "translate en-de"."""
    return f"{card.task} {'-'.join(card.languages)}"


SUMMARY = ("task", "parameters", "size", "scores", "training", "CPU speed")


def format_summary(card, parameters):
    """Returns a card's values for the columns of `SUMMARY`, given its parameters."""
    return (
        format_task(card),
        parameters,
        format_bytes(card.bytes),
        format_scores(card),
        f"{card.training_time}, {short_machine(card)}",
        format_speed(card),
    )
