"""How a translator is trained: its data, vocabulary, model, validation and card."""

import hashlib
import importlib.util
import os

from zoo import data
from zoo.data.reversal import reversal_pairs
from zoo.evaluation import corpus_scores, worst_translations
from zoo.files import write_bytes
from zoo.run.config import ConfigurationError
from zoo.run.report import write_report
from zoo.text import Tokenizer, train_tokenizer
from zoo.training.averaging import EpochWeights, average_weights
from zoo.training.batching import PairBatches, choose_buckets
from zoo.training.callbacks import TensorBoard
from zoo.training.checkpoint import CheckpointError, load_weights, read_state
from zoo.training.distribute import SingleDevice
from zoo.training.losses import SmoothedCrossEntropy
from zoo.training.validation import Validation

VALIDATION_SENTENCES = 500  # of each set, decoded after each epoch
LANGUAGES = {"en": "English", "de": "German", "fr": "French"}
# Of translations into a language, whatever the model.
WEAKNESSES = {
    "de": ["It can't know which form of address is meant, the formal or the familiar."]
}


class Translation:
    """The training of a translator, in a `Run` whose choices are a `Scale`.

    Args:
        run: the `Run`.
        task: a subclass of `zoo.models.Translator`.
        noise: layers that change the ids in training; see `zoo.models.Translator`.

    Raises:
        CheckpointError: if the folder's vocabulary is not that of its checkpoint.
        ConfigurationError: if the data don't allow the scale's choices.
    """

    def __init__(self, run, task, noise=()):
        self.run, self.task, self.scale = run, task, run.settings
        corpus_scores(["."], [["."]])  # a missing sacrebleu shows now, not in an hour
        self._check_vocabulary()
        self._read()
        self._tokenize()
        self._build(noise)

    def _check_vocabulary(self):
        """Before the data are read, which takes its time."""
        paths = self.run.path("checkpoint.npz"), self.run.path("tokenizer.spm")
        if not all(map(os.path.exists, paths)):
            return  # one that is trained now is compared as the checkpoint is loaded
        trained_with = read_state(paths[0])["vocabulary"]
        with open(paths[1], "rb") as file:
            received = _vocabulary(file.read())
        if received != trained_with:
            raise CheckpointError(
                f"{paths[1]} is not the vocabulary that {paths[0]} was trained with: "
                "put that one back, or start afresh with --restart. Expected sha256 "
                f"{trained_with}… Received: {received}…"
            )

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

    def _tokenize(self):
        path = self.run.path("tokenizer.spm")
        # Of a run that left no checkpoint nothing is taken up: its choices are unknown.
        resumes = os.path.exists(self.run.path("checkpoint.npz"))
        main, self.proto = self.run.distribution.main, b""
        if main and not (resumes and os.path.exists(path)):
            texts = [t for sources, targets, _ in self.pairs for t in sources + targets]
            self.run.say(f"training the vocabulary on {len(texts):,} sentences")
            try:
                proto = train_tokenizer(texts, self.scale.vocabulary_size)
            except ValueError as error:
                raise ConfigurationError(f"vocabulary_size: {error}") from error
            write_bytes(path, proto)
        if main:
            with open(path, "rb") as file:
                self.proto = file.read()
        self.proto = self.run.distribution.broadcast(self.proto)
        length = self.scale.max_length
        try:
            tokenizer = Tokenizer(proto=self.proto)
        except ValueError as error:
            raise CheckpointError(
                f"{path} is no SentencePiece model of this recipe's: remove it, or "
                f"start afresh with --restart. Received: {error}"
            ) from error
        self.preprocessor = self.task.preprocessor_cls(
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
    def _build(self, noise):
        distribution, scale = self.run.distribution, self.scale
        sizes = {
            "vocabulary_size": self.preprocessor.tokenizer.vocabulary_size(),
            **scale.model,
        }
        with distribution.scope():
            self.backbone = self.task.backbone_cls(**sizes)
            # Training works on ids; the translator shares the backbone.
            self.model = self.task(self.backbone, noise=noise)
        with distribution.single_device():
            copies = distribution.copies
            decoded = self.task.backbone_cls(**sizes) if copies else self.backbone
            self.translator = self.task(decoded, self.preprocessor)
        self.epoch_weights = scale.average and EpochWeights(
            self.run.path("epoch_weights"), self.backbone, **scale.average
        )
        if distribution.devices > 1:
            self.run.say(f"data parallelism over {distribution}")

    def train(self, callbacks=()):
        """Trains to the last epoch, from the last checkpoint if there is one.

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
            validate=SingleDevice(
                self.run.distribution, self._validation(), self.backbone
            ),
            monitor="val_bleu",
            mode="max",
            callbacks=[*callbacks, *self._tensorboard()],
            keep=self.backbone,
            identity={
                "vocabulary": _vocabulary(self.proto),
                "noise": [_config(layer) for layer in self.model.noise],
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
    def finish(self):
        """Writes the preset from the best weights, or from the average of several
        epochs' where the scale asks for it, and scores what was written.

        Process 0 does it; the others return None at once.

        Returns:
            dict of test set to its scores.
        """
        if not self.run.distribution.main:
            return None
        with self.run.distribution.single_device():
            return self._finish()

    def _finish(self):
        run, backbone = self.run, self.translator.backbone
        if self.epoch_weights:
            paths = self.epoch_weights.paths()
            if not paths:
                raise ConfigurationError(
                    "average: no epoch's weights were kept in "
                    f"{self.epoch_weights.folder}; the run was trained without it"
                )
            average_weights(backbone, paths)
            names = ", ".join(os.path.basename(path) for path in paths)
            run.say(f"average of {names}")
            which = self.epoch_weights.which
            run.weights = f"the mean of the {which} {len(paths)} epochs' weights"
        elif run.distribution.devices > 1:
            load_weights(backbone, run.loop.checkpoint.best_path)
        self.translator, results = run.save(self.translator), {}
        for name, (sources, references) in self.tests.items():
            texts = self.translator.translate(sources, beam_size=5)
            scores = corpus_scores(texts, references)
            exact = sum(t in refs for t, refs in zip(texts, references, strict=True))
            worst = worst_translations(sources, references, texts)
            results[name] = {**scores, "exact": exact / len(texts), "worst": worst}
            run.say(
                f"{name}: BLEU {scores['bleu']['score']:.2f}  "
                f"chrF {scores['chrf']['score']:.2f}  "
                f"exact {results[name]['exact']:.1%}  beam 5"
            )
        run.write_results(results)
        run.say(f"report written to {write_report(run.output)}")
        if run.recipe.card and self.scale.corpora:
            run.write_card(self.translator, **self._card(results))
        return results

    def _card(self, results):
        """The facts of the card that this run knows."""
        card, scale = self.run.recipe.card, self.scale
        source, target = (
            LANGUAGES.get(code, code) for code in (scale.source, scale.target)
        )
        corpora = data.list_corpora()
        scores = [
            {
                "data": corpus,
                "split": corpora[corpus].test_split,
                "metric": title,
                "value": round(scores[metric]["score"], 4),
                "signature": scores[metric]["signature"],
                "command": f"zoo evaluate {self.run.recipe.name} --data {corpus} "
                f"--split {corpora[corpus].test_split}",
            }
            for corpus, scores in results.items()
            for metric, title in (("bleu", "BLEU"), ("chrf", "chrF"))
        ]
        return {
            "title": f"{card['title']}, {source} to {target}",
            "weaknesses": [*card["weaknesses"], *WEAKNESSES.get(scale.target, ())],
            "languages": [scale.source, scale.target],
            "vocabulary": self.preprocessor.tokenizer.vocabulary_size(),
            "data": [
                {"name": corpus, "terms": corpora[corpus].terms}
                for corpus, _ in scale.corpora
            ],
            "scores": scores,
            "examples": [bad for scores in results.values() for bad in scores["worst"]],
        }


def _config(layer):
    """The class and the arguments of a layer, without its name and dtype."""
    config = layer.get_config()
    config = {k: v for k, v in config.items() if k not in ("name", "dtype")}
    return {"class": type(layer).__name__, **config}


def _vocabulary(proto):
    """Short sha256 of a SentencePiece model."""
    return hashlib.sha256(proto).hexdigest()[:16]
