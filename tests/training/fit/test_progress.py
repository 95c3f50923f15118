import re
import types

import keras
import pytest

from zoo.training import PairBatches, Progress
from zoo.training.fit import progress as module


@pytest.fixture
def clock(monkeypatch):
    clock = types.SimpleNamespace(now=1000.0)
    monkeypatch.setattr(module.time, "monotonic", lambda: clock.now)
    return clock


def make_progress(**options):
    batches = PairBatches([[4]] * 100, [[4, 5, 6]] * 100, batch_size=10)
    progress = Progress(batches, **options)
    progress.set_params({"epochs": 3})
    return progress


def test_progress_tells_epoch_step_loss_and_tokens_per_second(clock, capsys):
    progress = make_progress(seconds=5.0)
    progress.on_epoch_begin(1)
    capsys.readouterr()
    for batch in range(10):
        clock.now += 2.0
        progress.on_train_batch_end(batch, {"loss": 1.25})
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "epoch 2/3  step 1/10  loss 1.2500  20 target tokens/s"
    assert len(lines) == 4  # every third step: 2, 8, 14 and 20 s
    logs = {}
    progress.on_epoch_end(1, logs)
    assert logs == {"tokens_per_second": 20.0, "seconds": 20.0}


def test_compiling_is_told_once(clock, capsys):
    progress = make_progress()
    progress.on_train_begin()
    progress.on_epoch_begin(0)
    progress.on_epoch_begin(1)
    told = capsys.readouterr().err.count(
        "compiling: the first step of each batch shape"
    )
    assert told == (keras.backend.backend() != "torch")


def test_the_line_of_an_epoch():
    for logs, told in (
        ((2, 3, {"seconds": 60.0, "val_chrf": 3.0}), "epoch 3/3  BLEU 38.66"),
        ((0, None, {"loss": 0.5}), "epoch 1  loss 0.5  BLEU 38.66"),
    ):
        assert module.epoch_line(*logs, {"BLEU": 38.658}) == told


def test_the_time_left_counts_no_compilation(clock, capsys):
    """Steps of 1 s, those of a new shape 100 s, and 7 s between the epochs."""
    sources = [[4] * (1 if row < 120 else 9) for row in range(240)]
    batches = PairBatches(sources, sources, batch_size=10, seed=1, buckets=2)
    progress, seen = Progress(batches, epochs=3), set()
    for epoch, later in enumerate((24 + 24, 7 + 24)):
        batches.set_epoch(epoch)
        progress.on_epoch_begin(epoch)
        for step, shape in enumerate(batches.shapes):
            clock.now += 1.0 if shape in seen else 100.0
            seen.add(shape)
            progress.on_train_batch_end(step, {"loss": 1.0})
        progress.on_epoch_end(epoch)
        clock.now += 7.0
        lines = capsys.readouterr().err.splitlines()
        told = re.findall(
            r"step (\d+)/24 .* about (\d+) seconds left", "\n".join(lines)
        )
        assert told and all(int(left) == 24 - int(s) + later for s, left in told)


def test_progress_survives_a_closed_standard_error(clock, monkeypatch):
    def closed(*args, **kwargs):
        raise BrokenPipeError

    monkeypatch.setattr("builtins.print", closed)
    progress = make_progress()
    progress.on_epoch_begin(0)
    clock.now += 1.0
    progress.on_train_batch_end(0, {"loss": 1.0})
