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
from zoo.data import list_corpora
from zoo.data.languages import direction_name
from zoo.data.store import RaggedIds
from zoo.files import write_bytes
from zoo.strings import counted, duration
from zoo.text import SubwordRegularization, Tokenizer, train_tokenizer
from zoo.text.normalization import rewritten
from zoo.training.batches.padded_batches import PairBatches
from zoo.training.config import ConfigurationError, refused_as
from zoo.training.fit.averaging import EpochWeights, average_weights
from zoo.training.fit.checkpoint import CheckpointError, Monitor, read_state
from zoo.training.fit.progress import TensorBoard
from zoo.training.fit.validation import Validation
from zoo.training.losses import SmoothedCrossEntropy
from zoo.training.recipes.fine_tuning import old_tests, warn
from zoo.training.recipes.translation_data import NamedCorpora, UserPairs
from zoo.training.run import Run
from zoo.training.run_report import write_report

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
        self.proto = run.distribution.broadcast(self._vocabulary())
        self.preprocessor = self._make_preprocessor()
        self.batches = self._make_batches()
        self._build(augmentation)
        if run.start is not None and run.distribution.main:
            with run.distribution.single_device():
                self._score_start()
        if run.text:
            self._print_time()

    # === Vocabulary ===
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
        size, pieces = self.scale.vocabulary_size, self.scale.pieces
        options = {**self.scale.tokenizer, **self.data.vocabulary_options(texts)}
        sentences = counted(len(texts), "sentence")
        self.run.say(f"training the vocabulary on {sentences}")
        with refused_as("vocabulary_size"):
            return train_tokenizer(texts, size, model_type=pieces, **options)

    def _make_preprocessor(self):
        try:
            tokenizer = Tokenizer(proto=self.proto)
        except ValueError as error:
            raise CheckpointError(
                f"{self._vocabulary_path} is no SentencePiece model of this recipe: "
                f"remove it, or start afresh with --restart. Received: {error}"
            ) from error
        # float32, or the preset would have the run's precision.
        lengths = dict.fromkeys(
            ("source_length", "target_length"), 2 * self.scale.max_length
        )
        return self.task.preprocessor_cls(tokenizer, dtype="float32", **lengths)

    # === Batches ===
    def _make_batches(self):
        run, length = self.run, self.scale.max_length
        sources, targets, dropped = self.data.encode(self.preprocessor, length)
        if dropped:
            pairs = counted(dropped, "pair")
            run.say(f"{pairs} longer than {length} pieces (or empty) left out")
        sources, targets = sources[: run.limit], targets[: run.limit]
        if not sources:
            raise ConfigurationError(
                "No pair is left to train on: all are empty or longer than max_length. "
                f"Received: max_length={length}"
            )
        alpha, regularization = self.scale.subword_regularization, None
        if alpha is not None:
            with refused_as("subword_regularization"):  # a preset's vocabulary may be
                regularization = SubwordRegularization(self.proto, alpha)
        batches = PairBatches(
            RaggedIds.of(sources),
            RaggedIds.of(targets),
            seed=run.seed,
            buckets=self.scale.buckets,
            subword_regularization=regularization,
            **self.scale.batch,
        )
        run.say(
            f"{counted(len(sources), 'pair')} in "
            f"{counted(len(batches.buckets), 'shape')}, {batches.padding:.1%} padding"
        )
        return batches

    # === Model ===
    def _build(self, augmentation):
        run, distribution, scale = self.run, self.run.distribution, self.scale
        size = self.preprocessor.tokenizer.vocabulary_size()
        sizes = {"vocabulary_size": size, **scale.model}
        with distribution.scope():
            self.backbone = self.task.backbone_cls(**sizes)
            run.copy_start(self.backbone)
            # Trained on ids; the translator, with a preprocessor, shares it.
            self.model = self.task(self.backbone, augmentation=augmentation)
        with distribution.single_device():
            copies = distribution.copies
            decoded = self.task.backbone_cls(**sizes) if copies else self.backbone
            self.translator = self.task(decoded, self.preprocessor)
        self.epoch_weights = scale.average and EpochWeights(
            run.path("epoch_weights"), self.backbone, **scale.average
        )
        if distribution.devices > 1:
            run.say(f"data parallelism over {distribution}")

    def _print_time(self):
        """Tells how long training takes, before it begins."""
        size = self.batches.tokens * self.backbone.count_params()
        time = duration(size * self.scale.epochs / SPEED)
        self.run.say(
            f"training takes about {time} on two CPU cores under JAX, as measured with "
            "luong_local, and less if it stops early"
        )

    def _score_start(self):
        """Tells what the preset that is fine-tuned makes of the new text."""
        run = self.run
        warn(run.start_card, self.preprocessor.tokenizer, self.data, run.say)
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
        run = self.run
        further = [self.epoch_weights] if self.epoch_weights else []
        if all(map(importlib.util.find_spec, ("tensorboard", "tensorflow"))):
            further.append(TensorBoard(run.path("tensorboard"), write_graph=False))
        else:
            run.say("no TensorBoard logs: tensorboard or tensorflow is not installed")
        run.fit(
            self.model,
            self.batches,
            SmoothedCrossEntropy(**self.scale.loss),
            self._validation(self.translator, trained=self.backbone),
            Monitor("val_bleu", "max"),
            callbacks=[*callbacks, *further],
            backbone=self.backbone,
            identity={
                "vocabulary": _digest(self.proto),
                "augmentation": [_config(layer) for layer in self.model.augmentation],
            },
        )
        return self

    def _validation(self, translator, trained=None):
        return Validation(
            translator,
            self.data.validation,
            {
                k: [first for first, *_ in r]
                for k, (_, r) in self.data.validation.items()
            },
            self.scale.samples,
            self.run.path("samples.jsonl"),
            self.data.languages[1],
            self.run.distribution,
            trained,
        )

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
        run, tests = self.run, self.data.tests
        if self.epoch_weights:
            self._average()
        elif run.distribution.devices > 1:
            run.loop.checkpoint.load_best(self.translator.backbone)
        self.translator = run.save(self.translator)
        results = {name: self._score(name, *test) for name, test in tests.items()}
        if run.start is not None:
            for name, test in old_tests(run.start_card, run.say).items():
                results[name] = self._score(name, *test)
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
        exact, before = exact_share(texts, references), ""
        worst = worst_translations(sources, references, texts)
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
        title = filter(None, (card["title"], direction_name(*languages)))
        tests = {name: results[name] for name in self.data.tests}
        whole = [found["worst"] for name, found in tests.items() if " " not in name]
        return {
            "title": ", ".join(title),
            "weaknesses": [*card["weaknesses"], *WEAKNESSES.get(languages[1], ())],
            "languages": list(languages),
            "scores": [row for test in tests.items() for row in self._rows(*test)],
            "examples": [
                example
                for examples in whole
                for example in examples
                if example["output"] != example["reference"]
            ],
            **self.data.card(),
        }

    def _rows(self, name, results):
        """A card's scores of a test set."""
        test, (corpus, _, language) = self.data.test_set(name), name.partition(" ")
        metrics = {"BLEU": "bleu", "chrF": "chrf"}
        rows = {
            k: (results[v]["score"], results[v]["signature"])
            for k, v in metrics.items()
        }
        if (known := list_corpora().get(corpus)) and known.exact:
            rows = {"exact": (100 * results["exact"], EXACT_SIGNATURE)}
        return [test.score(f"{k} {language}".rstrip(), *v) for k, v in rows.items()]


def _config(layer):
    """The class and the arguments of a layer, without its name and dtype."""
    config = layer.get_config()
    config = {k: v for k, v in config.items() if k not in ("name", "dtype")}
    return {"class": type(layer).__name__, **config}


def _digest(proto):
    """Short sha256 of a SentencePiece model."""
    return hashlib.sha256(proto).hexdigest()[:16]
