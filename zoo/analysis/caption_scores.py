"""Scores of captioners on generated images: true captions, and where they look."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from zoo.analysis.evaluation import grounding

TESTED = 1000  # images of the test
VALID = 300  # images that choose the best epoch
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


def examples(data: str, count: int, split: str) -> list[Any]:
    """Draws scenes or formulas: with `caption`, `boxes`, `draw` and `is_true`."""
    from zoo.data import draw_formulas, draw_scenes

    draw: Any = draw_scenes if data == "scenes" else draw_formulas
    return draw(count, split)


def draw_tests(data: str, numbers: Iterable[int]) -> list[np.ndarray]:
    """Draws the images at these places, from 0, among the test's examples."""
    numbers = list(numbers)
    drawn = examples(data, max(numbers, default=-1) + 1, "test")
    return [drawn[number].draw() for number in numbers]


def scores(
    data: str, tests: list[Any], texts: list[str], weights: list[Any]
) -> dict[str, float]:
    """Scores a captioner's `outputs` on test images, as percentages.

    They have the names of `SIGNATURES`: captions that are true of their images, and
    `zoo.analysis.evaluation.grounding` at the sharpest look of each phrase and, for
    scenes, at each naming word. "attention mass by chance" is the mass if attention
    were even.
    """
    looks = [sharpest_looks(*pair) for pair in zip(tests, weights, strict=True)]
    by_phrase = grounding(*zip(*looks, strict=True))
    found = {
        ACCURACY[data]: share_true(tests, texts),
        **{f"attention {kind}": by_phrase[kind] for kind in ("peak", "centre", "mass")},
        "attention mass by chance": by_phrase["chance"],
    }
    if data == "scenes":  # a phrase of a formula is one symbol
        by_word = grounding(weights, [test.boxes for test in tests])
        found["attention peak of words"] = by_word["peak"]
    return found


def outputs(
    task: Any, data: str, count: int | None = None
) -> tuple[list[Any], list[str], list[Any]]:
    """Captions test images, 1,000 by default, and reads their own captions.

    Returns the examples, the model's captions, and its attention `(words, h, w)` as it
    reads the captions that the examples were drawn with.
    """
    tests = examples(data, count or TESTED, "test")
    images = draw_images(tests)
    texts = task.caption(images, batch_size=100)
    records = task.align(images, [test.caption for test in tests], batch_size=100)
    return tests, texts, [record.alignment for record in records]


def sharpest_looks(example: Any, weights: Any) -> tuple[list[Any], list[Any]]:
    """Returns, for each phrase ("a small red star"), attention and the thing's box.

    The attention `(h, w)` is that of the phrase's word with the highest weight.
    """
    looks, boxes = [], []
    for first, end in example.phrases:
        peaks = weights[first:end].max(axis=(1, 2))
        looks.append(weights[first + peaks.argmax()])
        boxes.append(example.boxes[end - 1])
    return looks, boxes


def worst(data: str, tests: list[Any], texts: list[str]) -> list[dict[str, str]]:
    """Returns three test captions that are not true, for a card; see `outputs`."""
    wrong = [
        {"source": f"{data} test {i}", "reference": t.caption, "output": text}
        for i, (t, text) in enumerate(zip(tests, texts, strict=True))
        if not t.is_true(text)
    ]
    return wrong[:3]


def draw_images(examples: Iterable[Any]) -> np.ndarray:
    """Returns the images of examples, `(N, h, w, channels)`."""
    return np.stack([example.draw() for example in examples])


def share_true(examples: Iterable[Any], texts: Iterable[str]) -> float:
    """Returns the percentage of captions that are true of their images."""
    pairs = zip(examples, texts, strict=True)
    return 100 * float(np.mean([example.is_true(text) for example, text in pairs]))
