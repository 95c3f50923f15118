"""A recipe that trains something else than a translator, and how it runs."""

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar

from zoo.run.recipe import alone_in, checkpoints, clear, output_of, run


@dataclasses.dataclass(frozen=True)
class Experiment:
    """A recipe that is a function: it makes its data and models, and trains them.

    Attributes:
        name: the recipe's name, and that of its preset if it writes one.
        scales: the settings of each of "tiny", "small" and "paper": frozen dataclasses
            of one class. `--set` changes their fields. A field `epochs` is what
            `--epochs` sets; `optimizer` may be an `Optimizer`.
        run: function of a `zoo.training.Run` to a dict that JSON can hold, which
            becomes `results.json`.
        file: the recipe's own file, `__file__`.
        classes: field of the settings that is a dict -> function to the class whose
            arguments it holds: `--set` then can add others of its arguments.

    Example:
        ```python
        @dataclasses.dataclass(frozen=True)
        class Settings:
            epochs: int
            optimizer: Optimizer
            hidden_dim: int = 16

        def work(run):
            x, y = ...
            model = BiRNN(..., hidden_dim=run.settings.hidden_dim)
            batches = ArrayBatches((x, y), batch_size=32, seed=run.seed)
            run.fit(model, batches, loss="mse")
            return {"mse": ...}

        RECIPE = Experiment("mine", {"tiny": Settings(...), ...}, work, __file__)

        def main(argv=None):
            return run_experiment(RECIPE, argv)
        ```
    """

    # The options of the command line that config.json keeps.
    arguments: ClassVar = ("scale", "seed", "precision")

    name: str
    scales: dict[str, Any]
    run: Callable
    file: str | None = None
    classes: dict[str, Callable] = dataclasses.field(default_factory=dict)


def run_experiment(recipe, argv=None):
    """Runs an `Experiment` from the command line; `zoo.training.run` tells how.

    `OUTPUT` holds `config.json`, `results.json`, and for each model that is trained
    its checkpoint, best weights and `log.csv`: those of a model with a name in
    `models/NAME`.

    Args:
        recipe: an `Experiment`.
        argv: arguments; those of the command line by default.

    Returns:
        Exit code: see `zoo.training.run`.
    """
    return run(recipe, argv, _work)


def _work(recipe, args, command):
    import json
    import os
    import tempfile

    import keras

    from zoo.files import write_bytes
    from zoo.run.arguments import recorded
    from zoo.run.choices import change
    from zoo.run.config import make_configuration, write_configuration
    from zoo.run.run import Run

    settings = change(recipe, recipe.scales[args.scale], args.set)
    output = output_of(recipe, args)
    around = keras.config.dtype_policy()
    keras.config.set_dtype_policy(args.precision)
    try:
        with alone_in(output):
            tempfile.TemporaryFile(dir=output).close()
            if args.restart:
                clear(output)
            # It refuses another run's folder.
            started = Run(recipe, settings, args, output)
            told = make_configuration(
                recipe, settings, recorded(recipe, args), args.set, command
            )
            write_configuration(output, told, goes_on=bool(checkpoints(output)))
            results = recipe.run(started)
            text = json.dumps(results, indent=2)
            write_bytes(os.path.join(output, "results.json"), f"{text}\n".encode())
            print(text)
    finally:
        keras.config.set_dtype_policy(around)
