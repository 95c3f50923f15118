"""A user's own text: how a recipe is trained on it, and reading it for a run."""

import collections
import dataclasses
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from zoo.strings import counted
from zoo.training.config import CACHE, ConfigurationError
from zoo.training.recipes.arguments import Arguments, scale_names
from zoo.training.recipes.choices import change

# How rarer words become known, for errors.
LEAST = "--set least=1, in Python choices={'least': 1}"


@dataclasses.dataclass(frozen=True)
class TextTask:
    """How a recipe is trained on a user's own text.

    Attributes:
        task: function that returns the class of its tasks; see `importer`.
        files: the files that it takes, in words.
        read: function that returns the function that reads them, such as
            `zoo.data.own.read_pairs`; see `importer`.
        choices: function of (the recipe, a size, what was read, the task to start from
            or None) to the choices of a run.
        options: names of the reader's arguments that a run gives: "columns" or
            "column" (of a table), "languages", "cache" (a folder).
    """

    task: Callable[[], Any]
    files: str
    read: Callable[[], Any]
    choices: Callable
    options: tuple[str, ...] = ()


def check_text(recipe: Any, arguments: Arguments) -> None:
    """Checks the choices of a run on a user's own text before that is read.

    Args:
        recipe: the `Recipe`.
        arguments: the run's `Arguments`.

    Raises:
        ConfigurationError: if the recipe takes no such text, or for choices that are
            invalid whatever the text.
    """
    if recipe.own is None:
        raise ConfigurationError(
            f"the recipe {recipe.name} takes no text of your own. Received: --train"
        )
    known = scale_names(recipe)
    if arguments.scale not in known:
        raise ConfigurationError(
            f"size: allowed are {', '.join(known)}. Received: {arguments.scale!r}"
        )
    base = recipe.scales.get(arguments.scale, recipe.scales["small"])
    change(recipe, base, arguments.changes)


def read_text(
    recipe: Any,
    arguments: Arguments,
    train: Any,
    valid: Any,
    test: Any,
    show: bool,
) -> Any:
    """Reads a user's own text.

    Args:
        recipe: the `Recipe`.
        arguments: the run's `Arguments`, which say how to read it.
        train: paths of files, or the text itself.
        valid: likewise, what chooses the best epoch; None to hold a part of it out.
        test: likewise; None for none.
        show: whether what was read is told on standard error.

    Raises:
        CorpusError, OSError: if it can't be read.
    """
    options = {
        "columns": arguments.columns,
        "column": arguments.columns and arguments.columns[0],
        "languages": arguments.languages,
        "cache": Path(arguments.output, CACHE),
    }
    text = recipe.own.read()(
        train,
        valid,
        test,
        keep_all=arguments.keep_all,
        seed=arguments.seed,
        **{name: options[name] for name in recipe.own.options},
    )
    for line in text.report if show else ():
        print(f"[{recipe.name}] {line}", file=sys.stderr, flush=True)
    return text


def given_files(arguments: Arguments) -> tuple[Any, Any, Any]:
    """Returns the files of a run's text, for training, validation and test.

    Raises:
        CorpusError: for a wrong number of files, or a weight of 0.
    """
    from zoo.data.own import TextFiles

    train = [TextFiles.parse(files) for files in arguments.train or ()]
    valid, test = (
        files and TextFiles.parse(files) for files in (arguments.valid, arguments.test)
    )
    return train, valid, test


def file_names(groups: Sequence[Sequence[str]] | None) -> list[str]:
    """Returns the names, without folders, of the files that a run was given.

    Args:
        groups: as `Arguments.train`; None for text from a Python program.
    """
    if groups is None:
        return ["text given in Python"]
    return [Path(file).name for files in groups for file in files]


def load_start(name: str | None) -> Any:
    """Loads the preset to start from; None without one.

    Raises:
        ConfigurationError: if there is no such preset.
    """
    from zoo.presets.loading import load

    if name is None:
        return None
    try:
        return load(name)
    except ValueError as error:
        raise ConfigurationError(f"--from: {error}") from error


def tell_plan(recipe: Any, arguments: Arguments, settings: Any) -> None:
    """Shows, before the long part, what follows from a size and the amount of text.

    Args:
        recipe: the `Recipe`.
        arguments: the run's `Arguments`.
        settings: the choices of the run.
    """
    size = f"fine-tuning {arguments.start}" if arguments.start else arguments.scale
    parts = [f"size: {size}", f"at most {counted(settings.epochs, 'epoch')}"]
    if vocabulary := getattr(settings, "vocabulary_size", None):
        parts.append(f"a vocabulary of at most {vocabulary:,}")
    if model := getattr(settings, "model", None):
        widths = {k: v for k, v in model.items() if k.endswith("_dim")}
        parts.append(", ".join(f"{name} {value}" for name, value in widths.items()))
    print(f"[{recipe.name}] {'; '.join(parts)}", file=sys.stderr, flush=True)


def tell_rare_labels(
    train: Iterable[str], valid: Iterable[str], say: Callable[[str], None]
) -> None:
    """Tells of labels or tags that can hardly be learned or scored.

    Args:
        train: those of the training text, each as often as it occurs.
        valid: those of the validation text.
        say: function that shows a text.
    """
    counts, scored = collections.Counter(train), set(valid)
    once = sorted(name for name, count in counts.items() if count == 1)
    unscored = sorted(set(counts) - scored)
    for names, reason in (
        (once, "only one training text has, too few to learn them"),
        (unscored, "no validation text has, so that no score counts them"),
    ):
        if names:
            shown = ", ".join(names[:5]) + ", …" * (len(names) > 5)
            say(f"labels that {reason}: {len(names)} of {len(counts)} ({shown})")


def scale_of(recipe: Any, arguments: Arguments, text: Any, start: Any) -> Any:
    """Returns the choices of a run before `--set` changes them.

    Args:
        recipe: the `Recipe`.
        arguments: the run's `Arguments`.
        text: what `read_text` returned, or None.
        start: what `load_start` returned.
    """
    if text is None:
        return recipe.scales[arguments.scale]
    return recipe.own.choices(recipe, arguments.scale, text, start)
