"""What the recipes of language models have in common: data, sizes, card."""

import dataclasses
import math

from zoo.run.recipe import Recipe, at_least
from zoo.training.optimizers import Optimizer

CORPORA = ("generated", "ptb")
CELLS = ("lstm", "gru", "rnn", "lstmn")
TAPES = ("sentence", "call")
NORMALIZE = ("tokens", "sentences")
PROMPTS = 200  # sentences whose beginnings are continued, to find bad output
PAPER = {
    "title": "Long Short-Term Memory-Networks for Machine Reading",
    "authors": "Jianpeng Cheng, Li Dong, Mirella Lapata",
    "year": 2016,
    "url": "https://arxiv.org/abs/1601.06733",
}


@dataclasses.dataclass(frozen=True)
class LanguageModeling:
    """The choices of a language model's recipe.

    Attributes:
        cell, embedding_dim, hidden_dim, num_layers, dropout, initializer_range, tapes:
            of `zoo.models.RecurrentLM`.
        optimizer: an `Optimizer`.
        epochs: passes over the text.
        corpus: "generated", sentences of a small grammar, or "ptb".
        sentences: how many are generated.
        batch_size: streams that are read at the same time.
        length: words of a segment, through which gradients pass.
        decay: what a constant learning rate is multiplied by after an epoch without a
            better perplexity of the validation text; None for never.
        patience: epochs without a better one before training stops; None for never.
        normalize: what the loss of a batch is divided by: its words, "tokens", or its
            streams, "sentences".

    Raises:
        ValueError: for another corpus, cell or way to normalise, a number out of range,
            or `decay` with a schedule.
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
    batch_size: int = 40
    length: int = 35
    decay: float | None = None
    patience: int | None = None
    normalize: str = "tokens"

    def __post_init__(self):
        allowed = {"corpus": CORPORA, "cell": CELLS, "normalize": NORMALIZE}
        allowed |= {"tapes": TAPES}
        for name, values in allowed.items():
            if (value := getattr(self, name)) not in values:
                raise ValueError(
                    f"`{name}` must be one of {list(values)}. Received: {value!r}"
                )
        at_least(self, epochs=1, batch_size=1, length=1, patience=1)
        at_least(self, sentences=1 if self.corpus == "generated" else 0)
        if self.decay is not None and self.optimizer.schedule != "constant":
            raise ValueError(
                "`decay` lowers a constant learning rate. "
                f"Received: a schedule that is {self.optimizer.schedule!r}"
            )
        if self.decay is not None and not 0 < self.decay < 1:
            raise ValueError(f"`decay` must be between 0 and 1. Received: {self.decay}")


def recipe(
    name,
    cell,
    file,
    title,
    equations,
    paper=PAPER,
    rate=1e-2,
    small=None,
    **changes,
):
    """The `Recipe` of one cell, as wide as the others and with the same choices.

    Args:
        name, file: the preset's name, the recipe's file.
        cell: of `zoo.models.RecurrentLM`.
        title, equations, paper: the card's.
        rate: highest learning rate of its tiny scale.
        small: dict of other fields of its small scale.
        **changes: other fields of its tiny scale.
    """
    tiny = LanguageModeling(
        cell,
        Optimizer("adam", rate, "linear", warmup=50, clip=5.0),
        epochs=30,
        embedding_dim=16,
        hidden_dim=32,
        initializer_range=0.2,
        corpus="generated",
        sentences=6000,
        batch_size=32,
        length=20,
    )
    tiny = dataclasses.replace(tiny, **changes)
    usual = LanguageModeling(
        cell,
        Optimizer("adam", 3e-3, "linear", warmup=400, clip=5.0),
        epochs=10,
        dropout=0.4,
        batch_size=20,
    )
    small = dataclasses.replace(usual, **(small or {}))
    # SGD at 0.65, times 0.85 after an epoch without gain, the norm clipped at 5. That
    # the loss is a stream's, and 40 epochs, are our reading: the paper doesn't say.
    published = LanguageModeling(
        cell,
        Optimizer("sgd", 0.65, clip=5.0),
        epochs=40,
        decay=0.85,
        normalize="sentences",
    )
    scales = {"tiny": tiny, "small": small, "paper": published}
    told = {"title": title, "equations": equations, "paper": paper}
    return Recipe(name, scales, lambda run: _work(run, told), file)


def _work(run, told):
    """Trains, evaluates and writes the preset."""
    from zoo.decoding.score import perplexity_of
    from zoo.evaluation import worst_continuations
    from zoo.models import RecurrentCausalLM, RecurrentLM, RecurrentLMPreprocessor
    from zoo.text import WordTokenizer, count_words
    from zoo.training.losses import SmoothedCrossEntropy
    from zoo.training.streams import CarriedState, StreamBatches

    settings = run.settings
    texts, best = _texts(run)
    tokenizer = WordTokenizer(count_words(texts["train"]))
    rows = {split: tokenizer.tokenize(found) for split, found in texts.items()}
    names = ("embedding_dim", "hidden_dim", "num_layers", "cell", "dropout")
    names += ("initializer_range", "tapes")
    backbone = RecurrentLM(
        tokenizer.vocabulary_size(), **{name: getattr(settings, name) for name in names}
    )
    task = RecurrentCausalLM(backbone, RecurrentLMPreprocessor(tokenizer))

    # In segments as in training: an LSTMN's tapes start with one.
    carried = {"carry_over": True, "length": settings.length}

    def validate(model):
        found = perplexity_of(task, rows["valid"], settings.batch_size, **carried)
        return {"val_perplexity": found}

    run.fit(
        CarriedState(backbone, settings.batch_size),
        StreamBatches(rows["train"], settings.batch_size, settings.length),
        loss=SmoothedCrossEntropy(normalize=settings.normalize),
        validate=validate,
        monitor="val_perplexity",
        mode="min",
        callbacks=_decay(settings.decay),
    )
    task, results = run.save(task), {}
    for split in ("valid", "test"):
        found = perplexity_of(task, rows[split], batch_size=1, **carried)
        results[split] = {"perplexity": found, **best.get(split, {})}
        run.say(f"{split}: perplexity {found:.2f}")
    if run.scale_name == "small" and settings.corpus == "ptb":
        worst = worst_continuations(task, texts["test"][:PROMPTS])
        told = {**told, "examples": worst}
        run.write_card(task, **told, **_card(run, tokenizer, results))
    return results


def _texts(run):
    """The texts of each split, and what the best model would reach on them."""
    from zoo.data import agreement_sentences, load_ptb

    if run.settings.corpus == "ptb":
        return {split: load_ptb(split) for split in ("train", "valid", "test")}, {}
    texts, best = {}, {}
    for number, split in enumerate(("train", "valid", "test")):
        count = run.settings.sentences if split == "train" else 1000
        texts[split], total = agreement_sentences(count, seed=3 * run.seed + number)
        words = sum(len(text.split()) + 1 for text in texts[split])
        best[split] = {"optimum": math.exp(-total / words)}
    return texts, best


def _decay(factor):
    from zoo.training.callbacks import Plateau

    if factor is None:
        return ()
    options = {"factor": factor, "patience": 1, "min_delta": 0.0}
    return (Plateau("val_perplexity", "min", **options),)


def _card(run, tokenizer, results):
    from zoo.data.texts import TERMS

    settings = run.settings
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
        "license": "cc-by-nc-4.0",
        "task": "generate",
        "languages": ["en"],
        "data": [{"name": "ptb", "terms": TERMS["ptb"]}],
        "vocabulary": tokenizer.vocabulary_size(),
        "scores": [
            {
                "data": "ptb",
                "split": split,
                "metric": "perplexity",
                "value": round(found["perplexity"], 4),
                "signature": "words and ends of sentences, state carried over",
                "command": f"zoo evaluate {run.recipe.name} --data ptb --split {split}",
            }
            for split, found in results.items()
        ],
    }


def _tapes(settings):
    """What an LSTMN attends to, which its paper doesn't say."""
    if settings.cell != "lstmn":
        return ""
    if settings.tapes == "call":
        return f"Its tapes go over {settings.length} words. "
    return (
        "Its tapes go over a sentence (over the words of a segment of "
        f"{settings.length} that belong to it) and start with the last state. "
    )
