import dataclasses
import json
import re
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest

import zoo
from tests.harness import load_recipe
from tests.training.tiny_run import SCALE
from zoo.data import list_corpora
from zoo.models import LuongTranslator
from zoo.training import (
    Arguments,
    CheckpointError,
    Optimizer,
    Run,
    Scale,
    config,
    translation_recipe,
)
from zoo.training.config import read_configuration
from zoo.training.recipe import recipes

pytestmark = pytest.mark.once

ROOT = Path(__file__).parents[2]


class Calls:
    """The function of a recipe that trains nothing, or fails."""

    def __init__(self):
        self.runs, self.error = [], None
        scales = {
            "tiny": SCALE,
            "small": dataclasses.replace(SCALE, pairs=999, buckets=14),
        }
        made = translation_recipe("my_recipe", lambda: LuongTranslator, scales)
        self.recipe = dataclasses.replace(made, train=self)

    def __call__(self, run):
        self.runs.append(run)
        config.write_configuration(run, run._command)
        if self.error:
            raise self.error

    def start(self, *options):
        return self.recipe.main([str(option) for option in options])


@pytest.fixture
def calls():
    return Calls()


# === The command line ===


def test_by_default_it_is_the_tiny_scale_in_a_folder_of_its_own(
    calls, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    for options in ((), ("--output", "")):
        assert calls.start(*options) == 0
    for run in calls.runs:
        assert run.recipe is calls.recipe and run.settings == SCALE
        assert run.output == Path("runs", "my_recipe-tiny") and run.output.is_dir()
        assert (run.arguments.scale, run.seed) == ("tiny", 1)


def test_arguments_reach_the_run_and_its_configuration(calls, tmp_path):
    folder = tmp_path / "a" / "b"
    options = "--scale small --seed 7 --epochs 2 --finish "
    options += "--set max_length=9 --set loss.smoothing=0.2 --set max_length=8"
    assert calls.start(*options.split(), "--output", folder) == 0
    [run] = calls.runs
    loss = {"smoothing": 0.2}
    changes = {"epochs": 2, "max_length": 8, "loss": loss}
    assert run.settings == dataclasses.replace(calls.recipe.scales["small"], **changes)
    assert (run.arguments.scale, run.output, run.seed) == ("small", folder, 7)
    assert run.arguments.finish is True
    told = read_configuration(folder)
    found = ["epochs=2", "max_length=8", "loss.smoothing=0.2"]
    assert told["set"] == run.arguments.changes == found
    assert told["hyper_parameters"]["loss"] == loss
    assert told["command"].startswith("zoo train my_recipe --scale small --seed 7 ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--epochs 0", "`epochs` must be at least 1. Received: 0"),
        ("--epochs x", "--set epochs: must be int. Received: 'x'"),
        ("--scale huge", "allowed are tiny, small .* Received: 'huge'"),
        ("--seed -1", "--seed must be 0 or more. Received: -1"),
        ("--set epoch=3", "key is one of .*epochs"),
        ("--set batch.batch_size=0", "error: batch: `batch_size` must be"),
        ("--set average.keep=0", "error: average: `keep` must be"),
    ],
)
def test_bad_arguments_are_refused_before_any_work(
    calls, tmp_path, capsys, arguments, message
):
    try:
        code = calls.start(*arguments.split(), "--output", tmp_path / "out")
    except SystemExit as stop:
        code = stop.code
    assert code == 2 and re.search(message, capsys.readouterr().err)
    assert not calls.runs and not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (CheckpointError("The checkpoint is of another run"), 2),
        (zoo.data.DownloadError("no network"), 2),
        (ImportError("Scores need sacrebleu"), 2),
        (FloatingPointError("The loss is nan"), 1),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_is_one_line_and_a_code(calls, tmp_path, capsys, error, code):
    calls.error = error
    assert calls.start("--output", tmp_path) == code
    assert capsys.readouterr().err == f"my_recipe: error: {error}\n"


def test_an_output_that_cannot_be_written_is_bad_input(calls, capsys):
    assert calls.start("--output", __file__) == 2  # a file is no folder
    assert __file__ in capsys.readouterr().err


def test_a_folder_in_which_another_run_is_at_work_is_bad_input(calls, tmp_path, capsys):
    with config.only_run_in(tmp_path):
        assert calls.start("--output", tmp_path) == 2
    assert f"another run is using {tmp_path}" in capsys.readouterr().err
    assert not calls.runs
    assert calls.start("--output", tmp_path) == 0


ONE_OF_A_FAMILY = (
    *("luong_local", "lstm", "birnn", "birnn_tasks", "lstm_tasks", "lstmn_sentiment"),
    *("show_attend_tell", "dates"),
)


def test_help_needs_no_backend():
    code = (
        "import contextlib, sys\n"
        "from zoo.training import load_recipe\n"
        "for name in sys.argv[1:]:\n"
        "    with contextlib.suppress(SystemExit):\n"
        "        load_recipe(f'recipes/{name}.py').RECIPE.main(['--help'])\n"
        "heavy = {'keras', 'tensorflow', 'jax', 'torch'} & set(sys.modules)\n"
        "sys.exit(', '.join(heavy) or 0)"
    )
    command = [sys.executable, "-c", code, *ONE_OF_A_FAMILY]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("--finish") == 2 * len(ONE_OF_A_FAMILY)


def test_precision_holds_for_the_run_and_no_longer(calls, tmp_path):
    around, precision = keras.config.dtype_policy().name, "mixed_bfloat16"
    calls.error = FloatingPointError("The loss is nan")
    assert calls.start("--precision", precision, "--output", tmp_path) == 1
    assert calls.runs[0].arguments.precision == precision
    assert read_configuration(tmp_path)["arguments"]["precision"] == precision
    assert keras.config.dtype_policy().name == around


@pytest.mark.parametrize(
    ("capability", "options", "precision", "buckets"),
    [
        ("9.0", "", "mixed_bfloat16", 3),
        ("9.0", "--set buckets=5", "mixed_bfloat16", 5),
        ("9.0", "--precision float32", "float32", 14),
        ("7.5", "", "float32", 3),
        ("", "", "float32", 14),
    ],
)
def test_defaults_of_a_translator_on_a_gpu(
    calls, tmp_path, monkeypatch, capability, options, precision, buckets
):
    found = [("a GPU", capability)] if capability else []
    monkeypatch.setattr("zoo.training.recipe.gpus", lambda: found)
    options = ["--scale", "small", *options.split()]
    assert calls.start(*options, "--output", tmp_path) == 0
    # Elsewhere it goes on as it began.
    monkeypatch.setattr("zoo.training.recipe.gpus", lambda: [] if found else ["H200"])
    assert calls.start("--resume", tmp_path) == 0
    first, second = calls.runs
    assert (first.arguments.precision, first.settings.buckets) == (precision, buckets)
    assert second.identity == first.identity


# === Resuming ===


@pytest.fixture
def begun(calls, tmp_path):
    """The folder of a run with a checkpoint, the run, and its configuration."""
    options = "--scale small --seed 7 --set max_length=9 --set epochs=3"
    assert calls.start(*options.split(), "--output", tmp_path) == 0
    state = json.dumps(calls.runs[0].identity)
    np.savez(tmp_path / "checkpoint.npz", state=np.array(state))
    return tmp_path, calls.runs.pop(), read_configuration(tmp_path)


def test_resume_rebuilds_the_run(calls, begun):
    folder, run, told = begun
    assert calls.start("--resume", folder) == 0
    assert calls.runs[0].arguments == run.arguments
    assert calls.runs[0].settings == run.settings
    again = read_configuration(folder)
    for name in ("recipe", "arguments", "set", "hyper_parameters", "backend"):
        assert again[name] == told[name]


def test_resume_takes_another_number_of_epochs(calls, begun):
    options = "--epochs 9 --finish --set patience=2".split()
    assert calls.start("--resume", begun[0], *options) == 0
    [run] = calls.runs
    scale = run.settings
    assert (scale.epochs, scale.patience, scale.max_length) == (9, 2, 9)
    assert run.arguments.finish is True
    assert run.arguments.changes == ["max_length=9", "epochs=9", "patience=2"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--seed 3", "another run: its seed differs"),
        ("--set pairs=3", "another run: its settings.pairs differs"),
    ],
)
def test_resume_refuses_other_choices(calls, begun, capsys, options, message):
    assert calls.start("--resume", begun[0], *options.split()) == 2
    assert message in capsys.readouterr().err
    assert not calls.runs


def test_resume_refuses_what_is_no_run_of_this_recipe(calls, begun, tmp_path, capsys):
    assert calls.start("--resume", tmp_path / "nowhere") == 2
    assert "not the folder of a run" in capsys.readouterr().err
    config = begun[0] / "config.json"
    text, backend = config.read_text("utf-8"), keras.backend.backend()
    other = "jax" if backend != "jax" else "torch"
    config.write_text(text.replace(f'"backend": "{backend}"', f'"backend": "{other}"'))
    assert calls.start("--resume", begun[0]) == 2
    assert f"KERAS_BACKEND={other}. Received: {backend}" in capsys.readouterr().err
    config.write_text(text)
    calls.recipe = dataclasses.replace(calls.recipe, name="other")
    assert calls.start("--resume", begun[0]) == 2
    assert "a run of the recipe my_recipe. Received: other" in capsys.readouterr().err
    assert not calls.runs


@pytest.fixture
def identity(calls, tmp_path):
    def make(scale="tiny", seed=1, **changes):
        settings = dataclasses.replace(SCALE, **changes)
        arguments = Arguments(tmp_path, scale=scale, seed=seed)
        return Run(calls.recipe, settings, arguments).identity

    return make


@pytest.mark.parametrize(
    "changes",
    [
        {"scale": "small"},
        {"model": {"hidden_dim": 9}},
        {"corpora": (("multi30k", 2),)},
        {"optimizer": Optimizer("sgd", 0.1, "linear", warmup=100)},
    ],
    ids=lambda changes: "-".join(changes),
)
def test_whatever_changes_the_run_changes_the_identity(identity, changes):
    assert identity(**changes) != identity()
    assert json.loads(json.dumps(identity(**changes))) == identity(**changes)


def test_what_changes_nothing_keeps_the_identity(identity):
    # Once begun, a run may have other epochs and the like.
    changes = {"epochs": 6, "patience": 2, "average": {"keep": 3}, "samples": 1}
    assert identity(**changes) == identity()


# === Every recipe ===


@pytest.mark.parametrize("name", recipes())
def test_recipes_name_themselves_and_have_all_scales(name):
    found = load_recipe(name).RECIPE
    assert found.name == name
    assert Path(found.file) == ROOT / "recipes" / f"{name}.py"
    of_paper = set() if name.startswith("dates") else {"paper"}
    assert {"tiny", "small"} | of_paper <= set(found.scales)
    known = {"tiny", "small", "long", "multi30k", "paper", *found.extra_presets}
    assert set(found.scales) <= known
    assert len({type(settings) for settings in found.scales.values()}) == 1
    if not isinstance(found.scales["tiny"], Scale):
        return
    assert found.card["equations"]
    assert ("long" in found.scales) == bool(of_paper)
    corpora = list_corpora()
    for corpus, _ in found.scales["tiny"].corpora:
        assert corpora[corpus].generate  # no download
    for scale in found.scales.values():
        clips = scale.optimizer(100, scale.epochs).global_clipnorm
        assert clips or (name == "transformer" and scale is found.scales["paper"])
    backbone_cls = found.classes["model"].load()
    backbone_cls(vocabulary_size=30, **found.scales["tiny"].model)
