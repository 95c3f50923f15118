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
from typing import Any

import zoo
from zoo.analysis.evaluation import tag_accuracy
from zoo.data.corpora import UD_ENGLISH, load_ud
from zoo.data.generated.toy_text import toy_sentences
from zoo.training import ClassArguments, Optimizer, Recipe, UserText, at_least
from zoo.training.card_metadata import of_corpora
from zoo.training.config import refused_as


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
    for length, rows in zoo.training.group_by_length(lengths, run.settings.buckets):
        inputs = preprocessor.arrays([data.sentences[row] for row in rows], length)
        labels = preprocessor.labels([data.tags[row] for row in rows], length)
        parts.append((inputs, *labels))
    return zoo.training.ArrayBatches(parts, run.settings.batch_size, run.seed)


def _score(tagger, data):
    """The share of correct tags, and the number of words."""
    sentences = tagger.tag(data.sentences)
    accuracy, words = tag_accuracy(sentences, data.tags)
    return {"accuracy": accuracy, "words": words}


def _preprocessor(run, train):
    from zoo.text import TaggerPreprocessor

    if run.start is not None:
        return run.start.preprocessor
    options = {"least": run.settings.least, "dtype": "float32"}
    with refused_as("least"):
        return TaggerPreprocessor.of(train.sentences, train.tags, **options)


def _run(run):
    import keras

    train, dev, test = _data(run)
    preprocessor = _preprocessor(run, train)
    backbone = zoo.models.BiRNNWords(**preprocessor.sizes(), **run.settings.model)
    run.copy_start(backbone)
    tagger = zoo.models.BiRNNTagger(backbone, preprocessor)
    with refused_as("--from"):  # the preset may lack a tag
        batches = _batches(run, preprocessor, train)
    run.fit(
        backbone,
        batches,
        loss=keras.losses.SparseCategoricalCrossentropy(
            from_logits=True, reduction="mean_with_sample_weight"
        ),
        validate=lambda _: {"val_accuracy": _score(tagger, dev)["accuracy"]},
        monitor=zoo.training.Monitor("val_accuracy", "max"),
    )
    tagger, results = run.save(tagger), {}
    for split, data in (("valid" if run.text else "dev", dev), ("test", test)):
        if data is not None:
            results[split] = _score(tagger, data)
            if run.start is not None:
                results[split]["before"] = _score(run.start, data)["accuracy"]
            run.say(f"{split}: accuracy {results[split]['accuracy']:.4f}")
    if run.text or not run.settings.sentences:
        _write_card(run, tagger, results)
    return results


def _write_card(run, tagger, results):
    corpus = UD_ENGLISH.name
    scores = [
        run.score(corpus, split, "accuracy", 100 * x["accuracy"], f"{x['words']} words")
        for split, x in results.items()
        if run.text or split == "test"
    ]
    facts = {"languages": ["en"], **of_corpora(UD_ENGLISH)}
    run.write_card(tagger, scores=scores, **facts)


_CARD = {
    "title": "Schuster & Paliwal 1997, BiRNN, a tagger",
    "description": (
        "Two chains of states, one from each side, that never feed each other, and one "
        "output layer for both, as in the paper; here an LSTM in each direction over "
        "words, which are read by their vectors and by a convolution over their "
        "letters."
    ),
    "equations": (
        "The two chains of states and their joint output layer, with LSTM cells "
        "instead of simple ones."
    ),
    "paper": {
        "title": "Bidirectional Recurrent Neural Networks",
        "authors": "Mike Schuster, Kuldip K. Paliwal",
        "year": 1997,
        "url": "https://doi.org/10.1109/78.650093",
    },
    "task": "tag",
}


# Of `BiRNNWords`, whose defaults are those of `small`.
_WIDTHS = {"embedding_dim": 100, "character_dim": 32, "filters": 128, "hidden_dim": 128}
RECIPE = Recipe(
    name="birnn",
    file=__file__,
    classes={"model": ClassArguments(lambda: zoo.models.BiRNNWords, (4, 4, 4))},
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
    user_text=UserText(
        "CoNLL-U, or a word and its tag a line, an empty line after a sentence",
        "tagged",
        sentences=150_000,
        widths=_WIDTHS,
    ),
)

if __name__ == "__main__":
    raise SystemExit(RECIPE.main())
