from types import SimpleNamespace

import pytest

import zoo
from tools.presets.inputs import inputs_of

pytestmark = pytest.mark.backend_free


def test_translators_get_the_test_set_of_their_first_score(monkeypatch):
    texts = ["a dog", "two men", "a cat"]
    pairs = SimpleNamespace(sources=texts, references=[["x"], ["y"], ["z"]])
    asked = []
    monkeypatch.setattr(zoo.data, "load", lambda *a, **b: asked.append((a, b)) or pairs)
    assert inputs_of("luong_local", 2) == (texts[:2], [["x"], ["y"]])
    assert inputs_of("dates", 3) == (texts, None)
    assert asked == [
        (("multi30k", "en", "de"), {"split": "test_2016_flickr"}),
        (("dates", "mul", "zxx"), {"split": "test"}),
    ]
