"""The arms of the study: what is trained, and in what order.

All translators see the 29,000 pairs of Multi30k, English to German, and nothing else,
in 4,000 pieces; the language models see the Penn Treebank, the captioners 9,000 scenes.
Sizes and epochs are such that a run takes about ten minutes on one core. Arms of a
group share every choice but the one that their claims are about. The rates were not
tuned for each arm: a difference may be one of the rate that suits. Of language models
there are also arms with the rates and initial ranges of the presets' recipes, chosen
there for larger models.
"""

import dataclasses
import hashlib
import json
from collections.abc import Callable
from typing import Any

import zoo
from tools import ROOT
from zoo.analysis.caption_scores import TESTED
from zoo.training.config import to_jsonable
from zoo.training.optimizers import Optimizer
from zoo.training.recipe import Recipe, load_recipe
from zoo.training.recipes.translator_recipe import multi30k, translation_recipe

SCALE = "study"
SEEDS = 5
EPOCHS = {"translators": 6, "language models": 8, "captioners": 10}
RATE = 4e-3  # of the recurrent translators
BUCKETS = 8  # padded shapes: each is compiled, which a short run feels
SEGMENT = 35  # words that a language model reads at once in the test
# Segments that count as one in the test of perplexities: neighbours are of one article,
# and differ alike.
BLOCK = 20

# === What a run is ===


@dataclasses.dataclass(frozen=True)
class Arm:
    """One of the things that are compared.

    Attributes:
        words: what it is, for the page.
        recipe: function that makes its `Recipe`, whose scale `scale` is run.
        kind: "translator", "language model", "captioner" or "errors": how its runs are
            measured.
        scale: name of the recipe's scale.
        beams: sizes of the beam that translate the test set; 5 is measured always.
        attends: whether its attention is compared with an aligner's.
    """

    words: str
    recipe: Callable[[], Recipe]
    kind: str = "translator"
    scale: str = SCALE
    beams: tuple[int, ...] = (5,)
    attends: bool = True


def _translator(words, name, model, beams=(5,), attends=True, **choices):
    """An `Arm` that translates; `name` is that of its task."""

    def recipe():
        shared = {
            "epochs": EPOCHS["translators"],
            "buckets": BUCKETS,
            "average": {},  # the weights of the best epoch
        }
        scale = multi30k(model, RATE, **{**shared, **choices})
        options = {"file": __file__, "own_text": False}
        task = lambda: getattr(zoo.models, name)  # noqa: E731
        return translation_recipe("study", task, {SCALE: scale}, **options)

    return Arm(words, recipe, beams=beams, attends=attends)


SIZES = {"num_layers": 2, "hidden_dim": 128, "embedding_dim": 128}
DROPOUT = 0.1
# The paper's initial range is for 1000 cells: smaller sums need larger weights.
STACK = {**SIZES, "dropout": DROPOUT, "initializer_range": 0.2}
FEEDING, PLAIN = {"input_feeding": True}, {"input_feeding": False}


def _luong(words, attention, score="general", beams=(5,), **model):
    attention = {"attention": attention, "score": score, "readout_dropout": DROPOUT}
    model = {**STACK, **attention, **model}
    return _translator(words, "LuongTranslator", model, beams=beams)


def _without(words, **model):
    """The same stacks without attention, which are those of Sutskever et al. 2014."""
    options = {"beams": (5, 1, 2, 12), "attends": False}
    return _translator(words, "Seq2SeqTranslator", {**STACK, **model}, **options)


def _gated(words, name, **model):
    sizes = {"hidden_dim": 128, "embedding_dim": 128, "maxout_dim": 128}
    model = {**sizes, "dropout": DROPOUT, "initializer_range": 0.1, **model}
    return _translator(words, name, model, attends="attention_dim" in model)


def _transformer(words, norm, warmup):
    sizes = {"num_layers": 3, "hidden_dim": 128, "ff_dim": 512, "num_heads": 4}
    model = {**sizes, "norm": norm, "dropout": DROPOUT}
    rates = Optimizer("adam", 2e-3, "linear", warmup=warmup, clip=1.0)
    return _translator(words, "TransformerTranslator", model, optimizer=rates)


def _language_model(words, cell, hidden_dim, rate=3e-3, initializer_range=0.1):
    def recipe():
        family = load_recipe(ROOT / "recipes" / "language_models.py")
        scale = family.LanguageModeling(
            cell,
            Optimizer("adam", rate, "linear", warmup=400, clip=5.0),
            EPOCHS["language models"],
            embedding_dim=100,
            hidden_dim=hidden_dim,
            dropout=0.2,
            initializer_range=initializer_range,
            batch_size=20,
        )
        return Recipe("study", {SCALE: scale}, family.train, __file__)

    return Arm(words, recipe, "language model")


# λ of the doubly stochastic penalty. The authors' 1 goes with the loss of a sentence;
# here losses are per token.
LAMBDA = 0.01


def _captioner(words, attention, doubly_stochastic=LAMBDA):
    """An `Arm` that captions scenes: `recipes/show_attend_tell.py` with other choices
    of the model, in fewer epochs."""
    model = {"attention": attention, "doubly_stochastic": doubly_stochastic}

    def recipe():
        bundled = _bundled("show_attend_tell")()
        scale = bundled.scales["small"]
        scale = dataclasses.replace(
            scale, epochs=EPOCHS["captioners"], model={**scale.model, **model}
        )
        return dataclasses.replace(
            bundled, name="study", scales={SCALE: scale}, card={}
        )

    return Arm(words, recipe, "captioner")


def _bundled(name):
    """A function that loads a recipe of `recipes/`."""
    return lambda: load_recipe(ROOT / "recipes" / f"{name}.py").RECIPE


# The table has these names.
ARMS: dict[str, Arm] = {
    "none": _without("no attention, the source reversed"),
    "dot": _luong("global, dot", "global", "dot", **FEEDING),
    "general": _luong("global, general", "global", beams=(5, 1), **FEEDING),
    "local_p": _luong("local-p, general", "local_p", **FEEDING),
    "general_plain": _luong("global, general, no input feeding", "global", **PLAIN),
    "none_forward": _without("no attention, not reversed", reverse_source=False),
    "location_plain": _luong("global, location, no input feeding", "location", **PLAIN),
    "location": _luong("global, location", "location", **FEEDING),
    "concat": _luong("global, concat", "global", "concat", **FEEDING),
    "local_m": _luong("local-m, general", "local_m", **FEEDING),
    "general_forward": _luong(
        "global, general, not reversed", "global", reverse_source=False, **FEEDING
    ),
    "general_both": _luong(
        "global, general, both directions", "global", bidirectional=True, **FEEDING
    ),
    "bahdanau": _gated("RNNsearch", "BahdanauTranslator", attention_dim=128),
    "rnnencdec": _gated(
        "RNNencdec",
        "RNNEncoderDecoderTranslator",
        variant="groundhog",
        output_rank=None,
    ),
    "post": _transformer("post-norm, warm-up", "post", 400),
    "post_cold": _transformer("post-norm, no warm-up", "post", 0),
    "pre": _transformer("pre-norm, warm-up", "pre", 400),
    "pre_cold": _transformer("pre-norm, no warm-up", "pre", 0),
    # Of 2.65 million weights each.
    "lstm": _language_model("LSTM, 150 units", "lstm", 150),
    "gru": _language_model("GRU, 153 units", "gru", 153),
    "lstmn": _language_model("LSTMN, 145 units", "lstmn", 145),
    "lstm_own": _language_model(
        "LSTM, with the rate and initial range of `recipes/lstm.py`",
        "lstm",
        150,
        initializer_range=0.05,
    ),
    "lstmn_own": _language_model(
        "LSTMN, with the rate and initial range of `recipes/lstmn_lm.py`",
        "lstmn",
        145,
        rate=3.5e-3,
        initializer_range=0.15,
    ),
    "birnn": Arm(
        "nets of one and of two directions, each with the delays of "
        "`recipes/birnn_tasks.py`",
        _bundled("birnn_tasks"),
        "errors",
        "small",
    ),
    "soft": _captioner("soft attention", "soft"),
    "soft_plain": _captioner(
        "soft attention, no penalty", "soft", doubly_stochastic=0.0
    ),
    "hard": _captioner("hard attention, a coin at each step", "hard"),
    "hard_plain": _captioner(
        "hard attention, no penalty", "hard", doubly_stochastic=0.0
    ),
}

# === In what order, and what a run depends on ===


def plan() -> list[tuple[str, int]]:
    """The runs, (arm, seed), seed by seed: whenever it stops all arms are even."""
    return [(name, seed) for seed in range(1, SEEDS + 1) for name in ARMS]


def choices(name) -> Any:
    """The choices of an arm's runs, which its recipe's scale holds."""
    arm = ARMS[name]
    return arm.recipe().scales[arm.scale]


def digest(name) -> str:
    """A digest of an arm's choices and of how it is measured: runs of one digest may
    stand together."""
    arm = ARMS[name]
    settings = to_jsonable(choices(name))
    # They came later: while they change nothing, the digests of earlier runs hold.
    for key, value in (("tokenizer", {"normalization": "nmt_nfkc"}), ("start", None)):
        if settings.get(key) == value:
            settings.pop(key, None)
    parts = [arm.recipe().name, settings, arm.kind, arm.scale, arm.beams, arm.attends]
    if arm.kind == "language model":
        parts += [SEGMENT, BLOCK]
    if arm.kind == "captioner":
        parts.append(TESTED)
    text = json.dumps(parts, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
