"""The training of a translator: its data, resuming it, what it refuses and writes."""

import dataclasses
import warnings
from types import SimpleNamespace

import keras
import numpy as np
import pytest

import zoo
from tests.marks import long
from tests.training.small_run import SCALE, Killed, load, make, read_arrays, read_log
from zoo.data import reversal_pairs
from zoo.presets.card import read_card
from zoo.text import Tokenizer, train_tokenizer
from zoo.training import CheckpointError, Optimizer
from zoo.training.fast.logit_free import LogitFreeTrainer
from zoo.training.fit import loop
from zoo.training.recipes import translation_run as translation


@pytest.fixture(scope="module", autouse=True)
def corpora():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(zoo.data, "load", load)
        patch.setattr(translation, "VALIDATION_SENTENCES", 8)
        yield


@pytest.fixture(scope="module")
def straight(tmp_path_factory):
    """A run from its first epoch to its last."""
    folder = tmp_path_factory.mktemp("straight")
    run = make(folder)
    run.train()
    return SimpleNamespace(folder=folder, run=run, results=run.finish())


@pytest.fixture(scope="module")
def resumed(tmp_path_factory):
    """The same, killed within its second epoch and started again."""
    folder = tmp_path_factory.mktemp("resumed")
    advance = loop.Progress.on_train_batch_end

    def kill(self, batch, logs=None):
        advance(self, batch, logs)
        if self.epoch == 1 and batch == 3:
            raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop.Progress, "on_train_batch_end", kill)
        with pytest.raises(Killed):
            make(folder).train()
    first = read_log(folder)
    with open(folder / "log.csv", "a") as file:  # killed before the next checkpoint
        file.write("1,9.9,9.9,9.9,9.9,9.9,9.9,9.9\n")
    keras.utils.set_random_seed(999)  # a new process would have another state
    run = make(folder)
    run.train()
    return SimpleNamespace(folder=folder, run=run, first=first)


# === Data ===


@pytest.fixture(scope="module")
def untrained(tmp_path_factory):
    return make(tmp_path_factory.mktemp("untrained"))


def test_pairs_stand_in_an_epoch_as_often_as_the_scale_says(untrained):
    counts = {}
    batches = untrained.batches
    for index in range(len(batches)):
        x, labels, weights = batches[index]
        for source, label in zip(x["source_ids"], labels * (weights > 0), strict=True):
            if source.any():
                key = (source.tolist(), label.tolist())
                counts[str(key)] = counts.get(str(key), 0) + 1
    assert sum(counts.values()) == 2 * 60 + 60  # the long ones are left out
    assert batches.seed == 1 and len(batches.buckets) == SCALE.buckets


@pytest.mark.once
def test_what_is_left_out_is_told(tmp_path, capsys):
    make(tmp_path)
    error = capsys.readouterr().err
    assert "[test_recipe] 2 pairs longer than 12 pieces (or empty) left out" in error
    assert "[test_recipe] 180 pairs in " in error


def test_validation_is_a_part_and_the_test_sets_are_whole(untrained):
    for sets in (untrained.data.validation, untrained.data.tests):
        found = {name: len(sources) for name, (sources, _) in sets.items()}
        assert found == {"multi30k": 8, "tatoeba": 8}
    assert len(untrained.data.tests["tatoeba"][1][0]) == 2


# === Training, and resuming it ===


def test_it_trains(straight):
    log = read_log(straight.folder)
    assert [row["epoch"] for row in log] == ["0", "1", "2"]
    assert float(log[2]["loss"]) < float(log[0]["loss"])
    assert {"val_perplexity", "val_bleu", "val_bleu_tatoeba"} <= set(log[0])


def test_a_killed_run_goes_on_as_if_nothing_had_been(straight, resumed):
    log = read_log(straight.folder)
    assert resumed.first == log[:1] and read_log(resumed.folder) == log
    first, second = read_arrays(straight.folder), read_arrays(resumed.folder)
    assert first.keys() == second.keys() and len(first) > 20
    for name in first:
        np.testing.assert_array_equal(first[name], second[name], name)
    assert resumed.run.finish() == straight.results


def test_a_finished_run_is_not_trained_again(straight, monkeypatch, capsys):
    monkeypatch.setattr(LogitFreeTrainer, "fit", None)
    made, checkpoint = make(straight.folder), straight.run.run.loop.checkpoint
    made.train()
    assert "resumed after epoch 3" in capsys.readouterr().err
    found = made.run.loop.checkpoint
    assert (found.best, found.best_epoch) == (checkpoint.best, checkpoint.best_epoch)


# === What is refused ===


def test_an_unknown_corpus_is_refused_with_the_choices():
    with pytest.raises(ValueError, match="tatoeba.*Received: corpora='wmt14'"):
        dataclasses.replace(SCALE, corpora=(("multi30k", 1), ("wmt14", 1)))


def copy_checkpoint(straight, folder):
    for name in ("checkpoint.npz", "best.weights.h5", "tokenizer.spm"):
        (folder / name).write_bytes((straight.folder / name).read_bytes())
    return folder / "checkpoint.npz"


@pytest.mark.once
def test_another_run_is_refused_before_the_data_are_read(
    straight, tmp_path, monkeypatch
):
    copy_checkpoint(straight, tmp_path)
    monkeypatch.setattr(zoo.data, "load", None)
    scale = dataclasses.replace(SCALE, model={**SCALE.model, "score": "dot"})
    with pytest.raises(CheckpointError, match="its settings.model.score differs"):
        make(tmp_path, scale)


@pytest.mark.once
def test_another_vocabulary_is_refused(straight, tmp_path, monkeypatch):
    path = copy_checkpoint(straight, tmp_path).with_name("tokenizer.spm")
    other = train_tokenizer(reversal_pairs(40, seed=8)[0], 29)
    for content in (other, b"", b"not a model", path.read_bytes()[:1000]):
        path.write_bytes(content)
        with pytest.raises(CheckpointError, match="spm is not the vocabulary"):
            make(tmp_path)
    path.unlink()
    monkeypatch.setattr(translation, "train_tokenizer", lambda *_, **__: other)
    with pytest.raises(CheckpointError, match="another run: its vocabulary differs"):
        make(tmp_path).train()


@pytest.mark.once
def test_nothing_is_taken_up_of_a_run_without_a_checkpoint(straight, tmp_path):
    copy_checkpoint(straight, tmp_path)
    (tmp_path / "checkpoint.npz").unlink()
    (tmp_path / "tokenizer.spm").write_bytes(b"of another scale")
    made = make(tmp_path)
    assert made.proto == (straight.folder / "tokenizer.spm").read_bytes()


# === What is written ===


def test_the_preset_is_verified_and_translates(straight):
    folder = straight.folder / "preset" / "test_recipe"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded = zoo.load(folder)
    texts = straight.run.data.tests["tatoeba"][0]
    assert loaded.translate(texts) == straight.run.translator.translate(texts)


def test_the_card_tells_of_the_run(straight):
    card = zoo.presets.verify(straight.folder / "preset" / "test_recipe")
    assert card.name == "test_recipe" and card.architecture == "LuongTranslator"
    assert card.languages == ["en", "de"] and card.seed == 1
    assert card.license == "cc-by-nc-4.0"  # Multi30k's
    assert card.sizes == {
        "parameters": straight.run.backbone.count_params(),
        "vocabulary": 30,
    }
    backend = keras.backend.backend()
    assert card.recipe == (
        f"KERAS_BACKEND={backend} zoo train test_recipe --scale tiny --seed 1"
    )
    score = card.scores[0]
    assert (score["data"], score["split"]) == ("multi30k", "test_2016_flickr")
    assert score["value"] == round(straight.results["multi30k"]["bleu"]["score"], 4)
    assert keras.__version__ in card.machine


# === Precision ===


@pytest.mark.once
@pytest.mark.parametrize("precision", [long("mixed_bfloat16"), "mixed_float16"])
def test_mixed_precision(precision, tmp_path):
    fast = Optimizer("adam", 0.02, clip=1.0)
    scale = dataclasses.replace(SCALE, optimizer=fast, loss={})
    around = keras.config.dtype_policy()
    keras.config.set_dtype_policy(precision)
    try:
        run = make(tmp_path, scale, precision=precision).train()
        run.finish()
    finally:
        keras.config.set_dtype_policy(around)
    model = run.run.loop.model
    logits = run.backbone(run.batches[0][0])
    kind = keras.backend.standardize_dtype(logits.dtype)
    assert kind == precision.removeprefix("mixed_")
    variables = [*model.weights, *model.optimizer.variables]
    assert not {"float16", "bfloat16"} & {v.dtype for v in variables}
    # float16 needs the loss scaled, bfloat16 has float32's range.
    scaled = isinstance(model.optimizer, keras.optimizers.LossScaleOptimizer)
    assert scaled == (precision == "mixed_float16")
    losses = [float(row["loss"]) for row in read_log(tmp_path)]
    assert len(losses) == SCALE.epochs and losses[-1] < 0.95 * losses[0]
    # The preset knows nothing of it, and its card does.
    preset = tmp_path / "preset" / "test_recipe"
    assert zoo.load(preset).backbone.dtype_policy.name == "float32"
    assert f"--seed 1 --precision {precision}" in read_card(preset).recipe


# === Fine-tuning ===


@pytest.mark.once
def test_characters_that_a_preset_does_not_know_are_told(tmp_path):
    proto, told = train_tokenizer(["a dog runs", "ein hund rennt"], 19), []
    task = SimpleNamespace(
        preprocessor=SimpleNamespace(tokenizer=Tokenizer(proto=proto))
    )
    run = SimpleNamespace(output=tmp_path, say=told.append, start=task, text=None)
    scale = SimpleNamespace(pieces="unigram", tokenizer={})
    for texts, count in ((["a dog runs"], 0), (["жж ф", "a dog"], 1)):
        pairs = SimpleNamespace(sources=texts, targets=[])
        data = SimpleNamespace(pairs=[(pairs, 1)])
        made = SimpleNamespace(run=run, data=data, scale=scale)
        assert translation.Translation._new_vocabulary(made) == proto
        assert len(told) == count
    assert told[0].startswith("the tokenizer rewrites 1 of 2 lines, or lacks some")
