"""Measuring presets anew; the figures themselves are those of the cards."""

from types import SimpleNamespace

import pytest

from tests.analysis.test_caption_scores import Perfect
from tools.presets import measure

pytestmark = pytest.mark.backend_free


def test_a_captioner_is_scored_and_timed(monkeypatch):
    monkeypatch.setattr("zoo.analysis.caption_scores.TESTED", 40)
    metrics = ["true captions", "attention peak"]
    card = SimpleNamespace(
        data=[{"name": "scenes"}], scores=[{"metric": metric} for metric in metrics]
    )
    count, seconds, examples, scores = measure.caption(Perfect(wrong=[3]), card, 1)
    assert scores == [(97.5, None), (100.0, None)]
    assert [example["source"] for example in examples] == ["scenes test 3"]
    assert count == 300 and seconds > 0
