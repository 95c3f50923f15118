"""The bundled presets do what their cards say, on the backend at hand."""

import json
from pathlib import Path

import keras
import pytest

import zoo

EXPECTED = json.loads((Path(__file__).parent / "bundled_outputs.json").read_text())
NAMES = [card.name for card in zoo.list_presets()]


@pytest.fixture(scope="module", params=NAMES)
def preset(request):
    return request.param, zoo.load(request.param)


def test_they_are_bundled():
    assert set(NAMES) == set(EXPECTED)


def test_it_is_small_and_its_card_is_true(preset):
    name, model = preset
    (card,) = [card for card in zoo.list_presets() if card.name == name]
    assert card.bytes <= 20e6
    assert card.sizes["parameters"] == model.backbone.count_params()
    assert card.sizes["vocabulary"] == model.backbone.vocabulary_size
    assert type(model).__name__ == card.architecture


def test_every_backend_gives_the_same(preset):
    """What was tagged, or translated, when the preset was made; one translation in 40
    may differ by a rounding that turned a tie."""
    name, model = preset
    expected = EXPECTED[name]
    if "tags" in expected:
        found = [[tag for _, tag in row] for row in model.tag(expected["sources"])]
        assert found == expected["tags"]
        return
    found = model.translate(expected["sources"], beam_size=5, return_details=True)
    texts = [record.text for record in found]
    equal = sum(a == b for a, b in zip(texts, expected["translations"], strict=True))
    assert equal >= len(texts) - len(texts) // 40, keras.backend.backend()
    for record, score, text in zip(
        found, expected["scores"], expected["translations"], strict=True
    ):
        if record.text == text:
            assert abs(record.score - score) < 1e-3
