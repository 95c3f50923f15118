import numpy as np
import pytest

from tests.marks import long
from tools.bench.core import last_object
from tools.bench.workers import train

pytestmark = pytest.mark.once


@pytest.fixture
def data(tmp_path):
    """Text as `write_data` leaves it: pairs of two lengths, five words a side."""
    words = ["der", "ein", "Hund", "läuft", "."]
    for side in ("source", "target"):
        (tmp_path / f"vocabulary.{side}").write_text("\n".join(words) + "\n", "utf-8")
        lines = [" ".join(words[: 3 + row % 2]) for row in range(40)]
        (tmp_path / f"train.{side}").write_text("\n".join(lines) + "\n", "utf-8")
    return tmp_path


def test_every_word_has_one_id_and_unknown_ones_share_theirs(data):
    for known in train.read_vocabularies(data):
        assert train.to_ids(["Hund Katze der"], known) == [[6, 1, 4]]
        assert max(known.values()) == 8  # after pad, unknown, start and end


@pytest.mark.parametrize("model", ["luong", long("transformer")])
def test_zoo_trains_and_counts_real_tokens(model, data, capsys, monkeypatch):
    monkeypatch.setattr(train, "SETTLING_STEPS", 2)
    few = ["--steps", "2", "--windows", "2", "--batch-size", "4"]
    train.main(["--data", str(data), "--model", model, *few])
    found = last_object(capsys.readouterr().out)
    assert len(found["windows"]) == 2 and min(found["windows"]) > 0
    assert np.all(np.isfinite(found["losses"]))
    # Sentences of 3 and of 4 words and the end token, in turn; batches of 4 of them.
    assert found["tokens_per_batch"] == 4 * 4.5
