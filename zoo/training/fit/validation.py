"""Scores of a model after each epoch of its training."""

import sys
from collections.abc import Callable
from typing import Any

import keras
import keras_hub

from zoo.analysis.evaluation import corpus_scores
from zoo.decoding import BeamSearch, search_ids
from zoo.training.distribute import Distribution
from zoo.training.fit.checkpoint import Logs, get_generator, set_generator
from zoo.training.fit.padded_batches import PairBatches, as_dataset
from zoo.training.losses import SmoothedCrossEntropy


def epoch_line(
    epoch: int, epochs: int | None, logs: dict[str, Any], scores: dict[str, float]
) -> str:
    """Formats the line shown after an epoch: "epoch 1/3  loss 2.29  BLEU 38.7"."""
    parts = [f"epoch {epoch + 1}" + (f"/{epochs}" if epochs else "")]
    if "loss" in logs:
        parts.append(f"loss {logs['loss']:.4g}")
    parts += [f"{name} {value:.4g}" for name, value in scores.items()]
    return "  ".join(parts)


class Scores(keras.callbacks.Callback):
    """Adds the numbers of `score` of the model to each epoch's logs, and shows them.

    `labels` has the names shown of the numbers to show; all are by default.
    """

    def __init__(
        self,
        score: Callable[[Any], dict[str, float]] | None,
        say: Callable[[str], None],
        labels: dict[str, str] | None = None,
    ):
        super().__init__()
        self.score, self.say, self.labels = score, say, labels

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        scores, logs = {}, {} if logs is None else logs
        generator = get_generator()  # under torch `predict` and `evaluate` draw from it
        if self.score is not None:
            scores = self.score(self.model)
        set_generator(generator)
        scores = {name: float(value) for name, value in scores.items()}
        logs.update(scores)
        labels = self.labels or dict(zip(scores, scores, strict=True))
        shown = {label: scores[name] for name, label in labels.items()}
        self.say(epoch_line(epoch, (self.params or {}).get("epochs"), logs, shown))


class Validation(Scores):
    """Perplexity, BLEU and chrF of validation sets at the end of each epoch.

    Adds to the logs `val_perplexity` (per piece, the end token included, without label
    smoothing), `val_bleu_NAME` and `val_chrf_NAME` for each set (cased sacreBLEU of a
    greedy search), and their means `val_bleu` and `val_chrf`. The translator shares the
    trained backbone. `sets` has `(sources, references)` by name; the first references
    are those of the perplexity. The first `samples` translations of each set are shown.
    """

    def __init__(
        self,
        translator: Any,
        sets: dict[str, tuple[list[str], list[list[str]]]],
        samples: int = 3,
        language: str = "",
        distribution: Distribution | None = None,
    ):
        shown = {"val_perplexity": "perplexity", "val_bleu": "greedy BLEU"}
        super().__init__(self._validate, _say, shown)
        self.translator, self.sets = translator, sets
        self.samples, self.language = samples, language
        self.distribution = distribution or Distribution()
        preprocessor = translator.preprocessor
        self.ids = {name: preprocessor.encode(s) for name, (s, _) in sets.items()}
        sources = [ids for name in sets for ids in self.ids[name]]
        targets = [first for _, several in sets.values() for first, *_ in several]
        labels = preprocessor.encode_targets(targets)
        # Few shapes: the first validation compiles each of them.
        self.batches = PairBatches(sources, labels, batch_size=64, buckets=4)
        with self.distribution.single_device():
            # Another task, so that the training step computes no metric.
            self.evaluator = type(translator)(translator.backbone)
            self.evaluator.compile(
                optimizer="sgd",
                loss=SmoothedCrossEntropy(),
                weighted_metrics=[keras_hub.metrics.Perplexity(from_logits=True)],
            )

    def _validate(self, _):
        with self.distribution.single_device():
            values = self.evaluator.evaluate(
                as_dataset(self.batches), verbose=0, return_dict=True
            )
            scores = {"val_perplexity": round(float(values["perplexity"]), 4)}
            means = {"bleu": 0.0, "chrf": 0.0}
            for name, (sources, _) in self.sets.items():
                texts, found = self.translate(name)
                for metric in means:
                    score = found[metric]["score"]
                    scores[f"val_{metric}_{name}"] = round(score, 3)
                    means[metric] += score / len(self.sets)
                for place in range(min(self.samples, len(texts))):
                    _say(f"  {sources[place]}  →  {texts[place]}")
        return scores | {f"val_{name}": round(x, 3) for name, x in means.items()}

    def translate(self, name: str) -> tuple[list[str], dict[str, Any]]:
        """Translates a set by greedy search: texts and their `corpus_scores`."""
        results = search_ids(self.translator, self.ids[name], BeamSearch(1, 0.0))
        texts = self.translator.preprocessor.decode([best[0][0] for best in results])
        return texts, corpus_scores(texts, self.sets[name][1], self.language)


def _say(text):
    print(text, file=sys.stderr, flush=True)
