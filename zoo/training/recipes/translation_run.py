"""The training of a translator: its data, vocabulary, model, validation and card."""

import hashlib
from collections.abc import Sequence
from typing import Any

from zoo.analysis.evaluation import (
    EXACT_SIGNATURE,
    corpus_scores,
    exact_share,
    worst_translations,
)
from zoo.data import list_corpora
from zoo.data.parallel_text import direction_name
from zoo.data.store import RaggedIds
from zoo.files import write_bytes
from zoo.strings import counted
from zoo.text import Tokenizer, train_tokenizer
from zoo.training.batches.padded_batches import PairBatches
from zoo.training.config import ConfigurationError, refused_as
from zoo.training.fast.updates import EpochWeights, average_weights
from zoo.training.fit.checkpoint import CheckpointError, Monitor, read_state
from zoo.training.fit.validation import Validation
from zoo.training.losses import SmoothedCrossEntropy
from zoo.training.recipes.translation_data import NamedCorpora, UserPairs
from zoo.training.run import Run


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
        proto = self._known_vocabulary()
        self.data = UserPairs(run) if run.text else NamedCorpora(run)
        if not proto and run.distribution.main:
            proto = self._new_vocabulary()
        self.proto = proto = run.distribution.broadcast(proto)
        # float32, or the preset would have the run's precision.
        length = 2 * self.scale.max_length
        options = {"source_length": length, "target_length": length, "dtype": "float32"}
        self.preprocessor = task.preprocessor_cls(Tokenizer(proto=proto), **options)
        self.batches = self._make_batches()
        self._build(augmentation)

    # === Vocabulary ===
    def _known_vocabulary(self):
        """The SentencePiece model of the run's checkpoint; empty without one."""
        # Without a checkpoint nothing is reused: the earlier choices are unknown.
        path = self.run.output / "tokenizer.spm"
        checkpoint = path.with_name("checkpoint.npz")
        if not (path.exists() and checkpoint.exists()):
            return b""
        proto, expected = path.read_bytes(), read_state(checkpoint)["vocabulary"]
        if (received := _digest(proto)) != expected:
            raise CheckpointError(
                f"{path} is not the vocabulary that {checkpoint} was trained with: "
                f"put that one back. Expected sha256 {expected}… Received: {received}…"
            )
        return proto

    def _new_vocabulary(self):
        run, texts = self.run, self.data.texts()
        if run.start is None:
            options = {**self.scale.tokenizer, **self.data.vocabulary_options(texts)}
            run.say(f"training the vocabulary on {counted(len(texts), 'sentence')}")
            with refused_as("vocabulary_size"):
                size, pieces = self.scale.vocabulary_size, self.scale.pieces
                proto = train_tokenizer(texts, size, model_type=pieces, **options)
        else:
            proto = run.start.preprocessor.tokenizer.proto
        tokenizer, lines = Tokenizer(proto=proto), texts[:10_000]
        read = tokenizer.detokenize(tokenizer.tokenize(lines))
        if changed := sum(a != b for a, b in zip(lines, read, strict=True)):
            run.say(
                f"the tokenizer rewrites {changed:,} of {counted(len(lines), 'line')}, "
                "or lacks some of their characters"
            )
        write_bytes(run.output / "tokenizer.spm", proto)
        return proto

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
        batches = PairBatches(
            RaggedIds.of(sources),
            RaggedIds.of(targets),
            seed=run.seed,
            buckets=self.scale.buckets,
            **self.scale.batch,
        )
        run.say(
            f"{counted(len(sources), 'pair')} in "
            f"{counted(len(batches.buckets), 'shape')}, {batches.padding:.1%} padding"
        )
        return batches

    # === Model ===
    def _build(self, augmentation):
        run, scale = self.run, self.scale
        size = self.preprocessor.tokenizer.vocabulary_size()
        sizes = {"vocabulary_size": size, **scale.model}
        self.backbone = self.task.backbone_cls(**sizes)
        run.copy_start(self.backbone)
        # Trained on ids; the translator, with a preprocessor, shares it.
        self.model = self.task(self.backbone, augmentation=augmentation)
        self.translator = self.task(self.backbone, self.preprocessor)
        self.epoch_weights = scale.average and EpochWeights(
            run.output / "epoch_weights", self.backbone, **scale.average
        )
        if run.distribution.devices > 1:
            run.say(f"data parallelism over {run.distribution}")

    def train(self, callbacks: Sequence[Any] = ()) -> "Translation":
        """Trains to the last epoch, resuming from the last checkpoint if there is one.

        Args:
            callbacks: see `Run.fit`.

        Returns:
            Itself.
        """
        run = self.run
        further = [self.epoch_weights] if self.epoch_weights else []
        run.fit(
            self.model,
            self.batches,
            SmoothedCrossEntropy(**self.scale.loss),
            Validation(
                self.translator,
                self.data.validation,
                self.scale.samples,
                self.data.languages[1],
                run.distribution,
            ),
            Monitor("val_bleu", "max"),
            callbacks=[*callbacks, *further],
            backbone=self.backbone,
            identity={
                "vocabulary": _digest(self.proto),
                "augmentation": [_config(layer) for layer in self.model.augmentation],
            },
        )
        return self

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
        self.translator = run.save(self.translator)
        results = {name: self._score(name, *test) for name, test in tests.items()}
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
        paths = self.epoch_weights.paths()
        with refused_as("average"):  # the run may have been trained without it
            average_weights(self.translator.backbone, paths)
        self.run.weights = f"the mean of the last {len(paths)} epochs' weights"
        self.run.say(self.run.weights)

    def _card(self, results):
        """The card's metadata that this run knows."""
        languages, title = self.data.languages, self.run.recipe.card["title"]
        return {
            "title": ", ".join(filter(None, (title, direction_name(*languages)))),
            "languages": list(languages),
            "scores": [row for test in results.items() for row in self._rows(*test)],
            "examples": [
                example
                for name, found in results.items()
                for example in found["worst"]
                if " " not in name and example["output"] != example["reference"]
            ],
            **self.data.card,
        }

    def _rows(self, name, results):
        """A card's scores of a test set."""
        corpus, _, language = name.partition(" ")
        options, split, known = [], name, list_corpora().get(corpus)
        if known:
            split, options = known.test_split, ["--source", language] * bool(language)
        rows = {
            title: (results[key]["score"], results[key]["signature"])
            for title, key in (("BLEU", "bleu"), ("chrF", "chrf"))
        }
        if known and known.exact:
            rows = {"exact": (100 * results["exact"], EXACT_SIGNATURE)}
        return [
            self.run.score(corpus, split, f"{k} {language}".rstrip(), *v, *options)
            for k, v in rows.items()
        ]


def _config(layer):
    """The class and the arguments of a layer, without its name and dtype."""
    config = layer.get_config()
    config = {k: v for k, v in config.items() if k not in ("name", "dtype")}
    return {"class": type(layer).__name__, **config}


def _digest(proto):
    """Short sha256 of a SentencePiece model."""
    return hashlib.sha256(proto).hexdigest()[:16]
