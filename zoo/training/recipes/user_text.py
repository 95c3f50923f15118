"""A user's own text: how a recipe is trained on it, and reading it for a run."""

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from zoo.training.config import ConfigurationError, refused_as, say
from zoo.training.recipes.arguments import Arguments, scale_names
from zoo.training.recipes.choices import change, check
from zoo.training.recipes.sizes import choices_for_texts


@dataclasses.dataclass(frozen=True)
class UserText:
    """Settings for training a recipe on a user's own text.

    Attributes:
        task: function that returns the class of its tasks; see `importer`.
        files: the files that it takes, in words.
        kind: how they are read, as "pairs"; see `zoo.data.own.read`.
        sentences: how many the `small` model reads in all its epochs.
        widths: arguments of the model that a size multiplies, with the defaults of
            those that `small` doesn't set. They are in the choices' dict `model`, or
            fields of the choices.
        changes: choices for any text, such as `{"corpus": "own"}`.
        choices: function of (the recipe, a size, what was read, the task to start from
            or None) to the choices of a run.
    """

    task: Callable[[], Any]
    files: str
    kind: str
    sentences: int = 0
    widths: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    changes: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    choices: Callable = choices_for_texts


def given_files(recipe: Any, arguments: Arguments, given: Any = None) -> Any:
    """Returns a user's own text for training, validation and test; None for none.

    It is in the files that the arguments name, or given. Checks scale and choices.
    """
    if arguments.train:
        train = [tuple(map(Path, files)) for files in arguments.train]
        others = arguments.valid, arguments.test
        given = train, *(files and tuple(Path(f) for f in files) for files in others)
    if given is not None and recipe.user_text is None:
        raise ConfigurationError(f"the recipe {recipe.name} takes no text of your own")
    known = list(recipe.scales) if given is None else scale_names(recipe)
    if arguments.scale not in known:
        raise ConfigurationError(
            f"size: allowed are {', '.join(known)} (others are for your own text). "
            f"Received: {arguments.scale!r}"
        )
    base = recipe.scales.get(arguments.scale) or recipe.scales["small"]
    change(recipe, base, arguments.changes)
    return given


def choose(
    recipe: Any, arguments: Arguments, given: Any, distribution: Any
) -> tuple[Any, Any, Any]:
    """Returns the choices of a run, a user's own text and the task to start from."""
    from zoo.data.own import read
    from zoo.presets.loading import load

    start, text, own = None, None, recipe.user_text
    if arguments.start is not None:
        with distribution.single_device(), refused_as("--from"):
            start = load(arguments.start)
    if given is None:
        scale = recipe.scales[arguments.scale]
    else:
        text = read(
            own.kind,
            *given,
            columns=arguments.columns,
            languages=arguments.languages,
            seed=arguments.seed,
        )
        for line in text.report if distribution.main else ():
            say(recipe.name, line)
        scale = own.choices(recipe, arguments.scale, text, start)
    settings = change(recipe, scale, arguments.changes)
    if arguments.changes:
        check(recipe, settings)
    return settings, text, start
