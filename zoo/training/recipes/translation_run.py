"""The training of a translator: its data, vocabulary, model, validation and card."""

import hashlib
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from zoo.analysis.evaluation import (
    EXACT_SIGNATURE,
    corpus_scores,
    exact_share,
    worst_translations,
)
from zoo.data.languages import direction_name
from zoo.data.store import RaggedIds
from zoo.files import write_bytes
from zoo.strings import counted, duration
from zoo.text import SubwordRegularization, Tokenizer, train_tokenizer
from zoo.text.normalization import rewritten
from zoo.training.averaging import EpochWeights, average_weights
from zoo.training.batches.padded_batches import PairBatches
from zoo.training.callbacks import Monitor, TensorBoard
from zoo.training.checkpoint import CheckpointError, load_weights, read_state
from zoo.training.config import ConfigurationError
from zoo.training.distribute import SingleDevice
from zoo.training.losses import SmoothedCrossEntropy
from zoo.training.parallel import NamedCorpora, UserPairs
from zoo.training.recipes.fine_tuning import (
    copy_weights,
    old_tests,
    warn_of_languages,
    warn_of_unknown_pieces,
)
from zoo.training.run import Run
from zoo.training.run_report import write_report
from zoo.training.validation import Validation

# Target tokens times parameters that are trained in a second, measured with
# `luong_local`; compilation and validation are counted in.
SPEED = 7e9
# Weaknesses of all models that translate into a language.
WEAKNESSES = {
    "de": ["It can't know which form of address is meant, the formal or the familiar."]
}


class Translation:
    """The training of a translator.

    Args:
        run: the `Run`, whose choices are a `Scale`.
        task: a subclass of `zoo.models.Translator`.
        augmentation: layers that change the ids in training; see
            `zoo.models.Translator`.

    Raises:
        CheckpointError: if the folder's vocabulary is not that of its checkpoint.
        ConfigurationError: if the scale's choices don't fit the data.
    """

    def __init__(self, run: Run, task: Any, augmentation: Sequence[Any] = ()):
        self.run, self.task, self.scale = run, task, run.settings
        corpus_scores(["."], [["."]])  # fails now if sacrebleu is missing
        self._check_vocabulary()
        self.data = UserPairs(run) if run.text else NamedCorpora(run)
        self._tokenize()
        self._batch()
        self._build(augmentation)
        if run.start is not None:
            self._describe_start()
        if run.text:
            self._print_time()

    def _check_vocabulary(self):
        """Compares vocabulary and checkpoint before the data are read."""
        checkpoint, path = self.run.path("checkpoint.npz"), self._vocabulary_path
        if not (checkpoint.exists() and path.exists()):
            return  # a new vocabulary is compared when the checkpoint is loaded
        expected = read_state(checkpoint)["vocabulary"]
        received = _digest(path.read_bytes())
        if received != expected:
            raise CheckpointError(
                f"{path} is not the vocabulary that {checkpoint} was trained with: "
                "put that one back, or start afresh with --restart. Expected sha256 "
                f"{expected}… Received: {received}…"
            )

    @property
    def _vocabulary_path(self):
        return self.run.path("tokenizer.spm")

    # === Data ===
    def _tokenize(self):
        self.proto = self.run.distribution.broadcast(self._vocabulary())
        length = self.scale.max_length
        try:
            tokenizer = Tokenizer(proto=self.proto)
        except ValueError as error:
            raise CheckpointError(
                f"{self._vocabulary_path} is no SentencePiece model of this recipe: "
                f"remove it, or start afresh with --restart. Received: {error}"
            ) from error
        self.preprocessor = self.task.preprocessor_cls(
            tokenizer,
            source_length=2 * length,
            target_length=2 * length,
            dtype="float32",  # or the preset would have the run's precision
        )

    def _vocabulary(self):
        """The SentencePiece model, trained now or read; empty but in process 0."""
        if not self.run.distribution.main:
            return b""
        path = self._vocabulary_path
        # Without a checkpoint nothing is reused: the earlier choices are unknown.
        if not (path.exists() and self.run.path("checkpoint.npz").exists()):
            texts = self.data.texts()
            if self.run.start is None:
                proto = self._train_vocabulary(texts)
            else:
                proto = self.run.start.preprocessor.tokenizer.proto
            for line in rewritten(proto, texts):
                self.run.say(f"the tokenizer rewrites {line}")
            write_bytes(path, proto)
        return path.read_bytes()

    def _train_vocabulary(self, texts):
        size = self.scale.vocabulary_size
        options = {**self.scale.tokenizer, **self.data.vocabulary_options(texts)}
        sentences = counted(len(texts), "sentence")
        self.run.say(f"training the vocabulary on {sentences}")
        try:
            return train_tokenizer(texts, size, model_type=self.scale.pieces, **options)
        except ValueError as error:
            raise ConfigurationError(f"vocabulary_size: {error}") from error

    def _batch(self):
        length = self.scale.max_length
        sources, targets, dropped = self.data.encode(self.preprocessor, length)
        if dropped:
            self.run.say(
                f"{counted(dropped, 'pair')} longer than {length} pieces (or empty) "
                "left out"
            )
        sources, targets = sources[: self.run.limit], targets[: self.run.limit]
        if not sources:
            raise ConfigurationError(
                "No pair is left to train on: all are empty or longer than max_length. "
                f"Received: max_length={length}"
            )
        sources, targets = RaggedIds.of(sources), RaggedIds.of(targets)
        self.batches = PairBatches(
            sources,
            targets,
            seed=self.run.seed,
            buckets=self.scale.buckets,
            subword_regularization=self._subword_regularization(),
            **self.scale.batch,
        )
        self.run.say(
            f"{counted(len(sources), 'pair')} in "
            f"{counted(len(self.batches.buckets), 'shape')}, "
            f"{self.batches.padding:.1%} padding"
        )

    def _subword_regularization(self):
        alpha = self.scale.subword_regularization
        if alpha is None:
            return None
        try:
            return SubwordRegularization(self.proto, alpha)
        except ValueError as error:  # a preset's vocabulary of another kind
            raise ConfigurationError(f"subword_regularization: {error}") from error

    # === Model ===
    def _build(self, augmentation):
        distribution, scale = self.run.distribution, self.scale
        sizes = {
            "vocabulary_size": self.preprocessor.tokenizer.vocabulary_size(),
            **scale.model,
        }
        with distribution.scope():
            self.backbone = self.task.backbone_cls(**sizes)
            if self.run.start is not None:
                copy_weights(self.run.start.backbone, self.backbone)
            # Trained on ids; the translator, with a preprocessor, shares it.
            self.model = self.task(self.backbone, augmentation=augmentation)
        with distribution.single_device():
            copies = distribution.copies
            decoded = self.task.backbone_cls(**sizes) if copies else self.backbone
            self.translator = self.task(decoded, self.preprocessor)
        self.epoch_weights = scale.average and EpochWeights(
            self.run.path("epoch_weights"), self.backbone, **scale.average
        )
        if distribution.devices > 1:
            self.run.say(f"data parallelism over {distribution}")

    def _print_time(self):
        """Tells how long training takes, before it begins."""
        size = self.batches.tokens * self.backbone.count_params()
        time = duration(size * self.scale.epochs / SPEED)
        self.run.say(
            f"training takes about {time} on two CPU cores under JAX, as measured with "
            "luong_local, and less if it stops early"
        )

    def _describe_start(self):
        """Tells what the preset that is fine-tuned makes of the new text."""
        if not self.run.distribution.main:
            return
        with self.run.distribution.single_device():
            self._score_start()

    def _score_start(self):
        run = self.run
        warn_of_languages(run.start_card, self.data.languages, run.say)
        warn_of_unknown_pieces(self.preprocessor.tokenizer, self.data, run.say)
        validation = self._validation(self.task(run.start.backbone, self.preprocessor))
        for name, (sources, _) in self.data.validation.items():
            bleu = validation.translate(name)[2]["bleu"]["score"]
            sentences = counted(len(sources), "sentence")
            run.say(f"before: greedy BLEU {bleu:.2f} of {sentences} of {name}")

    def train(self, callbacks: Sequence[Any] = ()) -> "Translation":
        """Trains to the last epoch, resuming from the last checkpoint if there is one.

        Args:
            callbacks: see `Run.fit`.

        Returns:
            Itself.
        """
        if self.epoch_weights:
            callbacks = [*callbacks, self.epoch_weights]
        self.run.fit(
            self.model,
            self.batches,
            SmoothedCrossEntropy(**self.scale.loss),
            SingleDevice(
                self.run.distribution, self._validation(self.translator), self.backbone
            ),
            Monitor("val_bleu", "max"),
            callbacks=[*callbacks, *self._tensorboard()],
            backbone=self.backbone,
            identity={
                "vocabulary": _digest(self.proto),
                "augmentation": [_config(layer) for layer in self.model.augmentation],
            },
        )
        return self

    def _validation(self, translator):
        targets = {
            name: [refs[0] for refs in references]
            for name, (_, references) in self.data.validation.items()
        }
        with self.run.distribution.single_device():
            return Validation(
                translator,
                self.data.validation,
                targets,
                self.scale.samples,
                self.run.path("samples.jsonl"),
                self.data.languages[1],
            )

    def _tensorboard(self):
        if all(map(importlib.util.find_spec, ("tensorboard", "tensorflow"))):
            return [TensorBoard(self.run.path("tensorboard"), write_graph=False)]
        self.run.say("no TensorBoard logs: tensorboard or tensorflow is not installed")
        return []

    # === Results ===
    def finish(self) -> dict[str, Any] | None:
        """Writes and scores the preset.

        It has the best weights, or the average of several epochs' if the scale asks for
        it. Of several processes, only the first one works.

        Returns:
            dict of test set to its scores; None in the other processes.
        """
        if not self.run.distribution.main:
            return None
        with self.run.distribution.single_device():
            return self._finish()

    def _finish(self):
        run = self.run
        if self.epoch_weights:
            self._average()
        elif run.distribution.devices > 1:
            load_weights(self.translator.backbone, run.loop.checkpoint.best_path)
        self.translator = run.save(self.translator)
        results = {
            name: self._score(name, *test) for name, test in self.data.tests.items()
        }
        if run.start is not None:
            results |= {
                name: self._score(name, *test)
                for name, test in old_tests(run.start_card, run.say).items()
            }
        run.write_results(results)
        run.say(f"report written to {write_report(run.output)}")
        if run.recipe.card and (run.text or self.scale.corpora):
            run.write_card(self.translator, **self._card(results))
        return results

    def _score(self, name, sources, references):
        """The scores of a test set, with those of the preset that was fine-tuned."""
        language = self.data.languages[1]
        texts = self.translator.translate(sources, beam_size=5)
        scores = corpus_scores(texts, references, language)
        exact = exact_share(texts, references)
        worst = worst_translations(sources, references, texts)
        before = ""
        if self.run.start is not None:
            texts = self.run.start.translate(sources, beam_size=5)
            scores["before"] = corpus_scores(texts, references, language)
            before = f" (before: {scores['before']['bleu']['score']:.2f})"
        self.run.say(
            f"{name}, beam of 5: BLEU {scores['bleu']['score']:.2f}{before}  "
            f"chrF {scores['chrf']['score']:.2f}  "
            f"equal to a reference {exact:.1%}"
        )
        return {**scores, "exact": exact, "worst": worst}

    def _average(self):
        """Loads the average of the epochs' weights."""
        paths, which = self.epoch_weights.paths(), self.epoch_weights.which
        if not paths:
            raise ConfigurationError(
                "average: no epoch's weights were kept in "
                f"{self.epoch_weights.folder}; the run was trained without it"
            )
        average_weights(self.translator.backbone, paths)
        self.run.say(f"average of {', '.join(Path(path).name for path in paths)}")
        self.run.weights = f"the mean of the {which} {len(paths)} epochs' weights"

    def _card(self, results):
        """The card's metadata that this run knows."""
        card, languages = self.run.card, self.data.languages
        direction = direction_name(*languages)
        tested = [self.data.tested(name, self.run.name) for name in self.data.tests]
        whole = [results[test.name] for test in tested if not test.language]
        return {
            "title": ", ".join(filter(None, (card["title"], direction))),
            "intended_use": card["intended_use"],
            "weaknesses": [*card["weaknesses"], *WEAKNESSES.get(languages[1], ())],
            "languages": list(languages),
            "vocabulary": self.preprocessor.tokenizer.vocabulary_size(),
            "scores": [row for t in tested for row in _scores(t, results[t.name])],
            "examples": [
                example
                for scores in whole
                for example in scores["worst"]
                if example["output"] != example["reference"]
            ],
            **self.data.card(),
        }


def _scores(test, results):
    """A card's scores of one `Tested`."""
    metrics = [
        (title, results[key]["score"], results[key]["signature"])
        for key, title in (("bleu", "BLEU"), ("chrf", "chrF"))
    ]
    if test.exact:
        metrics = [("exact", 100 * results["exact"], EXACT_SIGNATURE)]
    return [
        {
            "data": test.data,
            "split": test.split,
            "metric": f"{title} {test.language}".rstrip(),
            "value": round(value, 4),
            "signature": signature,
            "command": test.command,
        }
        for title, value, signature in metrics
    ]


def _config(layer):
    """The class and the arguments of a layer, without its name and dtype."""
    config = layer.get_config()
    config = {k: v for k, v in config.items() if k not in ("name", "dtype")}
    return {"class": type(layer).__name__, **config}


def _digest(proto):
    """Short sha256 of a SentencePiece model."""
    return hashlib.sha256(proto).hexdigest()[:16]
