"""The training of a translator: its data, vocabulary, model, validation and card."""

import hashlib
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from zoo import data
from zoo.analysis.evaluation import (
    EXACT_SIGNATURE,
    corpus_scores,
    exact_share,
    worst_translations,
)
from zoo.data.generated.toy_text import reversal_pairs
from zoo.data.store import tokenise
from zoo.data.text_sets import Pairs, direction_name
from zoo.files import write_bytes
from zoo.strings import counted
from zoo.text import Tokenizer, train_tokenizer
from zoo.training.card_metadata import of_corpora
from zoo.training.config import refused_as
from zoo.training.fast.updates import EpochWeights, average_weights
from zoo.training.fit.checkpoint import CheckpointError, Monitor, read_state
from zoo.training.fit.padded_batches import PairBatches
from zoo.training.fit.validation import Validation
from zoo.training.losses import SmoothedCrossEntropy
from zoo.training.run import Run

VALIDATION_SENTENCES = 500  # of each set; they are decoded after each epoch
UNLIMITED = 10**9  # pieces of a text, which is then not cut
VOCABULARY_SENTENCES = 500_000  # of a user's text, from which the vocabulary is made


class TranslationData:
    """The pairs of a run: a user's own, the scale's corpora, or generated ones.

    Without a user's test set, the pairs that choose the best epoch are the test, too.

    Attributes:
        languages: codes of source and target.
        pairs: the `Pairs` of each corpus, and how often they stand in an epoch.
        validation, tests: name of each set to its `(sources, references)`.
        card: what a preset's card says of the data.
    """

    def __init__(self, run: Run):
        scale, text = run.settings, run.text
        self.card: dict[str, Any] = {}
        self.languages = scale.source, scale.target
        repeats, known = dict(scale.corpora), data.list_corpora()
        if text is not None:
            self.languages, train = text.languages, {"train": text.train}
            valid = {"valid": text.valid}
            tests = valid if text.test is None else {"test": text.test}
        elif repeats:
            self.card = of_corpora(*(known[name] for name in repeats))
            load = partial(data.load, allow_newer=scale.allow_newer)
            train, valid, tests = (
                {name: load(name, *self.languages, split) for name in repeats}
                for split in ("train", "valid", "test")
            )
        else:
            train, valid, tests = (
                {"generated": Pairs("", "", "", "", *reversal_pairs(n, run.seed + i))}
                for i, n in enumerate((scale.pairs, 200, 200))
            )
        self.pairs = [(pairs, repeats.get(name, 1)) for name, pairs in train.items()]
        self.validation, self.tests = (
            {name: (x.sources[:n], x.references[:n]) for name, x in parts.items()}
            for parts, n in ((valid, VALIDATION_SENTENCES), (tests, None))
        )

    def encode(self, preprocessor: Any, longest: int) -> tuple[Any, Any, int]:
        """Returns an epoch's ids of sources and targets, and how many were too long."""
        sources = [text for pairs, _ in self.pairs for text in pairs.sources]
        targets = [text for pairs, _ in self.pairs for text in pairs.targets]
        source_ids = tokenise(sources, partial(preprocessor.encode, length=UNLIMITED))
        encode = partial(preprocessor.encode_targets, length=UNLIMITED)
        target_ids = tokenise(targets, encode)
        source, target = source_ids.lengths, target_ids.lengths
        fit = (source > 0) & (source <= longest) & (target > 0) & (target < longest)
        rows, start = [], 0
        for pairs, repeats in self.pairs:
            end = start + len(pairs.sources)
            rows += [start + np.flatnonzero(fit[start:end])] * repeats
            start = end
        chosen = np.concatenate(rows)
        return source_ids[chosen], target_ids[chosen], int((~fit).sum())


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
        self.data = TranslationData(run)
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
        run, scale = self.run, self.scale
        options: dict[str, Any] = {"model_type": scale.pieces, **scale.tokenizer}
        if run.text is None:
            texts = [
                text
                for pairs, _ in self.data.pairs
                for text in pairs.sources + pairs.targets
            ]
        else:
            texts = run.text.sample(VOCABULARY_SENTENCES)
            # Characters that are not in the sample; and little text has few pieces.
            missing = sorted(set(run.text.characters).difference(*texts))
            options |= {"hard_vocab_limit": False, "required_chars": "".join(missing)}
        if run.start is None:
            run.say(f"training the vocabulary on {counted(len(texts), 'sentence')}")
            with refused_as("vocabulary"):
                proto = train_tokenizer(texts, scale.vocabulary_size, **options)
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
        options = {"seed": run.seed, "buckets": self.scale.buckets, **self.scale.batch}
        with refused_as("max_length"):  # if no pair is left
            batches = PairBatches(sources, targets, **options)
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
        if self.epoch_weights:
            callbacks = [*callbacks, self.epoch_weights]
        augmentation = [_config(layer) for layer in self.model.augmentation]
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
            callbacks=callbacks,
            backbone=self.backbone,
            identity={"vocabulary": _digest(self.proto), "augmentation": augmentation},
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
        run = self.run
        if not run.distribution.main:
            return None
        with run.distribution.single_device():
            if self.epoch_weights:
                self._average()
            self.translator = run.save(self.translator)
            tests = self.data.tests.items()
            results = {name: self._score(name, *test) for name, test in tests}
            if run.recipe.card and (run.text or self.scale.corpora):
                run.write_card(self.translator, **self._card(results))
        return results

    def _score(self, name, sources, references):
        """The scores of a test set, with those of the preset that was fine-tuned."""
        start, language, before = self.run.start, self.data.languages[1], ""
        texts = self.translator.translate(sources, beam_size=5)
        scores = corpus_scores(texts, references, language)
        exact = exact_share(texts, references)
        worst = worst_translations(sources, references, texts)
        if start is not None:
            texts = start.translate(sources, beam_size=5)
            scores["before"] = corpus_scores(texts, references, language)
            before = f" (before: {scores['before']['bleu']['score']:.2f})"
        self.run.say(
            f"{name}, beam of 5: BLEU {scores['bleu']['score']:.2f}{before}  "
            f"chrF {scores['chrf']['score']:.2f}  equal to a reference {exact:.1%}"
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
        title, corpora = self.run.recipe.card["title"], data.list_corpora()
        rows, worst = [], []
        for name, found in results.items():
            worst += [x for x in found["worst"] if x["output"] != x["reference"]]
            known = corpora.get(name)
            split = known.test_split if known else name
            metrics = {"BLEU": found["bleu"], "chrF": found["chrf"]}
            if known and known.exact:
                exact = {"score": 100 * found["exact"], "signature": EXACT_SIGNATURE}
                metrics = {"exact": exact}
            rows += [self.run.score(name, split, k, **v) for k, v in metrics.items()]
        direction = direction_name(*self.data.languages)
        return {
            "title": ", ".join(filter(None, (title, direction))),
            "languages": list(self.data.languages),
            "scores": rows,
            "examples": worst,
            **self.data.card,
        }


def _config(layer):
    """The class and the arguments of a layer, without its name and dtype."""
    config = layer.get_config()
    config = {k: v for k, v in config.items() if k not in ("name", "dtype")}
    return {"class": type(layer).__name__, **config}


def _digest(proto):
    """Short sha256 of a SentencePiece model."""
    return hashlib.sha256(proto).hexdigest()[:16]
