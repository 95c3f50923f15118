"""The training of a word language model: its choices, data and card."""

import dataclasses
import math
from typing import Any

from zoo.checks import one_of
from zoo.training.card_metadata import of_corpora, own_test, own_text_card
from zoo.training.optimizers import Optimizer
from zoo.training.recipe import at_least, importer, try_choices
from zoo.training.recipes.own_text import TextTask
from zoo.training.recipes.sizes import PAPER_VOCABULARY, config_to_start, plan, widened

CORPORA = ("generated", "ptb", "own")
SENTENCES_READ = 400_000  # of a user's own text, by the `small` model in all its epochs
PROMPTS = 200  # test sentences whose beginnings are continued, to find bad output


@dataclasses.dataclass(frozen=True)
class LanguageModeling:
    """The choices of a language model's recipe.

    Attributes:
        cell, embedding_dim, hidden_dim, num_layers, dropout, initializer_range, tapes:
            of `zoo.models.RecurrentLM`.
        optimizer: an `Optimizer`.
        epochs: passes over the text.
        corpus: "generated", sentences of a small grammar, "ptb", or "own", a user's.
        vocabulary_size: most words, the most frequent ones; None for all.
        sentences: number of generated sentences.
        batch_size: streams that are read at the same time.
        length: words of a segment, through which gradients pass.
        decay: factor on a constant learning rate after an epoch without a better
            validation perplexity; None for none.
        patience: epochs without a better one before training stops; None for never.
        normalize: what the loss of a batch is divided by: its words, "tokens", or its
            streams, "sentences".

    Raises:
        ValueError: for another corpus, a number out of range, or `decay` with a
            schedule.
    """

    cell: str
    optimizer: Optimizer
    epochs: int
    embedding_dim: int = 150
    hidden_dim: int = 300
    num_layers: int = 1
    dropout: float = 0.0
    initializer_range: float = 0.05
    tapes: str = "sentence"
    corpus: str = "ptb"
    sentences: int = 0
    vocabulary_size: int | None = None
    batch_size: int = 40
    length: int = 35
    decay: float | None = None
    patience: int | None = None
    normalize: str = "tokens"

    def __post_init__(self) -> None:
        one_of("corpus", self.corpus, CORPORA)
        at_least(self, epochs=1, batch_size=1, length=1, patience=1)
        at_least(self, sentences=1 if self.corpus == "generated" else 0)
        if self.decay is not None and self.optimizer.schedule != "constant":
            raise ValueError(
                "`decay` lowers a constant learning rate. "
                f"Received: a schedule that is {self.optimizer.schedule!r}"
            )
        if self.decay is not None and not 0 < self.decay < 1:
            raise ValueError(f"`decay` must be between 0 and 1. Received: {self.decay}")


def own_choices(recipe: Any, size: str, text: Any, start: Any = None) -> Any:
    """Returns the choices of a run on a user's own text; see `choices_for_pairs`.

    Args:
        recipe: the `Recipe`.
        size: "tiny", "small", "medium" or "paper".
        text: the `zoo.data.own.OwnTexts`.
        start: the language model to start from; None for a new one.
    """
    scale, chosen = plan(recipe, size, len(text.train), SENTENCES_READ, start)
    changes: dict[str, Any] = {"corpus": "own", "vocabulary_size": PAPER_VOCABULARY}
    names = {field.name for field in dataclasses.fields(scale)}
    if start is not None:
        config = config_to_start(recipe, start)
        changes |= {name: value for name, value in config.items() if name in names}
    elif chosen is not None:
        changes |= widened(dataclasses.asdict(scale), chosen.width)
        changes |= {"optimizer": scale.optimizer, "corpus": "own"}
        changes["vocabulary_size"] = chosen.vocabulary
    return dataclasses.replace(scale, **changes)


OWN_TEXT = TextTask(
    importer("zoo.models", "RecurrentCausalLM"),
    "a file with a sentence a line, or a table; words are separated by spaces",
    importer("zoo.data.own", "read_sentences"),
    own_choices,
    ("columns",),
)


def check(settings: LanguageModeling, changes: Any = ()) -> None:
    """Tries the choices of a run before any work is done.

    Raises:
        ConfigurationError: if the model or the loss refuses its arguments.
    """
    if changes:  # a scale as it stands has been tested
        trials = {
            "model": lambda: _backbone(settings, vocabulary_size=4),
            "loss": lambda: _loss(settings),
        }
        try_choices(trials)


def _backbone(settings, vocabulary_size):
    from zoo.models import RecurrentLM

    return RecurrentLM(
        vocabulary_size,
        embedding_dim=settings.embedding_dim,
        hidden_dim=settings.hidden_dim,
        num_layers=settings.num_layers,
        cell=settings.cell,
        dropout=settings.dropout,
        initializer_range=settings.initializer_range,
        tapes=settings.tapes,
    )


def _loss(settings):
    from zoo.training.losses import SmoothedCrossEntropy

    return SmoothedCrossEntropy(normalize=settings.normalize)


def train(run: Any) -> dict[str, Any]:
    """Trains a language model, evaluates it and writes its preset.

    Args:
        run: the `Run`, whose choices are a `LanguageModeling`.

    Returns:
        dict of split to its perplexity.
    """
    from zoo.analysis.evaluation import worst_continuations
    from zoo.decoding.score import perplexity_of
    from zoo.ids import UNKNOWN_ID
    from zoo.models import RecurrentCausalLM, RecurrentLMPreprocessor
    from zoo.text import WordTokenizer, count_words
    from zoo.training.batches.streams import CarriedState, StreamBatches
    from zoo.training.callbacks import Monitor
    from zoo.training.recipes.fine_tuning import copy_weights

    settings = run.settings
    texts, best = _texts(run)
    if run.start is None:
        words = count_words(texts["train"], settings.vocabulary_size)
        # A text in lower case may have a few others, as Penn Treebank's N for numbers.
        capitals = sum(word != word.lower() for word in words)
        tokenizer = WordTokenizer(words, lowercase=100 * capitals < len(words))
    else:
        tokenizer = run.start.preprocessor.tokenizer
    rows = {split: tokenizer.tokenize(part) for split, part in texts.items()}
    if run.text:
        unknown = [number == UNKNOWN_ID for row in rows["valid"] for number in row]
        run.say(
            f"a vocabulary of {tokenizer.vocabulary_size():,} words; of those of the "
            f"validation text, {sum(unknown) / max(1, len(unknown)):.1%} are unknown"
        )
    backbone = _backbone(settings, tokenizer.vocabulary_size())
    if run.start is not None:
        copy_weights(run.start.backbone, backbone)
    task = RecurrentCausalLM(backbone, RecurrentLMPreprocessor(tokenizer))

    def perplexity(split, batch_size):
        # In segments as in training: an LSTMN's tapes start with each of them.
        options = {"carry_over": True, "length": settings.length}
        return perplexity_of(task, rows[split], batch_size, **options)

    run.fit(
        CarriedState(backbone, settings.batch_size),
        StreamBatches(rows["train"], settings.batch_size, settings.length),
        _loss(settings),
        lambda _: {"val_perplexity": perplexity("valid", settings.batch_size)},
        Monitor("val_perplexity", "min"),
        callbacks=_decay(settings.decay),
    )
    task, results = run.save(task), {}
    for split in list(texts)[1:]:
        value = perplexity(split, batch_size=1)
        results[split] = {"perplexity": value, **best.get(split, {})}
        before = ""
        if run.start is not None:
            options = {"carry_over": True, "length": settings.length}
            old = perplexity_of(run.start, rows[split], 1, **options)
            results[split]["before"], before = old, f" (before: {old:.2f})"
        run.say(f"{split}: perplexity {value:.2f}{before}")
    if run.text or (run.scale_name == "small" and settings.corpus == "ptb"):
        worst = worst_continuations(task, texts[split][:PROMPTS])
        card = _own_card if run.text else _card
        run.write_card(task, **card(run, tokenizer, results), examples=worst)
    return results


def _texts(run):
    """The texts of each split, and the best possible perplexity of generated ones."""
    from zoo.data import agreement_sentences, load_ptb

    if run.text:
        splits = ("train", "valid", "test")
        texts = {split: getattr(run.text, split) for split in splits}
        return {split: part for split, part in texts.items() if part}, {}
    if run.settings.corpus == "ptb":
        return {split: load_ptb(split) for split in ("train", "valid", "test")}, {}
    texts, best = {}, {}
    for number, split in enumerate(("train", "valid", "test")):
        count = run.settings.sentences
        count = count if split == "train" else min(count, 1000)
        texts[split], total = agreement_sentences(count, seed=3 * run.seed + number)
        words = sum(len(text.split()) + 1 for text in texts[split])
        best[split] = {"optimum": math.exp(-total / words)}
    return texts, best


def _decay(factor):
    from zoo.training.schedules import Plateau

    if factor is None:
        return ()
    options = {"factor": factor, "patience": 1, "min_delta": 0.0}
    return (Plateau("val_perplexity", "min", **options),)


def _card(run, tokenizer, results):
    from zoo.data.word_corpora import PTB

    settings, program = run.settings, f"zoo evaluate {run.recipe.name}"
    return {
        "description": (
            "A language model over the 10,000 words of the Penn Treebank: word vectors "
            f"of {settings.embedding_dim}, {settings.num_layers} recurrent layer of "
            f"{settings.hidden_dim} units, softmax. The state is carried over from "
            "sentence to sentence. "
            + _tapes(settings)
            + "Trained with Adam and dropout instead of the SGD of Cheng et al. 2016."
        ),
        "intended_use": "Teaching and comparison of recurrent cells.",
        "weaknesses": [
            "Newspaper text of 1989 in lower case, without punctuation; rare words are "
            "<unk> and numbers N.",
            "It knows what is likely in a sentence, and nothing of facts.",
            "The likeliest words (greedy search) soon go round in a circle, or end the "
            "sentence at once; a sampler draws better ones.",
        ],
        "task": "generate",
        "languages": ["en"],
        **of_corpora(PTB),
        "vocabulary": tokenizer.vocabulary_size(),
        "scores": [
            _score("ptb", split, scores, f"{program} --data ptb --split {split}")
            for split, scores in results.items()
        ],
    }


def _score(data, split, scores, command):
    return {
        "data": data,
        "split": split,
        "metric": "perplexity",
        "value": round(scores["perplexity"], 4),
        "signature": "words and ends of sentences, state carried over",
        "command": command,
    }


def _own_card(run, tokenizer, results):
    """The card of a model of a user's own text."""
    settings, kind = run.settings, run.settings.cell.upper()
    description = (
        f"A language model over {tokenizer.vocabulary_size():,} words: word vectors of "
        f"{settings.embedding_dim}, {settings.num_layers} recurrent layer of "
        f"{settings.hidden_dim} units, softmax. {_tapes(settings)}"
    )
    scores = []
    for split in results:
        data, _, command = own_test(run, split)
        scores.append(_score(data, split, results[split], command))
    return {
        "title": f"{kind}, a word language model",
        "task": "generate",
        "languages": run.arguments.languages or ["und"],
        "vocabulary": tokenizer.vocabulary_size(),
        "scores": scores,
        **own_text_card(run, description.strip()),
    }


def _tapes(settings):
    """Describes the reach of an LSTMN's attention, which its paper doesn't give."""
    if settings.cell != "lstmn":
        return ""
    if settings.tapes == "call":
        return f"Its tapes go over {settings.length} words. "
    return (
        "Its tapes go over a sentence (over the words of a segment of "
        f"{settings.length} that belong to it) and start with the last state. "
    )
