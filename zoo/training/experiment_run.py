"""What the function of an `Experiment` works with."""

import os
import sys

import keras

from zoo.files import naming
from zoo.presets import RUN_PRESETS
from zoo.presets.pages import write_card
from zoo.training.callbacks import Scores
from zoo.training.checkpoint import load_weights, read_state
from zoo.training.compiling import compile_with
from zoo.training.configuration import FREE, ConfigurationError, commit, plain
from zoo.training.facts import origin
from zoo.training.loop import Loop
from zoo.training.preset import in_float32, save_preset, use_of
from zoo.training.process import choose_threads
from zoo.training.recipe import MODELS, checkpoints


class Run:
    """One run of an `Experiment`.

    Its function is called again when a run goes on that was killed. It must do the same
    again: what it draws at random has to come from `seed`; a model that has been
    trained is then only loaded.

    Args:
        recipe: the `Experiment`.
        settings: the scale's settings, `--set` applied.
        args: the parsed command line.
        output: folder of the run, which exists.

    Attributes:
        settings, output: as given.
        seed: int. Keras's random generators start from it.
        scale_name: "tiny", "small" or "paper".

    Raises:
        CheckpointError: if the folder holds another run.
    """

    def __init__(self, recipe, settings, args, output):
        self.recipe, self.settings, self.output = recipe, settings, output
        self.scale_name, self.seed = args.scale, args.seed
        self.precision, self.changes = args.precision, args.set
        self.commit, self.loop, self._fits = commit(), None, 0
        self._finish = args.finish
        choices = {k: v for k, v in plain(settings).items() if k not in FREE}
        self.identity = {
            "recipe": recipe.name,
            "scale": self.scale_name,
            "seed": self.seed,
            "precision": self.precision,
            "settings": choices,
        }
        for path in checkpoints(output):
            read_state(path, self.identity)
        self._draw_anew()

    def path(self, *parts):
        """A path in the run's folder."""
        return os.path.join(self.output, *parts)

    def say(self, text):
        """Shows a text on standard error."""
        print(f"[{self.recipe.name}] {text}", file=sys.stderr, flush=True)

    def fit(
        self,
        model,
        batches,
        loss,
        optimizer=None,
        epochs=None,
        validate=None,
        monitor="loss",
        mode="min",
        patience=None,
        goal=None,
        name=None,
        callbacks=(),
    ):
        """Trains a model, or what is left of it, and gives it its best weights.

        Bit for bit what a run gives that is never killed: see `Loop`. Several models
        are best made one after another, each when the one before has been fitted.

        Args:
            model: a built Keras model.
            batches: an `ArrayBatches`, a `PairBatches`, or what has all their methods.
            loss: what `compile` takes.
            optimizer: an `Optimizer`, or another function of the steps of an epoch and
                the epochs to a Keras optimizer; by default `settings.optimizer`.
            epochs: by default `settings.epochs`.
            validate: function of the model to a dict of numbers, called after each
                epoch; they stand in `log.csv`.
            monitor: which number of the log tells the best weights: one of
                `validate`'s, or "loss".
            mode: "max" where higher is better, "min" where lower is.
            patience: epochs without a better one after which training stops; by
                default `settings.patience` where there is one.
            goal: what `monitor` has to reach for training to end at once; None for
                nothing.
            name: the model's, if there are several: its files are in `models/NAME`.
            callbacks: further Keras callbacks, called at the end of each epoch after
                `validate`. Those with `state()` and `resume(state)` go on where they
                were, as `Plateau` does.

        Returns:
            The number that was monitored, of the best epoch.

        Raises:
            ConfigurationError: if the optimizer refuses its options.
            CheckpointError, FloatingPointError, Interrupted, OSError: see `Loop`.
        """
        settings = self.settings
        folder = self.path(MODELS, name) if name else self.output
        os.makedirs(folder, exist_ok=True)
        optimizer, epochs = optimizer or settings.optimizer, epochs or settings.epochs
        try:
            made = optimizer(len(batches), epochs)
        except (TypeError, ValueError) as error:
            raise ConfigurationError(f"optimizer: {error}") from error
        compile_with(model, made, loss)
        self.loop = loop = Loop(
            model,
            model,
            batches,
            folder,
            epochs,
            identity={**self.identity, "model": name, "loss": _name(loss)},
            plan=[epochs, keras.backend.backend(), self.commit],
            patience=patience or getattr(settings, "patience", None),
            say=self.say,
            stateful={type(c).__name__: c for c in callbacks if hasattr(c, "resume")},
            monitor=monitor,
            mode=mode,
            goal=goal,
        )
        self.say(
            f"{name or type(model).__name__}: {model.count_params():,} parameters, "
            f"{batches.tokens:,} {batches.unit}, {len(batches)} batches an epoch, "
            f"{choose_threads(model.count_params())}"
        )
        if loop.state:
            self.say(f"resumed after epoch {loop.state['epoch']}")
        if self._finish and loop.checkpoint.best_epoch < 0:
            raise FileNotFoundError(
                f"Nothing to finish: no checkpoint of a whole epoch in {folder}. "
                "Train for at least one epoch first"
            )
        if not (self._finish or loop.done):
            log = keras.callbacks.CSVLogger(loop.log, append=True)
            loop.run([Scores(validate, self.say), *callbacks, log])
        load_weights(model, loop.best_path)
        self._draw_anew()
        return loop.checkpoint.best

    def _draw_anew(self):
        """What comes next is the same whether the model before it was trained now, in
        an earlier process, or in several."""
        keras.utils.set_random_seed((self.seed + self._fits) % 2**32)
        self._fits += 1

    def save(self, task):
        """Writes a task as a preset into `OUTPUT/preset/NAME`.

        Args:
            task: a task with a preprocessor, as `zoo.models` has them.

        Returns:
            The task as `zoo.load` would give it, with the weights as they are stored.
        """
        folder = self.path(RUN_PRESETS, self.recipe.name)
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        # A model of its own: what was trained would bring its optimizer's state.
        backbone = type(task.backbone).from_config(task.backbone.get_config())
        backbone.set_weights(task.backbone.get_weights())
        task = in_float32(type(task)(backbone, task.preprocessor))
        with naming(folder):
            save_preset(task, folder)
        task.backbone.load_weights(os.path.join(folder, "model.weights.h5"))
        self.say(f"preset written to {folder}; use it by {use_of(task, self.output)}")
        return task

    def write_card(self, task, /, **facts):
        """Writes the card and README.md of the preset that `save` wrote.

        Args:
            task: what `save` returned.
            **facts: those of `zoo.presets.Card` that the run doesn't know: title,
                paper, vocabulary (its entries), scores, …
        """
        parameters, vocabulary = task.count_params(), facts.pop("vocabulary")
        own = {
            "architecture": type(task).__name__,
            "sizes": {"parameters": parameters, "vocabulary": vocabulary},
            "configuration": plain(self.settings),
        }
        folder = self.path(RUN_PRESETS, self.recipe.name)
        write_card(folder, {**origin(self), **own, **facts})


def _name(loss):
    """The name of what `compile` takes as a loss, in words."""
    if isinstance(loss, str):
        loss = keras.losses.get(loss)
    name = getattr(loss, "name", None) or getattr(loss, "__name__", None)
    return (name or type(loss).__name__).replace("_", " ")
