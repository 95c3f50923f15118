import types

import pytest

from zoo.training import PairBatches
from zoo.training.fit import progress as module


@pytest.fixture
def clock(monkeypatch):
    clock = types.SimpleNamespace(now=1000.0)
    monkeypatch.setattr(module.time, "monotonic", lambda: clock.now)
    return clock


def test_progress_tells_epoch_step_loss_and_tokens_per_second(clock, capsys):
    batches = PairBatches([[4]] * 100, [[4, 5, 6]] * 100, batch_size=10)
    progress = module.Progress(batches)
    progress.set_params({"epochs": 3})
    progress.on_epoch_begin(1)
    for batch in range(10):
        clock.now += 2.0
        progress.on_train_batch_end(batch, {"loss": 1.25})
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "epoch 2/3  step 1/10  loss 1.2500  20 target tokens/s"
    assert len(lines) == 4  # every third step: 2, 8, 14 and 20 s
    assert lines[1].endswith("  about 32 seconds left")  # of 6 and 10 steps
    logs = {}
    progress.on_epoch_end(1, logs)
    assert logs == {"tokens_per_second": 20.0, "seconds": 20.0}


def test_the_line_of_an_epoch():
    for logs, told in (
        ((2, 3, {"seconds": 60.0, "val_chrf": 3.0}), "epoch 3/3  BLEU 38.66"),
        ((0, None, {"loss": 0.5}), "epoch 1  loss 0.5  BLEU 38.66"),
    ):
        assert module.epoch_line(*logs, {"BLEU": 38.658}) == told
