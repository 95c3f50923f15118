"""The metadata of a preset's card that its run knows."""

import datetime
import shlex
from pathlib import Path
from typing import Any

from zoo.presets.card import UNSTATED
from zoo.strings import counted, duration
from zoo.training.config import machine
from zoo.training.recipes.arguments import TEXT, words_of
from zoo.training.recipes.own_text import file_names

# Licences as hubs spell them, the strictest last.
LICENCES = ("apache-2.0", "cc-by-4.0", "cc-by-sa-4.0", "cc-by-nc-4.0")
SPELLED = (
    "Names, rare words and numbers of several digits are spelled out in pieces and "
    "often come out wrong."
)
UNLIKE = (
    "Long sentences, and anything unlike captions and everyday phrases: news, law, "
    "technical text."
)
UNLIKE_TATOEBA = (
    "Long sentences, and anything unlike everyday phrases: captions of pictures, news, "
    "law, technical text."
)
USE_OF_TATOEBA = (
    "Teaching, products and tests of serving, commercial ones too. It translates short "
    "everyday sentences; it is no general translator."
)


def of_tatoeba(card: dict[str, Any]) -> dict[str, Any]:
    """Returns a recipe's card as that of a preset of the scale `tatoeba`.

    Args:
        card: the card's metadata that no run can know.
    """
    told = [UNLIKE_TATOEBA if x == UNLIKE else x for x in card["weaknesses"]]
    return {**card, "intended_use": USE_OF_TATOEBA, "weaknesses": told}


def of_corpora(*corpora: Any) -> dict[str, Any]:
    """Returns what a card says of the corpora that a model was trained on.

    Args:
        *corpora: each a `zoo.data.Corpus`.

    Returns:
        "data", their terms, and "license", the strictest that they leave for weights.
    """
    return {
        "data": [{"name": corpus.name, "terms": corpus.terms} for corpus in corpora],
        "license": max((c.weights for c in corpora), key=LICENCES.index),
    }


def origin(run: Any) -> dict[str, Any]:
    """Returns where a preset comes from: its name, command, seed, machine and so on.

    Args:
        run: a `Run` that has trained.
    """
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


def own_text_card(run: Any, description: str | None = None) -> dict[str, Any]:
    """Returns what a card says of a model that was trained on a user's own text.

    A model that was fine-tuned has the licence, the data and the description of the
    preset that it started from, too.

    Args:
        run: its `Run`.
        description: of the model; that of the recipe's card by default.
    """
    names = ", ".join(file_names(run.arguments.train))
    card = {
        "description": description or run.recipe.card["description"],
        "data": [{"name": names, "terms": UNSTATED}],
        "license": UNSTATED,
        "intended_use": f"Text like that of its training: {names}.",
        "weaknesses": ["Anything unlike the text of its training."],
    }
    if run.scale_name == "paper":
        card["description"] = f"{run.recipe.card['title']}, with the paper's layers."
    if (start := run.start_card) is None:
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


def own_test(run: Any, split: str) -> tuple[str, str, str]:
    """Describes a test on a user's own text.

    Args:
        run: the `Run`.
        split: "valid" or "test".

    Returns:
        The names of the files, the split, and the command that scores the preset.
    """
    arguments = run.arguments
    files, train = getattr(arguments, split), arguments.train
    folder = not files and split == "test" and train is not None  # it holds the test
    if folder:
        files = train[0]
    names = ", ".join(file_names([files] if files else train))
    if not files:  # held out, or from a Python program
        return names, split, "none: the text is in no file of its own"
    output = run.output.name if run.output.is_absolute() else str(run.output)
    words = ["zoo", "evaluate", output, "--test", *file_names([files])]
    if arguments.columns:
        words += ["--columns", ",".join(map(str, arguments.columns))]
    return names, split, shlex.join(words)


def _epochs(run):
    """The number of epochs, and whose weights were taken, in words."""
    saved, planned = run.loop.checkpoint, run.loop.epochs
    done, best = saved.epochs, saved.best_epoch + 1
    text = f"{done} of {planned} epochs" if done < planned else counted(done, "epoch")
    if run.weights:
        return f"{text}, {run.weights}"
    return text if best == done else f"{text}, weights of epoch {best}"


def training_command(run: Any) -> str:
    """Returns the command that trained the weights, or the commands in their order."""
    plans = run.loop.checkpoint.plans
    changed = any(text.startswith("epochs=") for text in run.changes)
    scale = "" if run.start is not None else f" --scale {run.scale_name}"
    commands = []
    for number, (_, epochs, backend, _) in enumerate(plans):
        command = f"KERAS_BACKEND={backend} {_program(run)}{scale} --seed {run.seed}"
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
    recipe = run.recipe.name
    if run.text is None:
        return f"python recipes/{recipe}.py"
    arguments = run.arguments
    if arguments.train is None:
        return f"zoo.train({recipe!r}, …), as"
    words = ["zoo", "train", recipe]
    for name in TEXT:
        value = getattr(arguments, name)
        if name == "train":
            value = [file_names([files]) for files in value]
        elif name in ("valid", "test"):
            value = value and file_names([value])
        elif name == "start":
            value = value and Path(value).name
        words += words_of(name, value)
    return shlex.join(words)
