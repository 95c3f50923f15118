"""The metadata of a preset's card that its run knows."""

import datetime
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from zoo.presets.card import UNSTATED
from zoo.strings import counted, duration
from zoo.training.config import machine
from zoo.training.recipes.arguments import TEXT, words_of

# Licences as hubs spell them, the strictest last.
LICENCES = ("apache-2.0", "cc-by-4.0", "cc-by-sa-4.0", "cc-by-nc-4.0")


def score_command(run: Any, data: str, split: str, *options: str) -> tuple[str, str]:
    """Returns a test set's name, and the command that scores the preset on it."""
    if run.text is None:
        words = ["zoo", "evaluate", run.name, "--data", data, "--split", split]
        return data, shlex.join([*words, *options])
    arguments = run.arguments
    files, train = getattr(arguments, split), arguments.train
    if not files and split == "test" and train:  # its folder holds the test
        files = train[0]
    names = ", ".join(file_names([files] if files else train))
    if not files:  # held out, or from a Python program
        return names, "none: the text is in no file of its own"
    words = ["zoo", "evaluate", run.output.name, "--test", *file_names([files])]
    return names, shlex.join([*words, *words_of("columns", arguments.columns)])


def file_names(groups: Sequence[Sequence[str]] | None) -> list[str]:
    """Returns the names, without folders, of a run's files; None is Python's text."""
    if groups is None:
        return ["text given in Python"]
    return [Path(file).name for files in groups for file in files]


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
    return {
        "name": run.name,
        "recipe": training_command(run),
        "seed": run.seed,
        "commit": ", ".join(dict.fromkeys(commit for *_, commit in saved.plans)),
        "date": datetime.date.today().isoformat(),
        "machine": f"{machine()}, Keras {keras.__version__}",
        "training_time": f"{duration(saved.seconds)}, {_epochs(run)}",
    }


def _epochs(run):
    """The number of epochs, and whose weights were taken, in words."""
    saved, planned = run.loop.checkpoint, run.loop.epochs
    done, best = saved.epochs, saved.best_epoch + 1
    text = f"{done} of {planned} epochs" if done < planned else counted(done, "epoch")
    if run.weights:
        return f"{text}, {run.weights}"
    return text if best == done else f"{text}, weights of epoch {best}"


def of_user_text(run: Any, description: str) -> dict[str, Any]:
    """Returns what a card says of a model that was trained on a user's own text.

    A model that was fine-tuned has the licence, the data and the description of the
    preset that it started from, too.
    """
    names, start = ", ".join(file_names(run.arguments.train)), run.start_card
    if run.scale_name == "paper":
        description = f"{run.recipe.card['title']}, with the paper's layers."
    card = {
        "description": description,
        "data": [{"name": names, "terms": UNSTATED}],
        "license": UNSTATED,
        "intended_use": f"Text like that of its training: {names}.",
        "weaknesses": ["Anything unlike the text of its training."],
    }
    if start is None:
        return card
    return {
        **card,
        "title": f"{start.title}, fine-tuned",
        "description": f"{start.description} Fine-tuned from {start.name}.",
        "equations": start.equations,
        "paper": start.paper,
        "data": [*start.data, *card["data"]],
        "license": start.license,
    }


def training_command(run: Any) -> str:
    """Returns the command that trained the weights, or the commands in their order.

    Files stand there by their names, without folders.
    """
    arguments, plans = run.arguments, run.loop.checkpoint.plans
    program, values = f"python recipes/{run.recipe.name}.py", {}
    if run.text is not None:
        given_in = "" if arguments.train else f"zoo.train({run.recipe.name!r}, …), as "
        program = f"{given_in}zoo train {run.recipe.name}"
        values = {name: getattr(arguments, name) for name in TEXT}
        values["train"] = [file_names([files]) for files in arguments.train or ()]
        for name in ("valid", "test"):
            values[name] = values[name] and file_names([values[name]])
        values["start"] = arguments.start and Path(arguments.start).name
    if run.start is None:
        values["scale"] = run.scale_name
    values |= {"seed": run.seed, "limit": run.limit}
    values["precision"] = None if run.precision == "float32" else run.precision
    words = [word for item in values.items() for word in words_of(*item)]
    for text in run.changes:
        words += [] if text.startswith("epochs=") else ["--set", text]
    given = len(plans) > 1 or any(text.startswith("epochs=") for text in run.changes)
    commands = []
    for (_, epochs, backend, _), following in zip(
        plans, [*plans[1:], None], strict=True
    ):
        more = ["--epochs", str(epochs)] if given else []
        command = f"KERAS_BACKEND={backend} {program} {shlex.join([*words, *more])}"
        done = f" (epochs done: {following[0]})" if following else ""
        commands.append(command + done)
    return ", then ".join(commands)
