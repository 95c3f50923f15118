"""The training of a translator: its data, vocabulary, model, validation and card."""

import hashlib
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from zoo import data
from zoo.data.languages import direction_name
from zoo.data.reversal import reversal_pairs
from zoo.evaluation import (
    EXACT_SIGNATURE,
    corpus_scores,
    exact_share,
    worst_translations,
)
from zoo.files import write_bytes
from zoo.run.config import ConfigurationError
from zoo.run.report import write_report
from zoo.run.run import Run
from zoo.text import Tokenizer, train_tokenizer
from zoo.training.averaging import EpochWeights, average_weights
from zoo.training.batching import PairBatches, choose_buckets
from zoo.training.callbacks import Monitor, TensorBoard
from zoo.training.checkpoint import CheckpointError, load_weights, read_state
from zoo.training.distribute import SingleDevice
from zoo.training.losses import SmoothedCrossEntropy
from zoo.training.validation import Validation

VALIDATION_SENTENCES = 500  # of each set; they are decoded after each epoch
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
        self._read()
        self._tokenize()
        self._batch()
        self._build(augmentation)

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
    def _read(self):
        scale = self.scale
        languages = scale.source, scale.target
        self.validation, self.tests = {}, {}
        if not scale.corpora:
            sources, targets = reversal_pairs(scale.pairs, self.run.seed)
            self.pairs = [(sources, targets, 1)]
            for offset, sets in ((1, self.validation), (2, self.tests)):
                sources, targets = reversal_pairs(200, self.run.seed + offset)
                sets["generated"] = (sources, [[t] for t in targets])
            return
        self.pairs = []
        for name, repeats in scale.corpora:
            part, valid, test = (
                data.load(name, *languages, split, allow_newer=scale.allow_newer)
                for split in ("train", "valid", "test")
            )
            self.pairs.append((part.sources, part.targets, repeats))
            count = VALIDATION_SENTENCES
            self.validation[name] = (valid.sources[:count], valid.references[:count])
            self.tests[name] = (test.sources, test.references)
            # What reads several languages is scored on each of them, too.
            parts = data.list_corpora()[name].parts if scale.source == "mul" else ()
            for language in parts:
                test = data.load(name, language, scale.target, "test")
                self.tests[f"{name} {language}"] = (test.sources, test.references)

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
            texts = [t for sources, targets, _ in self.pairs for t in sources + targets]
            self.run.say(f"training the vocabulary on {len(texts):,} sentences")
            try:
                proto = train_tokenizer(
                    texts, self.scale.vocabulary_size, model_type=self.scale.pieces
                )
            except ValueError as error:
                raise ConfigurationError(f"vocabulary_size: {error}") from error
            write_bytes(path, proto)
        return path.read_bytes()

    def _batch(self):
        length = self.scale.max_length
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
            self.run.say(
                f"{dropped} pairs longer than {length} pieces (or empty) left out"
            )
        sources, targets = sources[: self.run.limit], targets[: self.run.limit]
        if not sources:
            raise ConfigurationError(
                "No pair is left to train on: all are empty or longer than max_length. "
                f"Received: max_length={length}"
            )
        sizes = [(len(s), len(t) + 1) for s, t in zip(sources, targets, strict=True)]
        self.batches = PairBatches(
            sources,
            targets,
            seed=self.run.seed,
            buckets=choose_buckets(sizes, self.scale.buckets),
            **self.scale.batch,
        )
        self.run.say(
            f"{len(sources)} pairs in {len(self.batches.buckets)} shapes, "
            f"{self.batches.padding:.1%} padding"
        )

    # === Model ===
    def _build(self, augmentation):
        distribution, scale = self.run.distribution, self.scale
        sizes = {
            "vocabulary_size": self.preprocessor.tokenizer.vocabulary_size(),
            **scale.model,
        }
        with distribution.scope():
            self.backbone = self.task.backbone_cls(**sizes)
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
            SingleDevice(self.run.distribution, self._validation(), self.backbone),
            Monitor("val_bleu", "max"),
            callbacks=[*callbacks, *self._tensorboard()],
            backbone=self.backbone,
            identity={
                "vocabulary": _digest(self.proto),
                "augmentation": [_config(layer) for layer in self.model.augmentation],
            },
        )
        return self

    def _validation(self):
        targets = {
            name: [refs[0] for refs in references]
            for name, (_, references) in self.validation.items()
        }
        with self.run.distribution.single_device():
            return Validation(
                self.translator,
                self.validation,
                targets,
                self.scale.samples,
                self.run.path("samples.jsonl"),
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
        self.translator, results = run.save(self.translator), {}
        for name, (sources, references) in self.tests.items():
            texts = self.translator.translate(sources, beam_size=5)
            scores = corpus_scores(texts, references)
            exact = exact_share(texts, references)
            worst = worst_translations(sources, references, texts)
            results[name] = {**scores, "exact": exact, "worst": worst}
            run.say(
                f"{name}: BLEU {scores['bleu']['score']:.2f}  "
                f"chrF {scores['chrf']['score']:.2f}  "
                f"exact {exact:.1%}  beam 5"
            )
        run.write_results(results)
        run.say(f"report written to {write_report(run.output)}")
        if run.recipe.card and self.scale.corpora:
            run.write_card(self.translator, **self._card(results))
        return results

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
        card, scale = self.run.recipe.card, self.scale
        direction = direction_name(scale.source, scale.target)
        corpora = data.list_corpora()
        examples = [results[corpus]["worst"] for corpus, _ in scale.corpora]
        return {
            "title": ", ".join(filter(None, (card["title"], direction))),
            "weaknesses": [*card["weaknesses"], *WEAKNESSES.get(scale.target, ())],
            "languages": [scale.source, scale.target],
            "vocabulary": self.preprocessor.tokenizer.vocabulary_size(),
            "data": [
                {"name": corpus, "terms": corpora[corpus].terms}
                for corpus, _ in scale.corpora
            ],
            "scores": [row for name in results for row in self._scores(name, results)],
            "examples": [
                example
                for worst in examples
                for example in worst
                if example["output"] != example["reference"]
            ],
        }

    def _scores(self, name, results):
        """The card's scores of one test set."""
        corpus, _, language = name.partition(" ")
        entry, scores = data.list_corpora()[corpus], results[name]
        command = f"zoo evaluate {self.run.recipe.name} --data {corpus} "
        command += f"--split {entry.test_split}"
        if entry.exact:
            metrics = [("exact", 100 * scores["exact"], EXACT_SIGNATURE)]
        else:
            metrics = [
                (title, scores[key]["score"], scores[key]["signature"])
                for key, title in (("bleu", "BLEU"), ("chrf", "chrF"))
            ]
        return [
            {
                "data": corpus,
                "split": entry.test_split,
                "metric": f"{title} {language}".rstrip(),
                "value": round(value, 4),
                "signature": signature,
                "command": f"{command} --source {language}" if language else command,
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
