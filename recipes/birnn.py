"""Parts of speech by Schuster & Paliwal's (1997) bidirectional net: the preset birnn.

    python recipes/birnn.py --scale tiny|small|paper

tiny:  a toy grammar whose tags depend on both sides of a word, under a minute, no
       download.
small: the universal parts of speech of UD English EWT, with an LSTM in each direction,
       word vectors and letters.
paper: the same with the paper's simple cells and initial weights, without dropout. The
       paper tags frames of speech (TIMIT, which is not free); `birnn_tasks` has its
       artificial data.
"""

import dataclasses
import itertools
import sys
from functools import partial
from typing import Any

from zoo.training import (
    ArrayBatches,
    ClassArguments,
    ConfigurationError,
    Monitor,
    Optimizer,
    Recipe,
    TextTask,
    at_least,
    group_by_length,
    importer,
    run_recipe,
)
from zoo.training.recipes.own_text import LEAST, tell_rare_labels
from zoo.training.recipes.sizes import config_to_start, plan, widened


@dataclasses.dataclass(frozen=True)
class Settings:
    """The choices of a run.

    Attributes:
        model: arguments of `BiRNNWords`, except the sizes of the vocabularies.
        sentences: sentences of the toy grammar; 0 for UD English EWT.
        least: occurrences in the training data that make a word known.
        buckets: number of padded lengths, each compiled once.
        allow_newer: whether a newer release of the treebank is accepted.
    """

    epochs: int
    optimizer: Optimizer
    model: dict[str, Any]
    batch_size: int = 32
    sentences: int = 0
    least: int = 2
    buckets: int = 8
    patience: int | None = None
    allow_newer: bool = False

    def __post_init__(self):
        at_least(self, epochs=1, batch_size=1, sentences=0, least=1, buckets=1)
        at_least(self, patience=1)


def _data(run):
    """Training, validation and test data; None for no test."""
    from zoo.data.generated.toy_text import toy_sentences
    from zoo.data.word_corpora import load_ud

    if run.text:
        return run.text.train, run.text.valid, run.text.test
    if count := run.settings.sentences:
        counts = (count, 200, 500)
        return [toy_sentences(n, (run.seed, p)) for p, n in enumerate(counts)]
    newer = run.settings.allow_newer
    return [load_ud(split, allow_newer=newer) for split in ("train", "dev", "test")]


def _batches(run, preprocessor, data):
    lengths = [len(words) for words in data.sentences]
    parts = []
    for length, rows in group_by_length(lengths, run.settings.buckets):
        inputs = preprocessor.arrays([data.sentences[row] for row in rows], length)
        labels = preprocessor.labels([data.tags[row] for row in rows], length)
        parts.append((inputs, *labels))
    return ArrayBatches(parts, run.settings.batch_size, run.seed)


def _score(tagger, data):
    """The share of correct tags, the number of words, and the worst sentences."""
    from zoo.analysis.evaluation import tag_accuracy, worst_tags

    sentences = tagger.tag(data.sentences)
    return *tag_accuracy(sentences, data.tags), worst_tags(sentences, data.tags)


def _run(run):
    import keras

    from zoo.models import BiRNNTagger, BiRNNWords
    from zoo.text import TaggerPreprocessor
    from zoo.training.recipes.fine_tuning import copy_weights

    train, dev, test = _data(run)
    if run.text:
        tags = (itertools.chain.from_iterable(part.tags) for part in (train, dev))
        tell_rare_labels(*tags, run.say)
    if run.start is None:
        data, least = (train.sentences, train.tags), run.settings.least
        try:
            preprocessor = TaggerPreprocessor.of(*data, least=least, dtype="float32")
        except ValueError as error:
            raise ConfigurationError(f"{error} ({LEAST})") from error
    else:
        preprocessor = run.start.preprocessor
    backbone = BiRNNWords(**preprocessor.sizes(), **run.settings.model)
    if run.start is not None:
        copy_weights(run.start.backbone, backbone)
    tagger = BiRNNTagger(backbone, preprocessor)
    try:
        batches = _batches(run, preprocessor, train)
    except ValueError as error:
        if run.start is None:
            raise
        # A tag that the preset doesn't have.
        raise ConfigurationError(f"--from: {error}") from error
    run.fit(
        backbone,
        batches,
        loss=keras.losses.SparseCategoricalCrossentropy(
            from_logits=True, reduction="mean_with_sample_weight"
        ),
        validate=lambda _: {"val_accuracy": _score(tagger, dev)[0]},
        monitor=Monitor("val_accuracy", "max"),
    )
    tagger = run.save(tagger)
    results = {}
    names = ("valid", "test") if run.text else ("dev", "test")
    for split, data in zip(names, (dev, test), strict=True):
        if data is None:
            continue
        accuracy, words, worst = _score(tagger, data)
        results[split] = {"accuracy": accuracy, "words": words, "worst": worst}
        if run.start is not None:
            before = _score(run.start, data)[0]
            results[split]["before"] = before
            run.say(f"{split}: accuracy {accuracy:.2%} (before: {before:.2%})")
    if run.text:
        _write_own_card(run, tagger, results)
    elif run.scale_name == "small" and not run.settings.sentences:
        _write_card(run, tagger, results)
    return results


def _write_own_card(run, tagger, results):
    from zoo.training.card_metadata import own_test, own_text_card

    scores, worst = [], []
    for split, found in results.items():
        data, _, command = own_test(run, split)
        scores.append(
            {
                "data": data,
                "split": split,
                "metric": "accuracy",
                "value": round(100 * found["accuracy"], 4),
                "signature": f"{found['words']} words as the file has them",
                "command": command,
            }
        )
        worst = found["worst"]
    tags = tagger.preprocessor.get_vocabularies()["tags"]
    card = {
        "title": "Schuster & Paliwal 1997, BiRNN, a tagger",
        "languages": run.arguments.languages or ["und"],
        "vocabulary": tagger.backbone.vocabulary_size,
        "scores": scores,
        "examples": worst,
    }
    words = f"{_ARCHITECTURE} It gives each word one of {len(tags)} tags."
    run.write_card(tagger, **{**card, **own_text_card(run, words)})


def _write_card(run, tagger, results):
    from zoo.data.word_corpora import UD_ENGLISH
    from zoo.training.card_metadata import of_corpora

    score = {
        "data": UD_ENGLISH.name,
        "split": "test",
        "metric": "accuracy",
        "value": round(100 * results["test"]["accuracy"], 4),
        "signature": f"UPOS, {results['test']['words']} words as the treebank has them",
        "command": f"zoo evaluate birnn --data {UD_ENGLISH.name} --split test",
    }
    vocabulary = tagger.backbone.vocabulary_size
    run.write_card(
        tagger,
        vocabulary=vocabulary,
        scores=[score],
        examples=results["test"]["worst"],
        **of_corpora(UD_ENGLISH),
    )


_ARCHITECTURE = (
    "Two chains of states, one from each side, that never feed each other, and one "
    "output layer for both, as in the paper; here an LSTM in each direction over "
    "words, which are read by their vectors and by a convolution over their letters."
)
_CARD = {
    "title": "Schuster & Paliwal 1997, BiRNN, parts of speech of English",
    "description": (
        f"{_ARCHITECTURE} It gives each word one of the 17 universal parts of speech."
    ),
    "equations": (
        "The two chains of states and their joint output layer, with LSTM cells "
        "instead of simple ones."
    ),
    "intended_use": (
        "Teaching, comparison of architectures, tests of serving; it tags English "
        "texts like those of the web."
    ),
    "weaknesses": [
        "No vectors of larger corpora: words that the treebank doesn't have are tagged "
        "by their letters and neighbours alone.",
        "Texts are cut into words by a few rules, which don't always agree with the "
        "treebank's.",
    ],
    "paper": {
        "title": "Bidirectional Recurrent Neural Networks",
        "authors": "Mike Schuster, Kuldip K. Paliwal",
        "year": 1997,
        "url": "https://doi.org/10.1109/78.650093",
    },
    "task": "tag",
    "languages": ["en"],
}


SENTENCES_READ = 150_000  # of a user's own, by the `small` model in all its epochs


_SIZES = ("vocabulary_size", "character_size", "output_dim")  # given by the words
# Of `BiRNNWords`, whose defaults are those of `small`.
_WIDTHS = {
    "embedding_dim": 100,
    "character_dim": 32,
    "filters": 128,
    "hidden_dim": 128,
}


def _own_choices(recipe, size, text, start=None):
    """The choices of a run on a user's own sentences; see `choices_for_pairs`."""
    scale, chosen = plan(recipe, size, len(text.train), SENTENCES_READ, start)
    if start is not None:
        model = config_to_start(recipe, start)
        model = {k: v for k, v in model.items() if k not in _SIZES}
    elif chosen is None:
        return scale
    else:
        model = widened({**_WIDTHS, **scale.model}, chosen.width)
    return dataclasses.replace(scale, model=model)


RECIPE = Recipe(
    name="birnn",
    file=__file__,
    classes={
        "model": ClassArguments(
            importer("zoo.models", "BiRNNWords"),
            reserved=_SIZES,
        )
    },
    card=_CARD,
    scales={
        "tiny": Settings(
            epochs=10,
            optimizer=Optimizer("adam", 1e-2, "linear", warmup=50, clip=1.0),
            model={
                "embedding_dim": 16,
                "character_dim": 8,
                "filters": 16,
                "hidden_dim": 24,
                "dropout": 0.0,
                "word_dropout": 0.05,
            },
            sentences=600,
            least=1,
            buckets=2,
        ),
        "small": Settings(
            epochs=12,
            optimizer=Optimizer("adam", 3e-3, "linear", warmup=400, clip=5.0),
            model={},
        ),
        "paper": Settings(
            epochs=20,
            optimizer=Optimizer("adam", 2e-3, "linear", warmup=400, clip=5.0),
            model={
                "cell": "rnn",
                "initializer_range": 0.05,
                "dropout": 0.0,
                "word_dropout": 0.0,
            },
        ),
    },
    train=_run,
    own=TextTask(
        importer("zoo.models", "BiRNNTagger"),
        "CoNLL-U, or a word and its tag a line, an empty line after a sentence",
        importer("zoo.data.own", "read_tagged"),
        _own_choices,
        ("column",),
    ),
)
main = partial(run_recipe, RECIPE)

if __name__ == "__main__":
    sys.exit(main())
