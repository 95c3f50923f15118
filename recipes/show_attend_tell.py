"""Xu et al. 2015, Show, Attend and Tell: sentences about images.

    python recipes/show_attend_tell.py --scale tiny|small|formulas|paper

The images are generated, so that nothing is downloaded, any use is free, and it is
known where each thing is that a sentence names: scenes of coloured shapes
(`zoo.data.generated.scenes`), or formulas to be written in LaTeX
(`zoo.data.generated.formulas`, extra `plot`). The convolutional net is small and
trained with the decoder; the paper's was trained on ImageNet before.

tiny:  4,500 scenes, under two minutes on a CPU.
small: 9,000 scenes, ten minutes on one core: the bundled preset.
formulas: 9,000 formulas, a quarter of an hour: the preset that writes LaTeX.
paper: the authors' decoder for COCO and Adam (rate and clipping are ours), on 12,000
       scenes.

Hard attention: `--set model.attention=hard`. At `formulas` it hardly learns from
nothing, but does from the soft preset's weights (docs/papers/xu.md): `--from
show_attend_tell_formulas --set optimizer.learning_rate=1e-3 --epochs 4`.

Only `paper` has the doubly stochastic penalty, with the authors' λ of 1 and their loss
of a sentence; elsewhere losses are per token, and `--set model.doubly_stochastic=0.01`
adds it.
"""

import dataclasses
from typing import Any

import zoo
from zoo.checks import one_of
from zoo.training import ClassArguments, Optimizer, Recipe, at_least
from zoo.training.config import ConfigurationError, refused_as


@dataclasses.dataclass(frozen=True)
class Captions:
    """The choices of a captioner's run.

    Attributes:
        epochs, optimizer, patience: as in `zoo.training.Scale`.
        data: "scenes" or "formulas".
        images: number of training images.
        model: arguments of the backbone, except vocabulary and images.
        loss: arguments of `SmoothedCrossEntropy`.
        batch_size: images of a batch.
        buckets: padded lengths of captions, each compiled once.

    Raises:
        ValueError: for a number out of range, or other data.
    """

    epochs: int
    optimizer: Optimizer
    data: str = "scenes"
    images: int = 12_000
    model: dict[str, Any] = dataclasses.field(default_factory=dict)
    loss: dict[str, Any] = dataclasses.field(default_factory=dict)
    batch_size: int = 32
    buckets: int = 3
    patience: int | None = None

    def __post_init__(self) -> None:
        at_least(self, epochs=1, images=1, batch_size=1, buckets=1, patience=1)
        one_of("data", self.data, ("scenes", "formulas"))


def train(run: Any) -> dict[str, Any]:
    """Trains a captioner, writes its preset and returns its scores."""
    from zoo.analysis import caption_scores
    from zoo.text import Tokenizer

    settings, data, count = run.settings, run.settings.data, caption_scores.VALID
    run.say(f"drawing {settings.images + count:,} images")
    given = caption_scores.examples(data, settings.images, "train")
    valid = caption_scores.examples(data, count, "valid")
    captions = [example.caption for example in given]
    start = run.start
    proto = start.preprocessor.tokenizer.proto if start else _vocabulary(captions)
    tokenizer = Tokenizer(proto=proto)
    images = caption_scores.draw_images(given)
    rows = tokenizer.tokenize(captions)
    if any(tokenizer.unk_token_id in row for row in rows):
        raise ConfigurationError("--from: the preset lacks words of these captions")
    preprocessor = zoo.models.ShowAttendTellCaptionerPreprocessor(
        tokenizer,
        image_shape=images.shape[1:],
        target_length=8 * -(-(max(map(len, rows)) + 2) // 8),
        dtype="float32",  # or the preset would have the run's precision
    )
    size, options = tokenizer.vocabulary_size(), {"image_shape": images.shape[1:]}
    with refused_as("model"):
        backbone = zoo.models.ShowAttendTell(size, **options, **settings.model)
    run.copy_start(backbone)
    task = zoo.models.ShowAttendTellCaptioner(backbone, preprocessor)
    held_out = caption_scores.draw_images(valid)
    watched = f"val_{caption_scores.ACCURACY[data].replace(' ', '_')}"

    def validate(_):
        texts = task.caption(held_out, beam_size=1, batch_size=100)
        return {watched: caption_scores.share_true(valid, texts)}

    run.fit(
        task,
        _batches(settings, images, rows, run.seed),
        zoo.training.SmoothedCrossEntropy(**settings.loss),
        validate,
        zoo.training.Monitor(watched, "max"),
        backbone=backbone,
    )
    task = run.save(task)
    tests, texts, weights = caption_scores.outputs(task, data)
    results = caption_scores.scores(data, tests, texts, weights)
    shown = ", ".join(f"{name} {value:.2f}" for name, value in results.items())
    run.say(f"test: {shown}")
    if run.recipe.card and run.arguments.scale != "tiny":
        bad = caption_scores.worst(data, tests, texts)
        _write_card(run, task, results, caption_scores.SIGNATURES, bad)
    return {data: results}


def _write_card(run, task, results, signatures, bad):
    data, backbone = run.settings.data, task.backbone
    terms = f"generated by zoo.data.generated.{data}; no terms apply"
    command = f"KERAS_BACKEND=jax python -m tools.presets.measure {run.name}"
    # Without hard attention's baseline, which is the task's.
    sizes = {"vocabulary": backbone.vocabulary_size}
    sizes["parameters"] = backbone.count_params()
    run.write_card(
        task,
        languages=["en" if data == "scenes" else "zxx"],
        data=[{"name": data, "terms": terms}],
        license="apache-2.0",
        sizes=sizes,
        scores=[
            {**run.score(data, "test", name, results[name], told), "command": command}
            for name, told in signatures.items()
            if name in results
        ],
        examples=bad,
    )


def _vocabulary(captions):
    """A SentencePiece model of the captions' words, which spaces separate."""
    from zoo.text import train_tokenizer

    words = {word for caption in captions for word in caption.split()}
    # Four special pieces; every word is one.
    return train_tokenizer(captions, len(words) + 4, "nmt_nfkc", model_type="word")


def _batches(settings, images, rows, seed):
    from zoo.ids import END_ID, START_ID
    from zoo.text.rows import pad_rows

    parts = []
    lengths = [len(row) + 1 for row in rows]
    for length, places in zoo.training.group_by_length(lengths, settings.buckets):
        inputs = pad_rows([[START_ID, *rows[i]] for i in places], length)
        labels = pad_rows([[*rows[i], END_ID] for i in places], length)
        x = {"images": images[places], "target_ids": inputs}
        parts.append((x, labels, (labels > 0).astype("float32")))
    return zoo.training.ArrayBatches(parts, settings.batch_size, seed)


# Without the paper's penalty (equation 14), which costs more on scenes than it brings
# (docs/reproduction.md, "Several seeds"); on formulas it spreads attention and brings
# nothing (docs/papers/xu.md).
MODEL = {
    "hidden_dim": 160,
    "embedding_dim": 64,
    "annotation_dim": 64,
    "attention_dim": 64,
    "attention": "soft",
    "doubly_stochastic": 0.0,
    "dropout": 0.1,
}
CARD = {
    "title": "Xu et al. 2015, Show, Attend and Tell",
    "description": (
        "A convolutional net of three blocks, trained with the decoder from nothing "
        "(the paper's was VGG, trained on ImageNet), gives a grid of annotation "
        "vectors of a generated image; an LSTM attends to them, word by word."
    ),
    "equations": (
        "Section 3.1: the LSTM with the context in its gates, its start from the mean "
        "annotation, and the deep output; attention with the gate β."
    ),
    "paper": {
        "title": (
            "Show, Attend and Tell: Neural Image Caption Generation with Visual "
            "Attention"
        ),
        "authors": (
            "Kelvin Xu, Jimmy Ba, Ryan Kiros, Kyunghyun Cho, Aaron Courville, Ruslan "
            "Salakhutdinov, Richard Zemel, Yoshua Bengio"
        ),
        "year": 2015,
        "url": "https://arxiv.org/abs/1502.03044",
    },
    "task": "caption",
}
RECIPE = Recipe(
    "show_attend_tell",
    {
        "tiny": Captions(
            8,
            Optimizer("adam", 3e-3, "linear", warmup=50, clip=1.0),
            images=4500,
            buckets=1,
            model={**MODEL, "hidden_dim": 96, "embedding_dim": 48, "dropout": 0.0},
        ),
        "small": Captions(
            20,
            Optimizer("adam", 3e-3, "linear", warmup=100, clip=1.0),
            images=9000,
            buckets=2,
            model=MODEL,
        ),
        "formulas": Captions(
            20,
            Optimizer("adam", 3e-3, "linear", warmup=100, clip=1.0),
            data="formulas",
            images=9000,
            model=MODEL,
        ),
        "paper": Captions(
            20,
            Optimizer("adam", 1e-3, clip=5.0),
            model={"dropout": 0.5},
            loss={"normalize": "sentences"},
            batch_size=64,
            patience=10,
        ),
    },
    train,
    __file__,
    classes={
        "model": ClassArguments(lambda: zoo.models.ShowAttendTell),
        "loss": ClassArguments(lambda: zoo.training.SmoothedCrossEntropy, trial=()),
    },
    card=CARD,
    extra_presets=("formulas",),
)

if __name__ == "__main__":
    raise SystemExit(RECIPE.main())
