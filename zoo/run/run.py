"""One run of a recipe."""

import json
import os
import sys
import tempfile

import keras

from zoo.files import naming, write_bytes
from zoo.presets.pages import write_card
from zoo.presets.registry import RUN_PRESETS
from zoo.presets.save import in_float32, save_preset, use_of
from zoo.run.card_metadata import origin
from zoo.run.config import (
    FREE,
    MODELS,
    ConfigurationError,
    checkpoints,
    commit,
    plain,
)
from zoo.training.callbacks import Checkpoint
from zoo.training.checkpoint import load_weights, read_state
from zoo.training.compiling import compile_with
from zoo.training.distribute import Distribution, DistributionError
from zoo.training.loop import Loop
from zoo.training.process import choose_threads
from zoo.training.validation import Scores


class Run:
    """One run of a `Recipe`.

    The recipe's function is called again when a killed run is resumed. It must do the
    same again: what it draws at random has to come from `seed`; a model that has been
    trained is then only loaded. The weights are float32; what the model computes
    in is Keras's dtype policy.

    Args:
        recipe: the `Recipe`.
        settings: its choices for this run.
        output: folder of the run, which exists.
        scale: "tiny", "small" or "paper": what the choices were made from.
        seed: makes the run repeatable on one backend and machine.
        limit: how many examples are trained on; None for all.
        changes: list of the "key=value" by which the choices differ from the scale's,
            for the card.
        finish: whether training stops at the checkpoint, which then must exist.
        distribution: what `zoo.training.distribute.start` found; one device by default.
        record: function that is called once, as the first model is about to be trained
            and the folder has been found to be this run's; None for none.
        checkpoint_minutes: time between two checkpoints within an epoch; None for
            none by time. There is one at each epoch's end, too.
        checkpoint_steps: steps between two checkpoints within an epoch, likewise.

    Attributes:
        settings, output, seed, limit, distribution: as given.
        scale_name: str, the `scale`.
        identity: dict of what a run must share with the checkpoint that it resumes
            from. Not the number of epochs, nor the patience, nor what is kept of the
            epochs: they may be changed on the way, and the learning rate then follows
            the new plan.
        loop: the `Loop` of the model trained last.
        weights: str, a description of the preset's weights; None for those of the best
            epoch.

    Raises:
        CheckpointError: if the folder holds another run.
        OSError: if the folder can't be written.
    """

    def __init__(
        self,
        recipe,
        settings,
        output,
        scale="tiny",
        seed=1,
        limit=None,
        changes=(),
        finish=False,
        distribution=None,
        record=None,
        checkpoint_minutes=10.0,
        checkpoint_steps=None,
    ):
        self.recipe, self.settings, self.output = recipe, settings, str(output)
        self.scale_name, self.seed, self.limit = scale, seed, limit
        self.precision, self.changes = keras.config.dtype_policy().name, changes
        self.distribution = distribution or Distribution()
        self.intervals = {"minutes": checkpoint_minutes, "steps": checkpoint_steps}
        self.commit, self.loop, self.weights, self._fits = commit(), None, None, 0
        self._finish, self._record = finish, record
        choices = {k: v for k, v in plain(settings).items() if k not in FREE}
        self.identity = {
            "recipe": recipe.name,
            "scale": scale,
            "seed": seed,
            "limit": limit,
            "precision": self.precision,
            "settings": choices,
        }
        tempfile.TemporaryFile(dir=self.output).close()
        for path in checkpoints(self.output):
            read_state(path, self.identity)
        self._draw_anew()

    def path(self, *parts):
        """A path in the run's folder."""
        return os.path.join(self.output, *parts)

    def say(self, text):
        """Shows a text on standard error; of several processes the first one does."""
        if self.distribution.main:
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
        keep=None,
        identity=(),
    ):
        """Trains a model, resuming from its checkpoint, and loads its best weights (not
        on several devices).

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
                epoch; they stand in `log.csv`. Or a Keras callback that adds such
                numbers to an epoch's logs and shows them.
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
            keep: whose weights of the best epoch are kept, a part of the model; by
                default the model's.
            identity: dict of what a resumed run must share besides, as the sha256 of
                its vocabulary.

        Returns:
            The number that was monitored, of the best epoch.

        Raises:
            ConfigurationError: if the optimizer refuses its options.
            CheckpointError, FloatingPointError, Interrupted, OSError: see `Loop`.
        """
        settings, distribution = self.settings, self.distribution
        stateful = {type(c).__name__: c for c in callbacks if hasattr(c, "resume")}
        if stateful and distribution.processes > 1:
            raise DistributionError(
                f"{', '.join(stateful)} works in one process: the others don't see the "
                f"scores. Received: {distribution.processes} processes"
            )
        folder = self.path(MODELS, name) if name else self.output
        os.makedirs(folder, exist_ok=True)
        optimizer, epochs = optimizer or settings.optimizer, epochs or settings.epochs
        keep = model if keep is None else keep
        identity = {**dict(identity), "model": name, "loss": _name(loss)}
        distribution.shard(batches)
        with distribution.scope():
            model = distribution.model(model)
            try:
                made = optimizer(len(batches), epochs)
            except (TypeError, ValueError) as error:
                raise ConfigurationError(f"optimizer: {error}") from error
            model = compile_with(model, made, loss, distribution)
        checkpoint = Checkpoint(
            os.path.join(folder, "checkpoint.npz"),
            os.path.join(folder, "best.weights.h5"),
            keep,
            monitor,
            mode,
            patience or getattr(settings, "patience", None),
            goal,
            identity={**self.identity, **identity},
            plan=[epochs, keras.backend.backend(), self.commit],
            writes=distribution.main,
            stateful=stateful,
        )
        self.loop = loop = Loop(
            model, batches, checkpoint, epochs, distribution, **self.intervals
        )
        if self._record:
            self._record()
            self._record = None
        parameters = keep.count_params()
        self.say(
            f"{name or type(keep).__name__}: {parameters:,} parameters, "
            f"{batches.tokens:,} {batches.unit}, {len(batches)} batches an epoch, "
            f"{choose_threads(parameters)}"
        )
        if loop.state:
            step = loop.state["step"]
            within = f", step {step}" if step else ""
            self.say(f"resumed after epoch {loop.state['epoch']}{within}")
        if self._finish and checkpoint.best_epoch < 0:
            raise FileNotFoundError(
                f"Nothing to finish: no checkpoint of a whole epoch in {folder}. "
                "Train for at least one epoch first"
            )
        if not (self._finish or loop.done):
            if not isinstance(validate, keras.callbacks.Callback):
                validate = Scores(validate, self.say)
            log = keras.callbacks.CSVLogger(loop.log, append=True)
            loop.run([validate, *callbacks, log])
        if distribution.devices == 1:  # on several, process 0 loads them to save them
            load_weights(keep, checkpoint.best_path)
        self._draw_anew()
        return checkpoint.best

    def _draw_anew(self):
        """Seeds Keras anew, so that what follows doesn't depend on whether the model
        before it was trained now, in an earlier process, or in several."""
        keras.utils.set_random_seed((self.seed + self._fits) % 2**32)
        self._fits += 1

    # === What it leaves ===
    @property
    def preset(self):
        """The folder of the preset that `save` writes."""
        return self.path(RUN_PRESETS, self.recipe.name)

    def save(self, task):
        """Writes a task as a preset into `OUTPUT/preset/NAME`.

        Args:
            task: a task with a preprocessor, as `zoo.models` has them.

        Returns:
            The task as `zoo.load` would give it, with the weights as they are stored.
        """
        os.makedirs(os.path.dirname(self.preset), exist_ok=True)
        # A model of its own: what was trained would bring its optimizer's state.
        backbone = type(task.backbone).from_config(task.backbone.get_config())
        backbone.set_weights(task.backbone.get_weights())
        task = in_float32(type(task)(backbone, task.preprocessor))
        with naming(self.preset):
            save_preset(task, self.preset)
        task.backbone.load_weights(os.path.join(self.preset, "model.weights.h5"))
        self.say(
            f"preset written to {self.preset}; use it by {use_of(task, self.output)}"
        )
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
        write_card(self.preset, {**self.recipe.card, **origin(self), **own, **facts})

    def write_results(self, results):
        """Writes `results.json`; returns its text."""
        text = json.dumps(results, indent=2)
        write_bytes(self.path("results.json"), f"{text}\n".encode())
        return text


def _name(loss):
    """The name of what `compile` takes as a loss, in words."""
    if isinstance(loss, str):
        loss = keras.losses.get(loss)
    name = getattr(loss, "name", None) or getattr(loss, "__name__", None)
    return (name or type(loss).__name__).replace("_", " ")
