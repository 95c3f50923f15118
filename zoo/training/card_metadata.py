"""The metadata of a preset's card that its run knows."""

import dataclasses
import datetime
import shlex
from pathlib import Path
from typing import Any

from zoo.presets.card import UNSTATED
from zoo.strings import counted, duration
from zoo.training.config import gpus, machine
from zoo.training.recipes.arguments import TEXT, words_of

IN_PYTHON = "text given in Python"  # in the place of files' names
# Licences as hubs spell them, the strictest last.
LICENCES = ("apache-2.0", "cc-by-4.0", "cc-by-sa-4.0", "cc-by-nc-4.0")


def of_corpora(*corpora: Any) -> dict[str, Any]:
    """Returns a card's data with their terms, and the strictest of their licences."""
    return {
        "data": [{"name": corpus.name, "terms": corpus.terms} for corpus in corpora],
        "license": max((c.weights for c in corpora), key=LICENCES.index),
    }


def origin(run: Any) -> dict[str, Any]:
    """Returns where a preset comes from: its name, command, seed, machine and so on."""
    import keras

    saved = run.loop.checkpoint
    epochs, best = counted(saved.epochs, "epoch"), saved.best_epoch + 1
    weights = run.weights or f"weights of epoch {best}"
    return {
        "name": run.name,
        "recipe": training_command(run),
        "seed": run.seed,
        "commit": ", ".join(dict.fromkeys(commit for *_, commit in saved.plans)),
        "date": datetime.date.today().isoformat(),
        "machine": f"{machine()}, Keras {keras.__version__}",
        "training_time": f"{duration(saved.seconds)}, {epochs}, {weights}",
    }


def training_command(run: Any) -> str:
    """Returns the command that trained the weights; files stand without folders."""
    arguments, plans = run.arguments, run.loop.checkpoint.plans
    if run.text is not None and not arguments.train:
        arguments = dataclasses.replace(arguments, train=[[IN_PYTHON]])
    scale = ["scale"] * (run.start is None or run.text is None)
    precision = ["precision"] * (arguments.precision != "float32" or bool(gpus()))
    words = words_of(arguments, *TEXT, "start", *scale, "seed", *precision, "changes")
    backend = plans[-1][1]
    command = f"KERAS_BACKEND={backend} zoo train {run.recipe.name} {shlex.join(words)}"
    # It may have begun with other epochs, another backend or other code.
    return command + f" (in {len(plans)} parts)" * (len(plans) > 1)


def of_user_text(run: Any) -> dict[str, Any]:
    """Returns what a card says of a model that was trained on a user's own text."""
    arguments = run.arguments
    languages, names = arguments.languages or ["und"], IN_PYTHON
    if run.recipe.user_text.kind == "pairs":
        languages = run.text.languages
    if arguments.train:
        names = ", ".join(Path(x).name for files in arguments.train for x in files)
    return {
        "languages": list(languages),
        "data": [{"name": names, "terms": UNSTATED}],
        "license": UNSTATED,
        "intended_use": f"Text like that of its training: {names}.",
    }


def of_start(start: Any, name: str, card: dict[str, Any]) -> dict[str, Any]:
    """Returns the fields of a fine-tuned model's card that its start changes.

    They are the description and the data of both, and the stricter of both licences.

    Args:
        start: the `Card` of the preset to start from, None if it has none.
        name: that of the preset.
        card: what the run says.
    """
    if start is None:
        data = [*card["data"], {"name": name, "terms": UNSTATED}]
        return {"data": data, "license": UNSTATED}
    licence, own = start.license, card["license"]
    if own != UNSTATED:
        both = {licence, own}
        licence = max(both, key=LICENCES.index) if both <= {*LICENCES} else UNSTATED
    further = [
        part
        for part in card["data"]
        if part["terms"] == UNSTATED or part not in start.data
    ]
    return {
        "title": f"{start.title.removesuffix(', fine-tuned')}, fine-tuned",
        "description": f"{start.description} Fine-tuned from {start.name}.",
        "equations": start.equations,
        "paper": start.paper,
        "data": start.data + further,
        "license": licence,
    }
