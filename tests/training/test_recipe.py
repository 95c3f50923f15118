import csv
import dataclasses
import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import keras
import pytest

import zoo
from zoo.training import (
    CheckpointError,
    Recipe,
    Scale,
    WarmupLinearDecay,
    recipe,
    reversal_pairs,
    run,
)

ROOT = Path(__file__).parents[2]


def load_recipe(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "recipes" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# === The tiny recipe, run once ===


@pytest.fixture(scope="module")
def output(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "new" / "tiny"
    module = load_recipe("luong_local")
    assert module.main(["--scale", "tiny", "--output", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def results(output):
    return json.loads((output / "results.json").read_text())["generated"]


@pytest.fixture(scope="module")
def preset(output):
    with pytest.warns(UserWarning, match="has no card.json"):
        return zoo.load(output / "preset" / "luong_local")


def test_it_learns_to_reverse_sentences(results):
    assert results["exact"] >= 0.95
    assert results["bleu"]["score"] > 95
    assert "tok:13a" in results["bleu"]["signature"]


def test_the_written_preset_has_the_scores_that_were_reported(preset, results):
    sources, targets = reversal_pairs(200, seed=3)
    texts = preset.translate(sources)
    exact = sum(a == b for a, b in zip(texts, targets, strict=True)) / len(texts)
    assert exact == results["exact"]


def test_the_log_has_a_line_for_each_epoch(output):
    with open(output / "log.csv") as file:
        rows = list(csv.DictReader(file))
    assert [row["epoch"] for row in rows] == [str(epoch) for epoch in range(len(rows))]
    assert len(rows) == load_recipe("luong_local").RECIPE.scales["tiny"].epochs
    columns = {"loss", "val_perplexity", "val_bleu", "val_bleu_generated"}
    assert columns | {"tokens_per_second", "seconds"} <= set(rows[0])
    assert float(rows[-1]["loss"]) < float(rows[0]["loss"]) / 5
    assert float(rows[-1]["val_perplexity"]) < 1.2 < float(rows[0]["val_perplexity"])


def test_nothing_is_left_aside(output):
    names = {path.name for path in output.iterdir()}
    assert names >= {
        "tokenizer.spm",
        "checkpoint.npz",
        "best.weights.h5",
        "log.csv",
        "results.json",
        "preset",
    }
    assert not [path for path in output.rglob("*") if ".part" in path.name]


def test_started_again_with_other_choices_it_refuses_to_resume(output, capsys):
    log = (output / "log.csv").read_text()
    arguments = ["--scale", "tiny", "--output", str(output), "--seed", "2"]
    assert load_recipe("luong_local").main(arguments) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert re.match("luong_local: error: .* belongs to another run: its seed", last)
    assert (output / "log.csv").read_text() == log


# === The command line ===


@pytest.fixture
def calls(monkeypatch):
    """Replaces the trainer: what it is asked for, and what it raises."""
    from zoo.training import trainer

    calls = {"error": None}

    class FakeTrainer:
        def __init__(self, *arguments):
            calls["made"] = arguments

        def train(self, finish):
            calls["finish"] = finish
            if calls["error"]:
                raise calls["error"]

        def finish(self):
            calls["finished"] = True

    monkeypatch.setattr(trainer, "Trainer", FakeTrainer)
    return calls


def sgd(rate):
    return lambda steps, epochs: keras.optimizers.SGD(rate)


def make_recipe():
    scale = Scale(
        model={"hidden_dim": 8},
        optimizer=sgd(0.1),
        epochs=5,
        vocabulary_size=30,
        batch={"batch_size": 4},
    )
    large = dataclasses.replace(scale, vocabulary_size=999)
    scales = {"tiny": scale, "small": large, "paper": large}
    return Recipe("my_recipe", lambda: None, scales)


def test_by_default_it_is_the_tiny_scale_in_a_folder_of_its_own(
    calls, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    made = make_recipe()
    assert run(made, []) == 0
    folder = str(Path("runs") / "my_recipe-tiny")
    assert calls["made"] == (made, "tiny", made.scales["tiny"], folder, 1, None)
    assert Path(folder).is_dir()
    assert calls["finish"] is False and calls["finished"]


def test_arguments_reach_the_trainer(calls, tmp_path):
    made, folder = make_recipe(), str(tmp_path / "a" / "b")
    options = "--scale small --seed 7 --epochs 2 --limit 100 --finish".split()
    assert run(made, [*options, "--output", folder]) == 0
    scale = dataclasses.replace(made.scales["small"], epochs=2)
    assert calls["made"] == (made, "small", scale, folder, 7, 100)
    assert calls["finish"] is True


RUN_FILES = {
    "checkpoint.npz",
    "best.weights.h5",
    "tokenizer.spm",
    "log.csv",
    "samples.jsonl",
}


@pytest.mark.parametrize(
    ("options", "left"),
    [([], {*RUN_FILES, "mine.txt"}), (["--restart"], {"mine.txt"})],
)
def test_restart_removes_what_an_earlier_run_left(calls, tmp_path, options, left):
    for name in (*RUN_FILES, "mine.txt"):
        (tmp_path / name).write_text("old")
    assert run(make_recipe(), [*options, "--output", str(tmp_path)]) == 0
    assert {path.name for path in tmp_path.iterdir()} == left


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--epochs 0", "--epochs must be at least 1. Received: 0"),
        ("--limit -3", "--limit must be at least 1. Received: -3"),
        ("--scale huge", "invalid choice: 'huge'"),
        ("--seed x", "invalid int value: 'x'"),
        ("--seed -1", "--seed"),
        ("--seed 4294967296", "--seed must be below 2 ** 32. Received: 4294967296"),
        ("extra", "unrecognized arguments: extra"),
    ],
)
def test_bad_arguments_are_refused(calls, tmp_path, capsys, arguments, message):
    with pytest.raises(SystemExit) as stop:
        run(make_recipe(), [*arguments.split(), "--output", str(tmp_path / "out")])
    assert stop.value.code == 2
    assert message in capsys.readouterr().err
    assert "made" not in calls and not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "error",
    [
        CheckpointError("The checkpoint is of another run"),
        FileNotFoundError("no such corpus"),
        zoo.data.CorpusError("a corpus is damaged"),
        zoo.data.DownloadError("no network"),
        ImportError("Scores need sacrebleu"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_bad_input_is_one_line_and_code_2(calls, tmp_path, capsys, error):
    calls["error"] = error
    assert run(make_recipe(), ["--output", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"my_recipe: error: {error}\n"


def test_a_loss_that_is_not_finite_is_code_1(calls, tmp_path, capsys):
    calls["error"] = FloatingPointError("The loss is nan")
    assert run(make_recipe(), ["--output", str(tmp_path)]) == 1
    assert capsys.readouterr().err == "my_recipe: error: The loss is nan\n"


def test_an_output_that_is_a_file_is_bad_input(calls, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert run(make_recipe(), ["--output", str(tmp_path / "file")]) == 2
    assert capsys.readouterr().err.startswith("my_recipe: error: ")


def test_help_needs_no_backend():
    code = (
        "import runpy, sys\n"
        "sys.argv = ['luong_local', '--help']\n"
        "try: runpy.run_path('recipes/luong_local.py', run_name='__main__')\n"
        "except SystemExit as stop: assert stop.code == 0\n"
        "heavy = {'keras', 'numpy', 'tensorflow', 'jax', 'torch'} & set(sys.modules)\n"
        "sys.exit(', '.join(heavy) or 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "--restart" in done.stdout


# === Identity ===


def identity(**changes):
    options = {"scale_name": "tiny", "seed": 1, "limit": None, "tokenizer": b"a"}
    made = make_recipe()
    scale_changes = {k: v for k, v in changes.items() if k not in options}
    options |= {k: v for k, v in changes.items() if k in options}
    scale = dataclasses.replace(made.scales["tiny"], **scale_changes)
    return recipe.identity_of(made, scale=scale, **options)


def test_the_identity_is_repeatable_and_goes_through_json():
    assert identity() == identity()
    assert json.loads(json.dumps(identity())) == identity()


@pytest.mark.parametrize(
    "changes",
    [
        {"scale_name": "small"},
        {"seed": 2},
        {"limit": 10},
        {"tokenizer": b"b"},
        {"model": {"hidden_dim": 9}},
        {"corpora": (("multi30k", 1),)},
        {"corpora": (("multi30k", 2),)},
        {"batch": {"batch_size": 5}},
        {"batch": {"batch_tokens": 4}},
        {"loss": {"smoothing": 0.1}},
        {"max_length": 65},
        {"vocabulary_size": 31},
        {"buckets": 9},
        {"pairs": 7},
        {"optimizer": sgd(0.3)},
        {"optimizer": lambda steps, epochs: keras.optimizers.Adam(1e-3)},
    ],
    ids=lambda changes: "-".join(changes),
)
def test_whatever_changes_the_run_changes_the_identity(changes):
    assert identity(**changes) != identity()


@pytest.mark.parametrize("warmup", [100, 3000, 16000])
def test_every_warmup_is_another_identity(warmup):
    def adam(warmup):
        return lambda steps, epochs: keras.optimizers.Adam(
            WarmupLinearDecay(1e-3, warmup, steps * epochs)
        )

    first, second = identity(optimizer=adam(warmup)), identity(optimizer=adam(4000))
    assert first == identity(optimizer=adam(warmup))
    assert first != second


def test_the_same_optimizer_is_no_change():
    assert identity(optimizer=sgd(0.3)) == identity(optimizer=sgd(0.3))


def test_the_number_of_epochs_may_be_changed_on_the_way():
    assert identity(epochs=6, patience=2) == identity()


# === Every recipe ===


@pytest.mark.parametrize(
    "name", sorted(path.stem for path in (ROOT / "recipes").glob("[a-z]*.py"))
)
def test_recipes_name_themselves_and_have_all_scales(name):
    found = load_recipe(name).RECIPE
    assert found.name == name
    assert set(found.scales) == {"tiny", "small", "paper"}
    assert not found.scales["tiny"].corpora  # no download
    for scale in found.scales.values():
        assert scale.optimizer(100, scale.epochs).global_clipnorm
    found.translator().backbone_cls(vocabulary_size=30, **found.scales["tiny"].model)
