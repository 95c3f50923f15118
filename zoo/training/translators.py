"""What the translators' recipes have in common: data, budget, card.

`small` gives each preset the same corpora, vocabulary, optimizer and number of epochs,
so that their scores tell the architectures apart. Learning rate, cells, dropout and
initial weights are what suits each paper's model, the same for all of Luong's;
Bahdanau's has larger batches, too.
"""

from zoo.training.optimizers import Optimizer
from zoo.training.recipe import Recipe, Scale

CORPORA = (("multi30k", 2), ("tatoeba", 1))


def task(name):
    """A function that imports a task class of `zoo.models` when it is called: a
    recipe's `--help` needs no Keras."""

    def imported():
        from zoo import models

        return getattr(models, name)

    return imported


def tiny(model, rate=5e-3, **changes):
    """Generated sentences to reverse, in under two minutes.

    Args:
        model: arguments of the backbone.
        rate: highest learning rate.
        **changes: other fields of the `Scale`.
    """
    fields = {
        "optimizer": Optimizer("adam", rate, "linear", warmup=100, clip=1.0),
        "epochs": 12,
        "vocabulary_size": 34,
        "batch": {"batch_size": 64},
        "pairs": 6000,
        "max_length": 32,
        "buckets": 2,
    }
    return Scale(model=model, **{**fields, **changes})


def small(model, rate=8e-3, **changes):
    """Multi30k and Tatoeba, the size of the bundled presets; arguments as in `tiny`."""
    fields = {
        "corpora": CORPORA,
        "optimizer": Optimizer("adam", rate, "linear", warmup=400, clip=1.0),
        "loss": {"smoothing": 0.1},
        "epochs": 3,
        "vocabulary_size": 5000,
        "batch": {"batch_tokens": 768},
        "max_length": 64,
    }
    return Scale(model=model, **{**fields, **changes})


def multi30k(model, rate=4e-3, **changes):
    """Multi30k alone, the strict benchmark, English to German; the other direction by
    `--set source=de --set target=en`. Arguments as in `tiny`."""
    fields = {
        "corpora": (("multi30k", 1),),
        "optimizer": Optimizer("adam", rate, "linear", warmup=400, clip=1.0),
        "loss": {"smoothing": 0.1},
        "epochs": 10,
        "vocabulary_size": 4000,
        "batch": {"batch_tokens": 768},
        "max_length": 64,
    }
    return Scale(model=model, **{**fields, **changes})


def paper(optimizer, epochs, batch, model=None, **changes):
    """The paper's layers, which are the class's defaults, and its schedule.

    WMT14 is not among the zoo's corpora: the text is that of `small`, its vocabulary
    5,000 pieces.

    Args:
        optimizer: an `Optimizer`.
        epochs: passes over the data.
        batch: arguments of `PairBatches`.
        model: arguments of the backbone that are not its defaults.
        **changes: other fields of the `Scale`.
    """
    fields = {
        "corpora": CORPORA,
        "loss": {"normalize": "sentences"},
        "vocabulary_size": 5000,
        "max_length": 50,
    }
    given = {"optimizer": optimizer, "epochs": epochs, "batch": batch}
    return Scale(model=model or {}, **{**fields, **given, **changes})


# Of some models: below 0.8 words for one of the reference on four captions in one
# source (tools/reproduce.py), and what examples of bad output show.
SHORT = (
    "What is longer than its training sentences, as several captions in one text, "
    "comes out too short."
)
LOOPS = "Now and then it repeats a word, or a piece of one, up to the limit of length."


def card(title, description, equations, paper, weaknesses=()):
    """What the card of a translator says that no run can know.

    Args:
        title: str, the model; the languages are put behind it.
        description: str, the architecture and where it is not the paper's.
        equations: str, which of the paper's, and which variant.
        paper: dict of title, authors, year and url.
        weaknesses: list of str, this model's own; those of all are added.
    """
    return {
        "title": title,
        "description": description,
        "equations": equations,
        "intended_use": (
            "Teaching, comparison of architectures, tests of serving. It translates "
            "short everyday sentences and image captions; it is no general translator."
        ),
        "weaknesses": [
            *weaknesses,
            "Long sentences, and anything unlike captions and everyday phrases: news, "
            "law, technical text.",
            "Names, rare words and numbers of several digits are spelled out in pieces "
            "and often come out wrong.",
        ],
        "license": "cc-by-nc-4.0",
        "paper": paper,
        "task": "translate",
    }


# What the encoder of `small` reads, for the card.
_BOTH = (
    "and an encoder that reads in both directions, each with half of the cells. The "
    "paper's reads backwards only: its state at a word has just read the word that "
    "follows, so that attention peaks one word to the left of the word translated (the "
    "preset luong_reversed shows it)"
)
_BACKWARDS = (
    "and a source that is read backwards only, as in the paper. The encoder's state at "
    "a word has just read the word that follows, so that attention peaks one word to "
    "the left of the word translated"
)


def luong(
    name, file, attention, score, words, equations, weaknesses=(), bidirectional=True
):
    """Luong et al. 2015 with one of its attentions.

    Args:
        name, file: the preset's name, the recipe's file.
        attention, score: see `zoo.models.Luong`.
        words: the attention in words, for the card.
        equations: the paper's for it.
        weaknesses: as in `card`.
        bidirectional: whether the encoder of `small` reads in both directions. That of
            the other scales never does, like the paper's.
    """
    kind = {"attention": attention, "score": score}
    # The paper's 0.1 is for a thousand cells: smaller sums need larger weights.
    layers = {
        "num_layers": 2,
        "hidden_dim": 256,
        "embedding_dim": 256,
        "initializer_range": 0.2,
    }
    # Section 4.1: rate 1, halved every epoch after the 8th; norm clipped at 5 (that of
    # all gradients; the authors' code leaves the embeddings' out).
    sgd = Optimizer("sgd", 1.0, "halving", constant_epochs=8, clip=5.0)
    title = f"Luong et al. 2015, {words}"
    return Recipe(
        name=name,
        file=file,
        translator=task("LuongTranslator"),
        card=card(
            title if bidirectional else f"{title}, the encoder as in the paper",
            f"Stacked LSTM encoder and decoder with {words}, input feeding "
            f"{_BOTH if bidirectional else _BACKWARDS}. At a small size, with one "
            "SentencePiece vocabulary for both languages instead of 50,000 words each. "
            "Trained with Adam and label smoothing instead of the paper's SGD.",
            f"{equations}; the attentional vector (equations 5 and 6); input feeding "
            "(section 3.3).",
            {
                "title": (
                    "Effective Approaches to Attention-based Neural Machine Translation"
                ),
                "authors": "Minh-Thang Luong, Hieu Pham, Christopher D. Manning",
                "year": 2015,
                "url": "https://arxiv.org/abs/1508.04025",
            },
            weaknesses,
        ),
        scales={
            "tiny": tiny(
                {
                    **kind,
                    "num_layers": 1,
                    "hidden_dim": 64,
                    "embedding_dim": 32,
                    "dropout": 0.0,
                }
            ),
            "small": small(
                {
                    **kind,
                    **layers,
                    "bidirectional": bidirectional,
                    "dropout": 0.1,
                    "readout_dropout": 0.1,
                },
                # At 8e-3, local-p's v_p is driven to the sigmoid's ends at once and
                # stays there: p_t is 0 or S for every word. One rate for all, so that
                # the attention is all they differ in.
                rate=4e-3,
            ),
            "multi30k": multi30k(
                {
                    **kind,
                    **layers,
                    "dropout": 0.3,
                    "readout_dropout": 0.3,
                }
            ),
            "paper": paper(sgd, 12, {"batch_size": 128}, kind),
        },
    )
