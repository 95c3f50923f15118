"""The metadata of a preset's card that its run knows."""

import dataclasses
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


@dataclasses.dataclass(frozen=True)
class TestSet:
    """A test set, as a card describes it.

    Attributes:
        data, split: its corpus and its part of that.
        command: what scores the preset on it.
    """

    data: str
    split: str
    command: str

    def score(self, metric: str, value: float, signature: str) -> dict[str, Any]:
        """Returns a score on it, as a card has it."""
        score = {"metric": metric, "value": round(value, 4), "signature": signature}
        return {**dataclasses.asdict(self), **score}


def named_test(run: Any, data: str, split: str, *options: str) -> TestSet:
    """Describes a test of a corpus that `zoo evaluate` knows, by further options."""
    words = ["zoo", "evaluate", run.name, "--data", data, "--split", split, *options]
    return TestSet(data, split, shlex.join(words))


def user_test(run: Any, split: str) -> TestSet:
    """Describes a test on a user's own text: its "valid" or "test"."""
    arguments = run.arguments
    files, train = getattr(arguments, split), arguments.train
    if not files and split == "test" and train is not None:  # its folder holds the test
        files = train[0]
    names = ", ".join(file_names([files] if files else train))
    if not files:  # held out, or from a Python program
        return TestSet(names, split, "none: the text is in no file of its own")
    output = run.output.name if run.output.is_absolute() else str(run.output)
    words = ["zoo", "evaluate", output, "--test", *file_names([files])]
    if arguments.columns:
        words += ["--columns", ",".join(map(str, arguments.columns))]
    return TestSet(names, split, shlex.join(words))


def file_names(groups: Sequence[Sequence[str]] | None) -> list[str]:
    """Returns the names, without folders, of the files that a run was given.

    None is text from a Python program.
    """
    if groups is None:
        return ["text given in Python"]
    return [Path(file).name for files in groups for file in files]


def of_corpora(*corpora: Any) -> dict[str, Any]:
    """Returns a card's data with their terms, and its license, the strictest of theirs.

    Args:
        *corpora: each a `zoo.data.Corpus`.
    """
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
    """Returns the command that trained the weights, or the commands in their order."""
    plans = run.loop.checkpoint.plans
    epochs_given = any(text.startswith("epochs=") for text in run.changes)
    words = [] if run.start is not None else ["--scale", run.scale_name]
    words += ["--seed", str(run.seed)]
    options = ["--limit", str(run.limit)] if run.limit else []
    if run.precision != "float32":
        options += ["--precision", run.precision]
    for text in run.changes:
        options += [] if text.startswith("epochs=") else ["--set", text]
    commands = []
    for number, (_, epochs, backend, _) in enumerate(plans):
        command = f"KERAS_BACKEND={backend} {_program(run)} {shlex.join(words)}"
        if epochs_given or len(plans) > 1:
            command += f" --epochs {epochs}"
        command = " ".join(filter(None, (command, shlex.join(options))))
        if number + 1 < len(plans):
            command += f" (epochs done: {plans[number + 1][0]})"
        commands.append(command)
    return ", then ".join(commands)


def _program(run):
    """The beginning of a run's command; of files, the names without folders."""
    recipe = run.recipe.name
    if run.text is None:
        return f"python recipes/{recipe}.py"
    arguments = run.arguments
    if arguments.train is None:
        return f"zoo.train({recipe!r}, …), as"
    short = {
        "train": [file_names([files]) for files in arguments.train],
        "valid": arguments.valid and file_names([arguments.valid]),
        "test": arguments.test and file_names([arguments.test]),
        "start": arguments.start and Path(arguments.start).name,
    }
    values = {**{name: getattr(arguments, name) for name in TEXT}, **short}
    words = [word for item in values.items() for word in words_of(*item)]
    return shlex.join(["zoo", "train", recipe, *words])
