"""Scores of captioners."""

import types

import numpy as np
import pytest

from zoo.analysis.caption_scores import outputs, scores, worst
from zoo.data import draw_formulas, draw_scenes

pytestmark = pytest.mark.backend_free


class Perfect:
    """A captioner that knows what is drawn, and looks where its words are."""

    def __init__(self, wrong=(), draw=draw_scenes):
        self.tests, self.wrong = draw(40, "test"), set(wrong)

    def caption(self, images, **_):
        assert (images[0] == self.tests[0].draw()).all()
        return [
            "a dog" if number in self.wrong else test.caption
            for number, test in enumerate(self.tests[: len(images)])
        ]

    def align(self, images, captions, **_):
        assert captions == [test.caption for test in self.tests]
        grid = (np.arange(20) + 0.5) / 20
        found = []
        for test in self.tests:
            rows = []
            for box in test.boxes:
                x, y = (0.5, 0.5) if box is None else np.mean([box[:2], box[2:]], 0)
                row = np.exp(-((grid - y)[:, None] ** 2 + (grid - x) ** 2) / 0.002)
                rows.append(row / row.sum())
            found.append(types.SimpleNamespace(alignment=np.array(rows)))
        return found


def test_scores_of_a_captioner_that_knows():
    found = scores("scenes", *outputs(Perfect(), "scenes", 40))
    assert found.pop("attention mass") > 95
    assert found.pop("attention mass by chance") < 15
    assert found == dict.fromkeys(
        [
            "true captions",
            "attention peak",
            "attention centre",
            "attention peak of words",
        ],
        100.0,
    )
    found = scores("scenes", *outputs(Perfect(wrong=[3, 7]), "scenes", 40))
    assert found["true captions"] == 95.0


def test_a_symbol_is_a_phrase_of_its_own():
    pytest.importorskip("matplotlib", reason="formulas are rendered by matplotlib")
    found = scores("formulas", *outputs(Perfect([3], draw_formulas), "formulas", 40))
    assert (found["exact captions"], found["attention peak"]) == (97.5, 100.0)
    assert "attention peak of words" not in found


def test_the_worst_are_those_that_are_not_true():
    model = Perfect(wrong=[7, 3])
    tests, texts, _ = outputs(model, "scenes", 40)
    found = worst("scenes", tests, texts)
    assert [row["source"] for row in found] == ["scenes test 3", "scenes test 7"]
    assert found[0]["reference"] == model.tests[3].caption
    assert found[0]["output"] == "a dog"
