"""One run of a recipe: its folder, its models' training, its results."""

import dataclasses
import json
import re
import shlex
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras

from zoo.files import name_file_in_errors, write_bytes
from zoo.presets.card import card_of, unstated
from zoo.presets.pages import write_card
from zoo.presets.registry import RUN_PRESETS, find
from zoo.presets.save import in_float32, save_preset
from zoo.strings import counted
from zoo.training import config
from zoo.training.card_metadata import of_start, of_user_text, origin
from zoo.training.distribute import Distribution, DistributionError
from zoo.training.fast.logit_free import compile_for_training
from zoo.training.fast.process import choose_threads
from zoo.training.fit.checkpoint import Checkpoint, Monitor, read_state
from zoo.training.fit.loop import Loop
from zoo.training.fit.validation import Scores
from zoo.training.recipes.arguments import Arguments, words_of
from zoo.training.run_report import write_report

LOSS = Monitor("loss", "min")


class Run:
    """One run of a `Recipe`.

    When a killed run is resumed, the recipe's function is called again and must do the
    same again: anything random has to come from `seed`. A model that has been trained
    is then only loaded. Weights are float32; Keras's dtype policy is what the model
    computes in.

    Args:
        recipe: the `Recipe`.
        settings: its choices for this run.
        arguments: the run's `Arguments`; their folder must exist.
        distribution: from `zoo.training.distribute.start`; one device by default.
        command: what started it, for `config.json`, which is written once the first
            model is about to be trained, so that the folder is known to be this run's;
            None for no such file.
        text: a user's own text, as the recipe's `UserText` reads it; None for the
            recipe's own data.
        start: the task to start from, with its tokenizer; None for new weights.

    Attributes:
        recipe, settings, arguments, distribution, text, start: as given.
        start_card: the `Card` of the preset to start from; None if it has none.
        output: folder of the run, a `Path`.
        seed: that of the arguments.
        identity: dict of what a run must share with the checkpoint that it resumes
            from. The number of epochs, the patience and the like are left out: they
            may change, and the learning rate then follows the new plan.
        loop: the `Loop` of the model trained last.
        weights: description of the preset's weights; None for those of the best epoch.

    Raises:
        CheckpointError: if the folder holds another run.
        OSError: if the folder can't be written.
    """

    def __init__(
        self,
        recipe: Any,
        settings: Any,
        arguments: Arguments,
        distribution: Distribution | None = None,
        command: str | None = None,
        text: Any = None,
        start: Any = None,
    ):
        self.recipe, self.settings, self.arguments = recipe, settings, arguments
        self.text, self.start = text, start
        # Read before training, which takes long.
        self.start_card = arguments.start and card_of(find(arguments.start))
        self.output, self.seed = Path(arguments.output), arguments.seed
        self.distribution = distribution or Distribution()
        self.loop: Any = None
        self.weights: str | None = None
        self._command, self._fits = command, 0
        self._starts_new = start is not None  # until its weights are copied
        for line in [] if text is None else text.report:
            self.say(line)
        fixed = config.to_jsonable(settings)
        for name in config.MAY_CHANGE_ON_RESUME:
            fixed.pop(name, None)
        self.identity = {
            "recipe": recipe.name,
            "scale": arguments.scale,
            "seed": self.seed,
            "limit": None,  # an option of earlier versions
            "precision": arguments.precision,
            "settings": fixed,
            **({"start": arguments.start} if arguments.start else {}),
            **({"text": text.identity} if text is not None else {}),
        }
        tempfile.TemporaryFile(dir=self.output).close()
        for path in config.checkpoints(self.output):
            read_state(path, self.identity)
        self._reseed()

    def say(self, text: str) -> None:
        """Prints a text to standard error; of several processes, the first does."""
        if self.distribution.main:
            print(f"[{self.recipe.name}] {text}", file=sys.stderr, flush=True)

    def copy_start(self, backbone: Any) -> None:
        """Copies the weights of the task to start from, if there is one.

        Raises:
            ConfigurationError: if they differ in their shapes.
        """
        self._starts_new = False
        if self.start is not None:
            # A change by `--set model` may not fit the weights.
            with config.refused_as("--from"):
                backbone.set_weights(self.start.backbone.get_weights())

    def fit(
        self,
        model: Any,
        batches: Any,
        loss: Any,
        validate: Any = None,
        monitor: Monitor = LOSS,
        *,
        epochs: int | None = None,
        name: str | None = None,
        callbacks: Sequence[Any] = (),
        backbone: Any = None,
        identity: Any = (),
    ) -> float:
        """Trains a model, resuming from its checkpoint, and loads its best weights.

        The result is that of a run that was never killed, bit for bit: see `Loop`. If
        there are several models, make each one after the one before it has been fitted.

        Args:
            model: a built Keras model.
            batches: an `ArrayBatches`, a `PairBatches`, or an object with all their
                methods.
            loss: what `compile` takes.
            validate: function of the model to a dict of numbers, called after each
                epoch and logged in `log.csv`; or a Keras callback that adds such
                numbers to an epoch's logs and shows them.
            monitor: the `Monitor` that picks the best weights, of one of the numbers
                of `validate` or of "loss". Its patience is `settings.patience` by
                default, if there is one.
            epochs: `settings.epochs` by default.
            name: the model's name if there are several: its files are in `models/NAME`.
            callbacks: further Keras callbacks, called at the end of each epoch after
                `validate`. Those with `state()` and `resume(state)`, such as `Plateau`,
                are resumed.
            backbone: the part of the model whose best weights are kept; the whole model
                by default.
            identity: dict of what else a resumed run must share, such as the sha256 of
                its vocabulary.

        Returns:
            The best value of what was monitored.

        Raises:
            CheckpointError, FloatingPointError, Interrupted, OSError: see `Loop`.
        """
        settings, distribution = self.settings, self.distribution
        if self._starts_new:
            raise config.ConfigurationError(
                f"--from: the recipe {self.recipe.name} copies no weights to start from"
            )
        epochs = epochs or settings.epochs
        backbone = model if backbone is None else backbone
        folder = self.output / config.MODELS / name if name else self.output
        folder.mkdir(parents=True, exist_ok=True)
        distribution.shard(batches)
        identity = {**self.identity, **dict(identity), "model": name}
        checkpoint = self._checkpoint(
            folder, backbone, monitor, identity, epochs, callbacks
        )
        model = distribution.model(model)
        optimizer = settings.optimizer(len(batches), epochs)
        model = compile_for_training(model, optimizer, distribution, loss=loss)
        self.loop = loop = Loop(model, batches, checkpoint, epochs, distribution)
        if self._command is not None and distribution.main:
            config.write_configuration(self, self._command)
            self._command = None
        self._describe(name or type(backbone).__name__, backbone.count_params())
        if self.arguments.finish and checkpoint.best_epoch < 0:
            raise FileNotFoundError(
                f"Nothing to finish: no checkpoint of a whole epoch in {folder}"
            )
        if not (self.arguments.finish or loop.done):
            if not isinstance(validate, keras.callbacks.Callback):
                validate = Scores(validate, self.say)
            loop.run([validate, *callbacks])
        checkpoint.load_best()
        self._reseed()
        return checkpoint.best

    def _checkpoint(self, folder, backbone, monitor, identity, epochs, callbacks):
        stateful = {type(c).__name__: c for c in callbacks if hasattr(c, "resume")}
        if stateful and self.distribution.processes > 1:
            raise DistributionError(
                f"{', '.join(stateful)} works in one process: the others don't see the "
                f"scores. Received: {self.distribution.processes} processes"
            )
        if monitor.patience is None:
            patience = getattr(self.settings, "patience", None)
            monitor = dataclasses.replace(monitor, patience=patience)
        return Checkpoint(
            folder / "checkpoint.npz",
            folder / "best.weights.h5",
            backbone,
            monitor,
            {**identity, "callbacks": list(stateful)},
            [epochs, keras.backend.backend(), config.commit()],
            stateful,
        )

    def _describe(self, name, parameters):
        batches, state = self.loop.batches, self.loop.state
        self.say(
            f"{name}: {parameters:,} parameters, {batches.tokens:,} {batches.unit}, "
            f"{counted(len(batches), 'step')} an epoch, "
            f"{counted(self.loop.epochs, 'epoch')}, {choose_threads(parameters)}"
        )
        if state:
            self.say(f"resumed after epoch {state['epoch']}, step {state['step']}")

    def _reseed(self):
        """Seeds Keras anew, whichever process trained the last model."""
        keras.utils.set_random_seed((self.seed + self._fits) % 2**32)
        self._fits += 1

    # === Results ===
    @property
    def name(self) -> str:
        """The name of the preset: the recipe's, or the folder's for one's own text."""
        if self.text is None:
            scale, beside = self.arguments.scale, self.recipe.extra_presets
            return self.recipe.name + f"_{scale}" * (scale in beside)
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", self.output.absolute().name)
        return name.strip("-._") or self.recipe.name

    @property
    def preset(self) -> Path:
        """The folder of the preset that `save` writes."""
        return self.output / RUN_PRESETS / self.name

    def save(self, task: Any) -> Any:
        """Writes a task of `zoo.models` as a preset into `OUTPUT/preset/NAME`.

        Returns:
            The task as `zoo.load` would give it, with the weights as they are stored.
        """
        self.preset.parent.mkdir(exist_ok=True)
        task = in_float32(task)
        with name_file_in_errors(self.preset):
            save_preset(task, str(self.preset))
        task.backbone.load_weights(self.preset / "model.weights.h5")
        use = shlex.join(["zoo", task.task_name, str(self.output)])
        self.say(f"preset written to {self.preset}; use it by {use}")
        return task

    def write_card(self, task: Any, /, **metadata: Any) -> None:
        """Writes the card and README.md of the preset that `save` wrote.

        Args:
            task: what `save` returned.
            **metadata: fields of `zoo.presets.Card` that the run doesn't know: scores,
                languages, … Those of a user's own text, its data and licence come from
                the run.
        """
        card = {
            "intended_use": "Teaching, comparison of architectures, tests of serving.",
            "weaknesses": ["Anything unlike the text of its training."],
            **self.recipe.card,
            **origin(self),
            "architecture": type(task).__name__,
            "sizes": {
                "parameters": task.count_params(),
                "vocabulary": task.backbone.vocabulary_size,
            },
            "configuration": config.to_jsonable(self.settings),
            **metadata,
            **(of_user_text(self) if self.text is not None else {}),
        }
        if self.arguments.start is not None:
            card |= of_start(self.start_card, Path(self.arguments.start).name, card)
        write_card(str(self.preset), card)
        if missing := unstated(card):
            self.say(f"its card lacks {' and '.join(missing)}: zoo info {self.output}")

    def score(
        self, data: str, split: str, metric: str, score: float, signature: str
    ) -> dict[str, Any]:
        """Returns a score of the preset, as a card has it.

        Args:
            data: the test set's corpus; a user's own text is named by its files.
            split: its part of the corpus; of a user's own text "valid" or "test".
            metric, score, signature: the score, and how it was made.
        """
        words = ["--data", data, "--split", split]
        if self.text is not None:
            _, *files = words_of(self.arguments, split) or [""]
            words = ["--test", *files, *words_of(self.arguments, "columns")]
            data = ", ".join(files) or "own text"
        command = shlex.join(["zoo", "evaluate", self.name, *words])
        if data == "own text":  # held out, in a folder, or from a Python program
            command = "none: the text is in no file of its own"
        return {
            "data": data,
            "split": split,
            "command": command,
            "metric": metric,
            "value": round(score, 4),
            "signature": signature,
        }

    def write_results(self, results: dict[str, Any]) -> None:
        """Writes `results.json`, and `report.html` if there is one model."""
        text = json.dumps(results, indent=2)
        write_bytes(self.output / "results.json", f"{text}\n".encode())
        told = f"results written to {self.output / 'results.json'}"
        if (self.output / "log.csv").exists():
            told += f" and {write_report(self.output)}"
        self.say(told)
