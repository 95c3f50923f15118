import json

import keras
import numpy as np
import pytest

pytestmark = pytest.mark.skipif(
    keras.backend.backend() != "torch", reason="torch alone records steps"
)


@pytest.fixture
def recorded(monkeypatch):
    from tools.bench import recorded

    sizes = {"WORDS": 20, "ROWS": 8, "UNITS": 8, "SHAPES": (3, 5)}
    for name, size in {**sizes, "EPOCHS": 3, "STEPS": 6}.items():
        monkeypatch.setattr(recorded, name, size)
    return recorded


def test_on_a_cpu_the_losses_are_the_same(recorded, capsys):
    recorded.main(["--models", "transformer"])
    found = json.loads(capsys.readouterr().out.splitlines()[-1])["differences"]
    assert found["transformer"]["recorded"] == 3 * [0.0]
    assert np.all(np.isfinite(found["transformer"]["losses"]))


@pytest.mark.parametrize(
    ("losses", "shapes", "said"),
    [
        ([2.0, 1.0], 1, "recorded were 1 shapes, not 2"),
        ([2.0, np.nan], 2, "nan"),
        ([2.0, 1.1], 2, "1.1"),
    ],
)
def test_what_differs_is_an_error(recorded, monkeypatch, losses, shapes, said):
    def train(make, after):
        plain = np.array([2.0, 1.0]), 0
        return plain if after else (np.array(losses), shapes)

    monkeypatch.setattr(recorded, "train", train)
    with pytest.raises(SystemExit, match=said):
        recorded.compare(None)
