"""The metadata of a preset's card that its run knows."""

import datetime
import shlex
from pathlib import Path
from typing import Any

from zoo.presets.card import UNSTATED
from zoo.run.config import machine
from zoo.run.own_text import file_names


def origin(run: Any) -> dict[str, Any]:
    """Returns where a preset comes from: its name, command, seed, machine and so on.

    Args:
        run: a `Run` that has trained.
    """
    import keras

    saved = run.loop.checkpoint
    minutes = saved.seconds / 60
    return {
        "name": run.name,
        "recipe": training_command(run),
        "seed": run.seed,
        "commit": ", ".join(dict.fromkeys(commit for *_, commit in saved.plans)),
        "date": datetime.date.today().isoformat(),
        "machine": f"{machine()}, Keras {keras.__version__}",
        "training_time": f"{minutes:.0f} minutes, {_epochs(run)}",
    }


def own_text_card(run: Any, description: str | None = None) -> dict[str, Any]:
    """Returns what a card says of a model that was trained on a user's own text.

    Args:
        run: its `Run`.
        description: of the model; that of the recipe's card by default.
    """
    description = description or run.recipe.card["description"]
    if run.arguments.start:
        start = Path(run.arguments.start).name
        description = f"{description} Trained from the weights of {start}."
    names = ", ".join(file_names(run.arguments.train))
    return {
        "description": description,
        "data": [{"name": names, "terms": UNSTATED}],
        "license": UNSTATED,
        "intended_use": f"Text like that of its training: {names}.",
        "weaknesses": ["Anything unlike the text of its training."],
    }


def own_test(run: Any, split: str) -> tuple[str, str, str]:
    """Describes a test on a user's own text.

    Args:
        run: the `Run`.
        split: "valid" or "test".

    Returns:
        The names of the files, the split, and the command that scores the preset.
    """
    files = getattr(run.arguments, split)
    if not files:  # held out, or from a Python program
        return file_names(run.arguments.train)[0], split, "none: no file of its own"
    names = file_names([files])
    command = shlex.join(["zoo", "evaluate", run.name, "--test", *names])
    return ", ".join(names), split, command


def _epochs(run):
    """The number of epochs, and whose weights were taken, in words."""
    saved, planned = run.loop.checkpoint, run.loop.epochs
    done, best = saved.epochs, saved.best_epoch + 1
    text = f"{done} of {planned} epochs" if done < planned else f"{done} epochs"
    if run.weights:
        return f"{text}, {run.weights}"
    return text if best == done else f"{text}, weights of epoch {best}"


def training_command(run: Any) -> str:
    """Returns the command that trained the weights, or the commands in their order."""
    plans = run.loop.checkpoint.plans
    changed = any(text.startswith("epochs=") for text in run.changes)
    commands = []
    for number, (_, epochs, backend, _) in enumerate(plans):
        command = (
            f"KERAS_BACKEND={backend} {_program(run)} "
            f"--scale {run.scale_name} --seed {run.seed}"
        )
        if changed or len(plans) > 1:
            command += f" --epochs {epochs}"
        if run.limit:
            command += f" --limit {run.limit}"
        if run.precision != "float32":
            command += f" --precision {run.precision}"
        for text in run.changes:
            if not text.startswith("epochs="):
                command += f" --set {shlex.quote(text)}"
        if number + 1 < len(plans):
            command += f" (epochs done: {plans[number + 1][0]})"
        commands.append(command)
    return ", then ".join(commands)


def _program(run):
    """The beginning of a run's command; of files, the names without folders."""
    if run.text is None:
        return f"python recipes/{run.recipe.name}.py"
    words = ["zoo", "train", run.recipe.name]
    if run.arguments.start:
        words += ["--from", Path(run.arguments.start).name]
    for files in run.arguments.train or [None]:
        words += ["--train", *file_names([files] if files else None)]
    return shlex.join(words)
