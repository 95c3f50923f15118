"""Preset cards: what a preset is, where it comes from and how good it is.

A preset folder holds KerasHub's files and one `card.json`, a `Card`: the paper, the
data and its terms, the command that made the weights, the scores, and the size and
sha256 of every file that loading reads. `zoo.presets.pages` makes the folder's
README.md and the project's table of presets from it.
"""

import dataclasses
import hashlib
import json
import re
from pathlib import Path, PurePosixPath
from typing import Any

from zoo.files import StrPath, sha256

CARD_FILE = "card.json"
# Written by KerasHub's `save_to_preset`.
CONFIG_FILE, TASK_FILE = "config.json", "task.json"
WEIGHTS_FILES = ("model.weights.h5", "task.weights.h5")
UNSTATED = "unknown"  # what only the owner of the text can say, and hasn't yet
# A name becomes that of a folder on export.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
# The keys that a record of a field must have.
_KEYS = {
    "paper": ("title", "authors", "year", "url"),
    "data": ("name", "terms"),
    "sizes": ("parameters", "vocabulary"),
    "scores": ("data", "split", "metric", "value", "signature", "command"),
    "examples": ("source", "reference", "output"),
    "speed": ("value", "unit", "machine", "command"),
}


class PresetError(ValueError):
    """A preset is damaged, incomplete, altered or not one of zoo's."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Card:
    """The description of a preset: the content of its `card.json`.

    Equations, configuration, examples and speed are empty if they are unknown.

    Attributes:
        name: the name that `zoo.load` takes.
        title: one line for a heading.
        description: what the model is, in a paragraph.
        equations: which of the paper's equations it follows, and which variant.
        intended_use: what it is good for.
        weaknesses: what it is known to do badly (list of str).
        license: the licence of the weights, as model hubs spell it.
        paper: "title", "authors" (str), "year" (int) and "url".
        architecture: the class of the task in `zoo.models`.
        task: the method to call, such as "translate".
        languages: language codes, source first.
        data: the training corpora, dicts with "name" and "terms".
        sizes: "parameters" and "vocabulary" (entries), both int.
        recipe: the command that makes the preset.
        configuration: the hyper-parameters of its last run, as in config.json.
        seed: the random seed of that run.
        commit: the version of the code that ran.
        date: the day of the run, as YYYY-MM-DD.
        machine: what it ran on.
        training_time: how long it took.
        scores: dicts with "data", "split", "metric", "value" (float), "signature" (of
            sacreBLEU) and "command" (which prints the score).
        examples: bad output, dicts with "source", "reference" and "output".
        speed: "value" (float), "unit" (as "sentences/s"), "machine" and "command"
            (which measures it); empty if not measured.
        files: path inside the folder -> dict with "bytes" and "sha256".
    """

    name: str
    title: str
    description: str
    equations: str = ""
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
    configuration: dict = dataclasses.field(default_factory=dict)
    seed: int
    commit: str
    date: str
    machine: str
    training_time: str
    scores: list
    examples: list = dataclasses.field(default_factory=list)
    speed: dict = dataclasses.field(default_factory=dict)
    files: dict

    @property
    def bytes(self) -> int:
        """Total size of the preset's files."""
        return sum(entry["bytes"] for entry in self.files.values())

    def to_dict(self) -> dict[str, Any]:
        """Returns the card as the dict in `card.json`."""
        return dataclasses.asdict(self)


def unstated(card: dict[str, Any]) -> list[str]:
    """Returns what a card, the content of a `card.json`, doesn't state, in words.

    Example:
        >>> unstated({"license": "cc0-1.0", "data": [{"name": "a", "terms": UNSTATED}]})
        ['the terms of the data']
    """
    missing = ["the licence of the weights"] * (card["license"] == UNSTATED)
    terms = [corpus["terms"] for corpus in card["data"]]
    return missing + ["the terms of the data"] * (UNSTATED in terms)


def make_card(metadata: Any, where: str) -> Card:
    """Builds a card from a dict and checks that it is complete.

    It ignores entries that are no attribute of `Card`, which a newer version of zoo may
    have added. `where` is the source of the metadata, for errors: a PresetError if a
    field is missing or of another type, or if a name could lead out of a folder.
    """
    fields = {field.name: field.type for field in dataclasses.fields(Card)}
    try:
        card = Card(**{name: metadata[name] for name in fields.keys() & metadata})
    except TypeError as error:
        raise PresetError(f"{where} is not a complete card: {error}") from None
    for name, kind in fields.items():
        if problem := _problem(name, kind, getattr(card, name)):
            raise PresetError(f"{where}: {name!r} should {problem}")
    for path, entry in card.files.items():
        _check_file(path, entry, where)
    return card


def _problem(name, kind, value):
    """Returns what a field's value should do, and does not; None if it is right."""
    if not isinstance(value, kind):
        return f"be a {kind.__name__}, received {value!r}"
    if name == "name" and not _NAME.fullmatch(value):
        return f"be letters, digits, '.', '_' and '-', not first, received {value!r}"
    keys = _KEYS.get(name)
    if not keys or (name == "speed" and not value):
        return None
    for record in value if kind is list else [value]:
        if not (isinstance(record, dict) and {*keys} <= {*record}):
            return f"have {', '.join(keys)}, received {record!r}"
    return None


def _check_file(path, entry, where):
    # As text and not resolved, since a download cache keeps links.
    parts = {*PurePosixPath(path).parts}
    if not parts or {"/", "//", ".."} & parts or "\\" in path or ":" in path:
        raise PresetError(
            f"{where}: files must stay inside the preset's folder, received {path!r}"
        )
    match entry:
        case {"bytes": int(), "sha256": str()}:
            return
    raise PresetError(
        f'{where}: {path!r} should have "bytes" (int) and "sha256" (str), '
        f"received {entry!r}"
    )


def read_card(folder: StrPath) -> Card:
    """Reads the card of a preset folder.

    Raises:
        PresetError: if `card.json` is missing, not JSON or not complete.
    """
    path = Path(folder) / CARD_FILE
    try:
        metadata = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise PresetError(f"no {CARD_FILE} in the preset folder {folder}") from None
    except (OSError, ValueError, RecursionError) as error:  # not JSON, or not UTF-8
        raise PresetError(f"{path} cannot be read as JSON: {error}") from None
    return make_card(metadata, str(path))


def card_of(folder: StrPath) -> Card | None:
    """Returns the card of a preset's folder, if it has one."""
    return read_card(folder) if Path(folder, CARD_FILE).is_file() else None


def loaded_files(folder: StrPath) -> list[str]:
    """Lists the files that loading a preset may read; a card has to cover them.

    They are configurations, weights and assets, but not the card, README.md or a
    SavedModel beside them: sorted paths inside `folder`, with forward slashes. A folder
    of assets that is a link is a PresetError.
    """
    folder = Path(folder)
    assets = [*(folder / "assets").rglob("*")]
    for path in assets:
        if path.is_symlink() and path.is_dir():
            raise PresetError(f"{path} in a preset should be a folder, received a link")
    paths = [*folder.glob("*.json"), *folder.glob("*.h5"), *assets]
    names = {path.relative_to(folder).as_posix() for path in paths if path.is_file()}
    return sorted(names - {CARD_FILE})


def digest(folder: StrPath) -> str:
    """Returns one sha256 of all that loading a preset reads."""
    files = json.dumps(list_files(folder), sort_keys=True)
    return hashlib.sha256(files.encode()).hexdigest()


def list_files(folder: StrPath) -> dict[str, dict[str, Any]]:
    """Returns a card's "files" entry for the current content of `folder`."""
    folder = Path(folder)
    return {
        name: {"bytes": (folder / name).stat().st_size, "sha256": sha256(folder / name)}
        for name in loaded_files(folder)
    }


def format_bytes(count: int) -> str:
    """Formats a size in bytes: "512 B", "7.7 MB".

    Example:
        >>> format_bytes(7_712_000)
        '7.7 MB'
    """
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} B"


def short_paper(card: Card) -> str:
    """Returns a card's paper as "Luong et al. 2015", or with both of two authors."""
    authors = [name for name in card.paper["authors"].split(",") if name.strip()]
    authors = [name.split()[-1] for name in authors]
    shown = " & ".join(authors) if len(authors) < 3 else f"{authors[0]} et al."
    return f"{shown} {card.paper['year']}"


def format_task(card: Card) -> str:
    """Formats a preset's task: "translate en-de"."""
    return f"{card.task} {'-'.join(card.languages)}"
