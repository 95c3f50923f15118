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


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("show_attend_tell", (80, 80, 3)),
        ("show_attend_tell_formulas", (48, 160, 3)),
    ],
)
def test_captioners_get_test_images(name, shape):
    pytest.importorskip("matplotlib", reason="formulas are rendered by matplotlib")
    images, references = inputs_of(name, 2)
    assert [image.shape for image in images] == [shape] * 2 and references is None
