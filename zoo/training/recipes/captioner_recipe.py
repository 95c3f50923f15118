"""The training of a captioner on generated images, and its scores."""

import dataclasses
from collections.abc import Iterable
from typing import Any

import numpy as np

from zoo.checks import one_of
from zoo.training.card_metadata import TestSet
from zoo.training.config import refused_as
from zoo.training.optimizers import Optimizer
from zoo.training.recipe import at_least

TESTED = 1000  # images of the test
VALID = 300
# What is counted of captions, by the data.
ACCURACY = {"scenes": "true captions", "formulas": "exact captions"}
# Of the scores on a card, what they say.
SIGNATURES = {
    "true captions": "share of captions that are true of the scene, beam 5",
    "exact captions": "share of captions equal to the formula, beam 5",
    "attention peak": "share of phrases (of a formula: symbols) at whose sharpest "
    "look the place of most attention meets the thing",
    "attention centre": "share of phrases (of a formula: symbols) at whose sharpest "
    "look the centre of attention lies on the thing",
    "attention mass": "mean attention to places that meet the thing, at the sharpest "
    "look of a phrase (of a formula: a symbol)",
    "attention peak of words": "as attention peak, of each word of size, colour or "
    "shape by itself",
}


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
        one_of("data", self.data, ACCURACY)


def examples(data: str, count: int, split: str) -> list[Any]:
    """Draws examples with `caption`, `boxes`, `draw` and `is_true`.

    Args:
        data: one of `ACCURACY`.
        count: their number.
        split: "train", "valid" or "test".
    """
    from zoo.data import draw_formulas, draw_scenes

    draw: Any = draw_scenes if data == "scenes" else draw_formulas
    return draw(count, split)


def draw_tests(data: str, numbers: Iterable[int]) -> list[np.ndarray]:
    """Draws the test images of these numbers, from 0.

    Args:
        data: one of `ACCURACY`.
        numbers: their places among the test's examples.
    """
    numbers = list(numbers)
    drawn = examples(data, max(numbers, default=-1) + 1, "test")
    return [drawn[number].draw() for number in numbers]


def train(run: Any) -> dict[str, Any]:
    """Trains a captioner, writes its preset and returns its scores."""
    from zoo.models import (
        ShowAttendTell,
        ShowAttendTellCaptioner,
        ShowAttendTellCaptionerPreprocessor,
    )
    from zoo.text import Tokenizer
    from zoo.training.callbacks import Monitor
    from zoo.training.losses import SmoothedCrossEntropy

    settings, data = run.settings, run.settings.data
    run.say(f"drawing {settings.images + VALID:,} images")
    given = examples(data, settings.images, "train")
    valid = examples(data, VALID, "valid")
    captions = [example.caption for example in given]
    tokenizer = Tokenizer(proto=_vocabulary(captions))
    images = _draw(given)
    rows = tokenizer.tokenize(captions)
    preprocessor = ShowAttendTellCaptionerPreprocessor(
        tokenizer,
        image_shape=images.shape[1:],
        target_length=8 * -(-(max(map(len, rows)) + 2) // 8),
        dtype="float32",  # or the preset would have the run's precision
    )
    size = tokenizer.vocabulary_size()
    with refused_as("model"):
        backbone = ShowAttendTell(size, image_shape=images.shape[1:], **settings.model)
    task = ShowAttendTellCaptioner(backbone, preprocessor)
    held_out, watched = _draw(valid), f"val_{ACCURACY[data].replace(' ', '_')}"

    def validate(_):
        texts = task.caption(held_out, beam_size=1, batch_size=100)
        return {watched: _true(valid, texts)}

    run.fit(
        task,
        _batches(settings, images, rows, run.seed),
        SmoothedCrossEntropy(**settings.loss),
        validate,
        Monitor(watched, "max"),
        backbone=backbone,
    )
    task = run.save(task)
    tests, texts, weights = outputs(task, data)
    results = scores(data, tests, texts, weights)
    shown = ", ".join(f"{name} {value:.2f}" for name, value in results.items())
    run.say(f"test: {shown}")
    if run.recipe.card and run.scale_name != "tiny":
        terms = f"generated by zoo.data.{data}; no terms apply"
        run.write_card(
            task,
            languages=["en" if data == "scenes" else "zxx"],
            data=[{"name": data, "terms": terms}],
            # Without hard attention's baseline, which is the task's.
            sizes={"parameters": backbone.count_params(), "vocabulary": size},
            scores=card_scores(run.name, data, results),
            examples=worst(data, tests, texts),
        )
    return {data: results}


def scores(
    data: str, tests: list[Any], texts: list[str], weights: list[Any]
) -> dict[str, float]:
    """Scores a captioner on test images.

    Args:
        data: one of `ACCURACY`.
        tests: test examples.
        texts: the model's captions of them.
        weights: its attention, `(words, h, w)` for each image, while it reads the
            tests' own captions. `outputs` returns all three.

    Returns:
        dict of percentages by the names of `SIGNATURES`: the captions that are true of
        their images; and while the model reads the captions that the images were drawn
        with, those of `zoo.analysis.evaluation.grounding`: at the sharpest look of each
        phrase ("a small red star": its word with the highest weight), and, for scenes,
        at each naming word by itself. "attention mass by chance" is the mass if
        attention were even.
    """
    from zoo.analysis.evaluation import grounding

    looks = [sharpest_looks(*pair) for pair in zip(tests, weights, strict=True)]
    by_phrase = grounding(*zip(*looks, strict=True))
    found = {
        ACCURACY[data]: _true(tests, texts),
        "attention peak": by_phrase["peak"],
        "attention centre": by_phrase["centre"],
        "attention mass": by_phrase["mass"],
        "attention mass by chance": by_phrase["chance"],
    }
    if data == "scenes":  # a phrase of a formula is one symbol
        by_word = grounding(weights, [test.boxes for test in tests])
        found["attention peak of words"] = by_word["peak"]
    return found


def outputs(
    task: Any, data: str, count: int | None = None
) -> tuple[list[Any], list[str], list[Any]]:
    """Captions test images, and reads the captions that they were drawn with.

    Args:
        task: the captioner.
        data: one of `ACCURACY`.
        count: images. Default: 1,000.

    Returns:
        The examples; the model's captions; and its attention, `(words, h, w)`, as it
        reads the examples' own.
    """
    tests = examples(data, count or TESTED, "test")
    images = _draw(tests)
    texts = task.caption(images, batch_size=100)
    records = task.align(images, [test.caption for test in tests], batch_size=100)
    return tests, texts, [record.alignment for record in records]


def sharpest_looks(example: Any, weights: Any) -> tuple[list[Any], list[Any]]:
    """How a captioner looks at what it names.

    Args:
        example: the example, with its `phrases` and `boxes`.
        weights: attention as its caption is read, `(words, h, w)`.

    Returns:
        For each phrase ("a small red star") the attention `(h, w)` of its word with the
        highest weight, and the box of the thing that it names.
    """
    looks, boxes = [], []
    for first, end in example.phrases:
        peaks = weights[first:end].max(axis=(1, 2))
        looks.append(weights[first + peaks.argmax()])
        boxes.append(example.boxes[end - 1])
    return looks, boxes


def worst(
    data: str, tests: list[Any], texts: list[str], count: int = 3
) -> list[dict[str, str]]:
    """Test captions that are not true, for a card; see `scores`."""
    wrong = [
        {"source": f"{data} test {i}", "reference": t.caption, "output": text}
        for i, (t, text) in enumerate(zip(tests, texts, strict=True))
        if not t.is_true(text)
    ]
    return wrong[:count]


def card_scores(name: str, data: str, results: dict[str, float]) -> list[Any]:
    """A card's scores."""
    command = f"KERAS_BACKEND=jax python -m tools.presets.measure {name}"
    known = {k: told for k, told in SIGNATURES.items() if k in results}
    test = TestSet(data, "test", command)
    return [test.score(metric, results[metric], told) for metric, told in known.items()]


def _draw(examples):
    return np.stack([example.draw() for example in examples])


def _true(examples, texts):
    pairs = zip(examples, texts, strict=True)
    return 100 * float(np.mean([example.is_true(text) for example, text in pairs]))


def _vocabulary(captions):
    """A SentencePiece model of the captions' words, which spaces separate."""
    from zoo.text import train_tokenizer

    words = {word for caption in captions for word in caption.split()}
    # Four special pieces; every word is one.
    return train_tokenizer(captions, len(words) + 4, "nmt_nfkc", model_type="word")


def _batches(settings, images, rows, seed):
    from zoo.ids import END_ID, START_ID
    from zoo.text.rows import pad_rows
    from zoo.training.batches.buckets import group_by_length
    from zoo.training.batches.padded_batches import ArrayBatches

    parts = []
    lengths = [len(row) + 1 for row in rows]
    for length, places in group_by_length(lengths, settings.buckets):
        inputs = pad_rows([[START_ID, *rows[i]] for i in places], length)
        labels = pad_rows([[*rows[i], END_ID] for i in places], length)
        x = {"images": images[places], "target_ids": inputs}
        parts.append((x, labels, (labels > 0).astype("float32")))
    return ArrayBatches(parts, settings.batch_size, seed)
