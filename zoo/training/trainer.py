"""The machinery behind every recipe: data, fit, checkpoints, evaluation."""

import importlib.util
import json
import os
import sys
import tempfile

import keras

from zoo import data
from zoo.files import naming, write_bytes
from zoo.presets import RUN_PRESETS
from zoo.presets.pages import write_card
from zoo.text import Tokenizer, train_tokenizer
from zoo.training import callbacks as callbacks_
from zoo.training.averaging import EpochWeights, average_weights
from zoo.training.batching import PairBatches, choose_buckets
from zoo.training.checkpoint import CheckpointError, load_weights, read_state
from zoo.training.compiling import compile_for_training
from zoo.training.configuration import ConfigurationError, commit, identity_of
from zoo.training.distribute import Alone, Distribution, DistributionError
from zoo.training.embeddings import start_from
from zoo.training.evaluation import corpus_scores, worst_translations
from zoo.training.facts import TESTS, card_facts
from zoo.training.generated import reversal_pairs
from zoo.training.loop import Loop
from zoo.training.noise import make_noise
from zoo.training.preset import in_float32, save_preset, use_of
from zoo.training.process import choose_threads, start_tensorflow
from zoo.training.report import write_report

VALIDATION_SENTENCES = 500  # of each set, decoded after each epoch


class Trainer:
    """One run of a recipe.

    Args:
        recipe: a `zoo.training.Recipe`.
        scale_name: "tiny", "small" or "paper".
        scale: the `Scale` to run.
        output: folder of the run, which exists.
        seed: makes the run repeatable on one backend and machine.
        limit: train on the first pairs only.
        checkpoint_minutes: time between two checkpoints within an epoch; None for
            none by time. There is one at each epoch's end, too.
        checkpoint_steps: steps between two checkpoints within an epoch, likewise.
        distribution: what `zoo.training.distribute.start` found; one device by default.
        settings: list of the "key=value" that made the scale from the recipe's, for
            the card.

    The weights are float32; what the model computes in is Keras's dtype policy.

    Raises:
        CheckpointError: if the folder holds the checkpoint of another run.
        ConfigurationError: if the data don't allow the scale's choices.
        OSError: if the folder can't be written.
    """

    def __init__(
        self,
        recipe,
        scale_name,
        scale,
        output,
        seed=1,
        limit=None,
        checkpoint_minutes=10.0,
        checkpoint_steps=None,
        distribution=None,
        settings=(),
    ):
        self.distribution = distribution or Distribution()
        self.recipe, self.scale_name, self.scale = recipe, scale_name, scale
        self.output, self.seed, self.limit = output, seed, limit
        self.intervals = {"minutes": checkpoint_minutes, "steps": checkpoint_steps}
        self.changes, self.precision = settings, keras.config.dtype_policy().name
        self.commit = commit()
        self._check()
        corpus_scores(["."], [["."]])  # a missing sacrebleu shows now, not in an hour
        keras.utils.set_random_seed(seed)
        self._read()
        self._tokenize()
        self._build()

    def path(self, *parts):
        return os.path.join(self.output, *parts)

    def _check(self):
        """What can be refused before the data are read."""
        tempfile.TemporaryFile(dir=self.output).close()
        path, tokenizer = self.path("checkpoint.npz"), self.path("tokenizer.spm")
        if not os.path.exists(path):
            return
        expected = self._identity(b"")
        del expected["vocabulary"]
        trained_with = read_state(path, expected)["vocabulary"]
        if not os.path.exists(tokenizer):
            return  # a new one is trained, and then compared
        with open(tokenizer, "rb") as file:
            found = self._identity(file.read())["vocabulary"]
        if found != trained_with:
            raise CheckpointError(
                f"{tokenizer} is not the vocabulary that {path} was trained with: put "
                "that one back, or start afresh with --restart. Expected sha256 "
                f"{trained_with}… Received: {found}…"
            )

    def _identity(self, proto):
        return identity_of(
            self.recipe, self.scale_name, self.scale, self.seed, self.limit, proto
        )

    # === Data ===
    def _read(self):
        scale = self.scale
        languages = scale.source, scale.target
        self.validation, self.tests = {}, {}
        if not scale.corpora:
            sources, targets = reversal_pairs(scale.pairs, self.seed)
            self.pairs = [(sources, targets, 1)]
            for offset, sets in ((1, self.validation), (2, self.tests)):
                sources, targets = reversal_pairs(200, self.seed + offset)
                sets["generated"] = (sources, [[t] for t in targets])
            return
        self.pairs = []
        for name, repeats in scale.corpora:
            part, valid, test = (
                data.load(name, *languages, split, allow_newer=scale.allow_newer)
                for split in ("train", "valid", TESTS[name])
            )
            self.pairs.append((part.sources, part.targets, repeats))
            count = VALIDATION_SENTENCES
            self.validation[name] = (valid.sources[:count], valid.references[:count])
            self.tests[name] = (test.sources, test.references)

    def _tokenize(self):
        path = self.path("tokenizer.spm")
        # Of a run that left no checkpoint nothing is taken up: its choices are unknown.
        resumes = os.path.exists(self.path("checkpoint.npz"))
        main, self.proto = self.distribution.main, b""
        if main and not (resumes and os.path.exists(path)):
            texts = [t for sources, targets, _ in self.pairs for t in sources + targets]
            self._say(f"training the vocabulary on {len(texts):,} sentences")
            try:
                proto = train_tokenizer(texts, self.scale.vocabulary_size)
            except ValueError as error:
                raise ConfigurationError(f"vocabulary_size: {error}") from error
            write_bytes(path, proto)
        if main:
            with open(path, "rb") as file:
                self.proto = file.read()
        self.proto = self.distribution.broadcast(self.proto)
        task = self.recipe.translator()
        length = self.scale.max_length
        try:
            tokenizer = Tokenizer(proto=self.proto)
        except ValueError as error:
            raise CheckpointError(
                f"{path} is no SentencePiece model of this recipe's: remove it, or "
                f"start afresh with --restart. Received: {error}"
            ) from error
        self.preprocessor = task.preprocessor_cls(
            tokenizer,
            source_length=2 * length,
            target_length=2 * length,
            dtype="float32",  # or a preset would tell of the run's precision
        )
        sources, targets, dropped = [], [], 0
        for source, target, repeats in self.pairs:
            source_ids = self.preprocessor.encode(source)
            target_ids = self.preprocessor.encode_targets(target)
            kept = [
                (s, t)
                for s, t in zip(source_ids, target_ids, strict=True)
                if 0 < len(s) <= length and 0 < len(t) < length
            ]
            dropped += len(source_ids) - len(kept)
            for _ in range(repeats):
                sources += [s for s, _ in kept]
                targets += [t for _, t in kept]
        if dropped:
            self._say(
                f"{dropped} pairs longer than {length} pieces (or empty) left out"
            )
        sources, targets = sources[: self.limit], targets[: self.limit]
        if not sources:
            raise ConfigurationError(
                "No pair is left to train on: all are empty or longer than max_length. "
                f"Received: max_length={length}"
            )
        sizes = [(len(s), len(t) + 1) for s, t in zip(sources, targets, strict=True)]
        self.batches = PairBatches(
            sources,
            targets,
            seed=self.seed,
            buckets=choose_buckets(sizes, self.scale.buckets),
            **self.scale.batch,
        )
        self._say(
            f"{len(sources)} pairs, {self.batches.tokens:,} target tokens, "
            f"{len(self.batches)} batches an epoch in {len(self.batches.buckets)} "
            f"shapes, {self.batches.padding:.1%} padding"
        )
        self.distribution.shard(self.batches)

    # === Model ===
    def _build(self):
        task, distribution = self.recipe.translator(), self.distribution
        scale = self.scale
        sizes = {
            "vocabulary_size": self.preprocessor.tokenizer.vocabulary_size(),
            **self.scale.model,
        }
        with distribution.scope():
            self.backbone = task.backbone_cls(**sizes)
            # Training works on ids; the translator shares the backbone.
            if scale.embeddings:
                tokenizer = self.preprocessor.tokenizer
                try:
                    told = start_from(self.backbone, tokenizer, scale.embeddings)
                except ValueError as error:
                    raise ConfigurationError(f"embeddings: {error}") from error
                self._say("; ".join(told))
            noise = make_noise(scale.word_dropout, scale.scheduled_sampling, self.seed)
            self.model = distribution.model(task(self.backbone, noise=noise))
            updates = -(-len(self.batches) // scale.accumulation)
            optimizer = scale.optimizer(updates, scale.epochs)
            compile_for_training(
                self.model,
                optimizer,
                distribution,
                scale.accumulation,
                scale.ema,
                **scale.loss,
            )
        with distribution.alone():
            copies = distribution.copies
            decoded = task.backbone_cls(**sizes) if copies else self.backbone
            self.translator = task(decoded, self.preprocessor)
        self.epoch_weights = scale.average and EpochWeights(
            self.path("epoch_weights"), self.backbone, **scale.average
        )
        if distribution.devices > 1:
            self._say(f"data parallelism over {distribution}")
        parameters = self.backbone.count_params()
        self._say(
            f"{type(self.backbone).__name__}, {parameters:,} parameters, "
            f"{choose_threads(parameters)}"
        )

    def train(self, finish=False):
        """Trains to the last epoch, from the last checkpoint if there is one.

        Args:
            finish: whether to stop at the checkpoint, which then must exist.
        """
        scale, stateful = self.scale, {}
        if scale.plateau:
            if self.distribution.processes > 1:
                raise DistributionError(
                    "`plateau` works in one process: the others don't see the scores. "
                    f"Received: {self.distribution.processes} processes"
                )
            stateful["plateau"] = callbacks_.Plateau(**scale.plateau)
        loop = Loop(
            self.model,
            self.backbone,
            self.batches,
            self.output,
            self.scale.epochs,
            identity=self._identity(self.proto),
            plan=[self.scale.epochs, keras.backend.backend(), self.commit],
            patience=self.scale.patience,
            say=self._say,
            distribution=self.distribution,
            stateful=stateful,
            **self.intervals,
        )
        self.loop = loop
        if loop.state:
            step = loop.state["step"]
            within = f", step {step}" if step else ""
            self._say(f"resumed after epoch {loop.state['epoch']}{within}")
        if finish and loop.checkpoint.best_epoch < 0:
            raise FileNotFoundError(
                f"Nothing to finish: no checkpoint of a whole epoch in {self.output}. "
                "Train for at least one epoch first"
            )
        if not (finish or loop.done):
            loop.run(self._watching(*stateful.values()))

    def _watching(self, *callbacks):
        """The callbacks that look at an epoch when it has been trained."""
        targets = {
            name: [refs[0] for refs in references]
            for name, (_, references) in self.validation.items()
        }
        with self.distribution.alone():
            validation = callbacks_.Validation(
                self.translator,
                self.validation,
                targets,
                self.scale.samples,
                self.path("samples.jsonl"),
            )
        watching = [
            Alone(self.distribution, validation, self.backbone),
            *callbacks,
            *([self.epoch_weights] if self.epoch_weights else []),
            keras.callbacks.CSVLogger(self.path("log.csv"), append=True),
        ]
        if importlib.util.find_spec("tensorboard") and importlib.util.find_spec(
            "tensorflow"
        ):
            start_tensorflow()
            logs = self.path("tensorboard")
            watching.append(callbacks_.TensorBoard(logs, write_graph=False))
        else:
            self._say("no TensorBoard logs: tensorboard or tensorflow is not installed")
        return watching

    def finish(self):
        """Writes the preset from the best weights, or from the average of several
        epochs' where the scale asks for it, and scores what was written.

        Process 0 does it; the others return None at once.
        """
        if not self.distribution.main:
            return None
        with self.distribution.alone():
            return self._finish()

    def _finish(self):
        folder = self.path(RUN_PRESETS, self.recipe.name)
        backbone = self.translator.backbone
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        if self.epoch_weights:
            paths = self.epoch_weights.paths()
            if not paths:
                raise ConfigurationError(
                    "average: no epoch's weights were kept in "
                    f"{self.epoch_weights.folder}; the run was trained without it"
                )
            average_weights(backbone, paths)
            names = ", ".join(os.path.basename(path) for path in paths)
            self._say(f"average of {names}")
        else:
            load_weights(backbone, self.path("best.weights.h5"))
        translator = in_float32(self.translator)
        with naming(folder):
            save_preset(translator, folder)
        # Scored as stored: with the weights that float16 rounded.
        translator.backbone.load_weights(os.path.join(folder, "model.weights.h5"))
        results = {}
        for name, (sources, references) in self.tests.items():
            texts = translator.translate(sources, beam_size=5)
            scores = corpus_scores(texts, references)
            exact = sum(t in refs for t, refs in zip(texts, references, strict=True))
            worst = worst_translations(sources, references, texts)
            results[name] = {**scores, "exact": exact / len(texts), "worst": worst}
            self._say(
                f"{name}: BLEU {scores['bleu']['score']:.2f}  "
                f"chrF {scores['chrf']['score']:.2f}  "
                f"exact {results[name]['exact']:.1%}  beam 5"
            )
        write_bytes(self.path("results.json"), json.dumps(results, indent=2).encode())
        self._say(f"report written to {write_report(self.output)}")
        if self.recipe.card and self.scale.corpora:
            write_card(folder, card_facts(self, results))
        self._say(
            f"preset written to {folder}; use it by {use_of(translator, self.output)}"
        )
        return results

    def _say(self, text):
        if self.distribution.main:
            print(f"[{self.recipe.name}] {text}", file=sys.stderr, flush=True)
