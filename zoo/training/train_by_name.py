"""Training by a recipe from Python, and the recipes by name."""

import itertools
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from zoo.checks import integer
from zoo.files import StrPath, bundled_folder
from zoo.training.recipe import load_recipe, run_with
from zoo.training.recipes.arguments import Arguments

# Files of recipes/ that are not recipes of their own.
_SHARED = ("bulk_translate", "language_models", "luong")


def recipes() -> dict[str, Path]:
    """Returns the paths of zoo's recipes by name."""
    folder = bundled_folder("_recipes", "recipes")
    paths = [path for path in folder.glob("[!_]*.py") if path.stem not in _SHARED]
    return {path.stem: path for path in sorted(paths)}


def train(
    recipe: str,
    data: Any,
    valid: Any = None,
    test: Any = None,
    *,
    size: str = "small",
    output: StrPath | None = None,
    start: StrPath | None = None,
    columns: str | int | Sequence[str | int] | None = None,
    languages: str | Sequence[str] | None = None,
    seed: int = 1,
    choices: Mapping[str, Any] | None = None,
) -> Any:
    """Trains a model on your own text, as `zoo train RECIPE --train …` does.

    Args:
        recipe: name of a recipe, such as "luong_local".
        data: what to train on: `(sources, targets)`, a list of pairs, a table with
            named columns, or paths of files; see `zoo.data.own.read`.
        valid: likewise, what chooses the best epoch. Default: a part of `data`, held
            out.
        test: likewise, what is scored at the end; None for nothing.
        size: "tiny", "small", "medium" or "paper"; vocabulary, epochs and batches
            follow from the amount of text, too.
        output: folder of the run, which a second call with the same arguments resumes.
            Default: a new one, `runs/RECIPE-1` or the next number.
        start: preset to fine-tune: its weights and its tokenizer.
        columns: names of a table's columns, or numbers if it has no header.
        languages: codes of source and target, for the card.
        seed: makes the training repeatable; 0 or more.
        choices: hyper-parameters to change, by the keys of `--set`, such as
            `{"epochs": 3, "model.hidden_dim": 128}`.

    Returns:
        The trained task, as `zoo.load` gives it.

    Raises:
        ValueError: for an unknown recipe, size or choice, or text that can't be used.
        OSError: if a file can't be read or written.
        FloatingPointError: if the loss is not finite.

    Example:
        ```python
        pairs = [("a dog", "ein Hund"), ("a cat", "eine Katze"), ...]
        translator = zoo.train("luong_local", pairs, size="tiny")
        translator.translate("a dog")
        ```
    """
    from zoo.presets.loading import load

    if recipe not in (paths := recipes()):
        raise ValueError(
            f"unknown recipe; allowed are [{', '.join(paths)}]. Received: {recipe!r}"
        )
    arguments = Arguments(
        _new_folder(recipe) if output is None else Path(output),
        scale=size,
        seed=integer("seed", seed, 0),
        columns=_as_list(columns),
        languages=_as_list(languages),
        start=None if start is None else os.fspath(start),
        changes=[
            f"{key}={value if isinstance(value, str) else json.dumps(value)}"
            for key, value in (choices or {}).items()
        ],
    )
    found = load_recipe(paths[recipe]).RECIPE
    run_with(found, arguments, f"zoo.train({recipe!r}, …)", (data, valid, test))
    return load(arguments.output)


def _new_folder(recipe):
    folders = (Path("runs", f"{recipe}-{number}") for number in itertools.count(1))
    return next(folder for folder in folders if not folder.exists())


def _as_list(values):
    """One or several values as a list; None for none."""
    return [values] if isinstance(values, (str, int)) else values and list(values)
