"""Scores of a model after each epoch of its training."""

import sys

import keras

from zoo.decoding import BeamSearch, search_ids
from zoo.evaluation import corpus_scores
from zoo.training.batching import PairBatches
from zoo.training.callbacks import epoch_line
from zoo.training.checkpoint import get_generator, set_generator
from zoo.training.dataset import as_dataset
from zoo.training.losses import Perplexity, SmoothedCrossEntropy
from zoo.training.samples import append_samples, make_samples
from zoo.training.updates import averaged_weights


class Validation(keras.callbacks.Callback):
    """Perplexity, BLEU and chrF of validation sets at the end of each epoch.

    Adds to the logs `val_perplexity` (per piece, the end token included, without label
    smoothing), `val_bleu_NAME` and `val_chrf_NAME` for each set (cased sacreBLEU,
    greedy) and `val_bleu` and `val_chrf`, their means.

    Args:
        translator: a task that shares the trained backbone and has a preprocessor.
        sets: dict of name to `(sources, references)`: list of str, list of lists.
        targets: dict of name to list of str, for the perplexity.
        samples: translations of the first sentences to show.
        samples_path: a file that they are appended to; see `append_samples`.
    """

    def __init__(self, translator, sets, targets, samples=3, samples_path=None):
        super().__init__()
        self.translator, self.sets, self.samples = translator, sets, samples
        self.samples_path = samples_path
        preprocessor = translator.preprocessor
        self.ids = {name: preprocessor.encode(s) for name, (s, _) in sets.items()}
        sources = [ids for name in sets for ids in self.ids[name]]
        labels = [
            t for name in sets for t in preprocessor.encode_targets(targets[name])
        ]
        self.batches = PairBatches(sources, labels, batch_size=64)
        # A task of its own, so that the training step pays for no metric.
        self.evaluator = type(translator)(translator.backbone)
        self.evaluator.compile(
            optimizer="sgd",
            loss=SmoothedCrossEntropy(),
            weighted_metrics=[Perplexity()],
        )

    def on_epoch_end(self, epoch, logs=None):
        logs = {} if logs is None else logs
        generator = get_generator()  # `evaluate` may draw from it under torch
        data = as_dataset(self.batches)
        found = self.evaluator.evaluate(data, verbose=0, return_dict=True)
        set_generator(generator)
        logs["val_perplexity"] = round(float(found["perplexity"]), 4)
        totals, samples = {"bleu": 0.0, "chrf": 0.0}, []
        for name, (sources, references) in self.sets.items():
            ids = self._greedy(self.ids[name])
            texts = self.translator.preprocessor.decode(ids)
            scores = corpus_scores(texts, references)
            for metric in totals:
                score = scores[metric]["score"]
                logs[f"val_{metric}_{name}"] = round(score, 3)
                totals[metric] += score / len(self.sets)
            columns = sources, [refs[0] for refs in references], texts
            columns = [column[: self.samples] for column in columns]
            for source, _, text in zip(*columns, strict=True):
                print(f"  {source}  →  {text}", file=sys.stderr)
            if self.samples_path:
                shown = self.ids[name][: self.samples], ids[: self.samples]
                samples += [
                    {"epoch": epoch + 1, "set": name, **sample}
                    for sample in make_samples(self.translator, *columns, *shown)
                ]
        logs.update({f"val_{name}": round(value, 3) for name, value in totals.items()})
        if self.samples_path:
            append_samples(self.samples_path, samples)
        found = {"perplexity": logs["val_perplexity"], "BLEU": logs["val_bleu"]}
        line = epoch_line(epoch, (self.params or {}).get("epochs"), logs, found)
        print(line, file=sys.stderr, flush=True)

    def _greedy(self, ids):
        found = search_ids(self.translator, ids, BeamSearch(1, 0.0))
        return [best[0][0] for best in found]


class Scores(keras.callbacks.Callback):
    """Adds the scores that a function gives the model to the logs of each epoch, and
    shows them.

    Args:
        score: function of the model, which then has its averaged weights where its
            optimizer keeps any, to a dict of numbers; None to show the logs as they
            are.
        say: function that shows a text.
    """

    def __init__(self, score, say):
        super().__init__()
        self.score, self.say = score, say

    def on_epoch_end(self, epoch, logs=None):
        found = {}
        if self.score is not None:
            generator = get_generator()  # `predict` may draw from it under torch
            with averaged_weights(self.model):
                found = self.score(self.model)
            set_generator(generator)
            found = {name: float(value) for name, value in found.items()}
            logs.update(found)
        self.say(epoch_line(epoch, (self.params or {}).get("epochs"), logs, found))
