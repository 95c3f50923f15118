"""The study's runs: which are started, that killed ones go on, and what is measured."""

import json
import os
import signal
import subprocess
import sys
import time
import types

import numpy as np
import pytest

import zoo
from tests.presets_for_tests import save_translator
from tests.training.recipes.test_captioner_recipe import Perfect
from tools import ROOT
from tools.papers import arms, study
from tools.papers.arms import ARMS, Arm
from tools.papers.counts import MEASURES
from zoo.models import RecurrentCausalLM, RecurrentLM, RecurrentLMPreprocessor
from zoo.text import WordTokenizer
from zoo.training.recipe import Recipe
from zoo.training.recipes.captioner_recipe import outputs, scores
from zoo.training.recipes.translator_recipe import task, tiny, translation_recipe

JOBS = [("none", 1), ("dot", 1), ("none", 2)]


@pytest.fixture
def table(monkeypatch):
    """The runs that the committed table is taken to have."""
    runs = set()
    monkeypatch.setattr(study, "_known", lambda: runs)
    return runs


def starter(codes=()):
    """A function in the place of a run's process, and what it was called for."""
    called = []

    def start(name, seed, work):
        called.append((name, seed))
        code = dict(codes).get((name, seed), 0)
        if code == 0:
            row = {"arm": name, "seed": seed, "digest": arms.digest(name)}
            study.result_file(work, name, seed).write_text(json.dumps(row))
        return code

    return start, called


# === Which runs are started ===


@pytest.mark.backend_free
def test_runs_that_are_done_are_not_done_again(tmp_path, table):
    start, called = starter()
    table.add(("dot", 1))
    assert study.go_through(JOBS, tmp_path, start) == 0
    assert called == [("none", 1), ("none", 2)]
    assert study.go_through(JOBS, tmp_path, start) == 0 and len(called) == 2
    assert study.status(JOBS, tmp_path).splitlines() == [
        "none             2 of 2 done, 0 begun",
        "dot              1 of 1 done, 0 begun",
    ]


@pytest.mark.backend_free
def test_a_run_of_other_settings_ends_the_study(tmp_path, table, monkeypatch, capsys):
    start, called = starter()
    assert study.go_through(JOBS[:2], tmp_path, start) == 0
    path = study.result_file(tmp_path, "dot", 1)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"digest": "0" * 12}))
    for words in (["--run", "dot", "1"], ["--status"], ["--page"], []):
        assert study.main(["--work", str(tmp_path), *words]) == 2
        error = capsys.readouterr().err
        assert f"{path}: the run of dot, seed 1, has other settings" in error
        assert f"digest: {arms.digest('dot')}. Received: 000000000000" in error
    assert len(called) == 2


@pytest.mark.backend_free
def test_a_run_that_breaks_off_ends_the_study_which_then_goes_on(tmp_path, table):
    start, called = starter({("dot", 1): 143})
    assert study.go_through(JOBS, tmp_path, start) == 143
    assert called == [("none", 1), ("dot", 1)]
    (tmp_path / "dot-1").mkdir()
    assert "dot              0 of 1 done, 1 begun" in study.status(JOBS, tmp_path)
    start, called = starter()
    assert study.go_through(JOBS, tmp_path, start) == 0
    assert called == [("dot", 1), ("none", 2)]


@pytest.mark.backend_free
def test_a_run_that_another_process_has_is_left_to_it(tmp_path, table, monkeypatch):
    start, called = starter({("dot", 1): study.BUSY})
    assert study.go_through(JOBS, tmp_path, start) == 0
    assert called == JOBS

    code = (
        "import sys, time; from pathlib import Path; from tools.papers.study import "
        "only\nwith only(Path(sys.argv[1]), 'dot', 1): print('has it', flush=True); "
        "time.sleep(60)"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as other:
        try:
            assert other.stdout.readline() == b"has it\n"
            assert study.run("dot", 1, tmp_path) == study.BUSY
            with study.only(tmp_path, "dot", 2):
                pass
        finally:
            other.kill()
    with study.only(tmp_path, "dot", 1):  # the lock ends with the process
        pass


@pytest.mark.backend_free
@pytest.mark.parametrize("name", ["nothing", "dot x"])
def test_what_cannot_be_run_is_refused(name, capsys):
    with pytest.raises(SystemExit, match="2"):
        study.main(["--run", *f"{name} 1".split()[:2]])
    assert "Received: " + " ".join(f"{name} 1".split()[:2]) in capsys.readouterr().err


# === One run ===


def short(epochs):
    """An arm that learns to reverse sentences, in seconds."""
    model = {"num_layers": 1, "hidden_dim": 16, "embedding_dim": 8, "dropout": 0.0}
    scale = tiny({**model, "attention": "global"}, pairs=120, epochs=epochs)
    options = {"file": __file__, "own_text": False}

    def recipe():
        translator = task("LuongTranslator")
        return translation_recipe("study", translator, {arms.SCALE: scale}, **options)

    return Arm("reversal", "tests", recipe)


@pytest.mark.once
def test_a_run_leaves_its_line_and_its_preset(tmp_path, monkeypatch):
    monkeypatch.setitem(ARMS, "short", short(2))
    sources, targets = ["a b c", "b a", "c"], ["c b a", "a b", "c"]
    pairs = zoo.data.Pairs("made", "test", "en", "de", sources, targets)
    monkeypatch.setattr(zoo.data, "load", lambda *_, **__: pairs)
    monkeypatch.setattr(study.aligner, "read", lambda: [({(0, 0)}, {(0, 0)})] * 3)
    assert study.run("short", 3, tmp_path) == 0
    row = json.loads((tmp_path / "short-3.json").read_text())
    assert (row["arm"], row["seed"]) == ("short", 3)
    assert row["settings"]["epochs"] == 2 and row["digest"] == arms.digest("short")
    assert row["settings"]["model"]["hidden_dim"] == 16
    assert row["command"].endswith("python -m tools.papers.study --run short 3")
    assert set(row["counts"]) == {"beam 5", "reading", "links"}
    assert row["seconds"] >= 0 and len(row["code"]) == 12
    with pytest.warns(UserWarning, match="has no card.json"):
        model = zoo.load(tmp_path / "short-3" / "preset" / "study")
    assert row["parameters"] == model.count_params()
    expected = model.perplexity(sources, targets)
    assert row["scores"]["perplexity"] == pytest.approx(expected, rel=1e-2)
    assert not (tmp_path / "short-3" / "checkpoint.npz").exists()
    # What is done isn't done again.
    monkeypatch.setattr(study, "_row", None)
    assert study.run("short", 3, tmp_path) == 0


@pytest.mark.once
def test_a_run_that_was_stopped_goes_on_from_its_checkpoint(tmp_path, monkeypatch):
    monkeypatch.setitem(ARMS, "short", short(2))
    monkeypatch.setattr(study, "measure", lambda *_: {"counts": {}, "scores": {}})
    study.train(ARMS["short"], 3, tmp_path / "short-3", "command")
    (tmp_path / "short-3" / "results.json").unlink()  # killed before it was written
    before = (tmp_path / "short-3" / "log.csv").read_text()
    found = []
    cleared = study.clear

    def clear(folder):
        found.append((folder / "log.csv").read_text())
        cleared(folder)

    monkeypatch.setattr(study, "clear", clear)
    assert study.run("short", 3, tmp_path) == 0
    assert found == [before]  # no epoch was trained again


@pytest.mark.once
def test_a_run_that_diverges_is_told(tmp_path, monkeypatch):
    def diverge(run):
        raise FloatingPointError("The loss is not finite")

    choices = short(1).recipe().scales[arms.SCALE]
    recipe = Recipe("study", {arms.SCALE: choices}, diverge, __file__)
    monkeypatch.setitem(ARMS, "short", Arm("x", "tests", lambda: recipe))
    assert study.run("short", 1, tmp_path) == 0
    row = json.loads((tmp_path / "short-1.json").read_text())
    assert row["failed"] == "The loss is not finite" and "counts" not in row


@pytest.mark.long
def test_a_study_that_is_killed_leaves_a_checkpoint_and_goes_on(tmp_path):
    """Of a process of its own, with the study's smallest nets."""
    code = (
        "import dataclasses, sys\n"
        "from tools.papers import study, arms\n"
        "from tests.tools.papers.test_study import short\n"
        "arms.ARMS['short'] = short(60)\n"
        "study.measure = lambda *_: {'counts': {}, 'scores': {}}\n"
        "from pathlib import Path\n"
        "sys.exit(study.run('short', 1, Path(sys.argv[1])))\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, cwd=ROOT, env=environment) as process:
        log = tmp_path / "short-1" / "log.csv"
        while not (log.exists() and len(log.read_text().splitlines()) > 2):
            assert process.poll() is None
            time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 143
    rows = len(log.read_text().splitlines())
    assert 2 < rows < 60 and not (tmp_path / "short-1.json").exists()
    assert subprocess.run(command, cwd=ROOT, env=environment).returncode == 0
    assert json.loads((tmp_path / "short-1.json").read_text())["seed"] == 1


# === What is measured ===


@pytest.fixture(scope="module")
def translator(tmp_path_factory):
    folder = save_translator(tmp_path_factory.mktemp("model") / "tiny")
    with pytest.warns(UserWarning, match="has no card.json"):
        return zoo.load(folder)


@pytest.mark.backend_free
def test_a_captioners_counts_give_its_scores():
    model = Perfect(wrong=[3, 7])
    counts = study.captioner_counts(model, 40)["captions"]
    assert counts[:, 0].tolist() == [n not in (3, 7) for n in range(40)]
    assert counts[:, 3].tolist() == [len(scene.phrases) for scene in model.tests]
    assert MEASURES["true"].of(counts) == 95.0
    words = [[end - first for first, end in s.phrases] for s in model.tests]
    assert counts[:, 5].tolist() == [sum(lengths) for lengths in words]
    assert MEASURES["looks"].of(counts) == 100.0
    # Perfect looks where it names a thing, and in the middle at an article.
    named = [sum(box is not None for box in scene.boxes) for scene in model.tests]
    assert (counts[:, 4] >= named).all() and 60 < MEASURES["words"].of(counts) < 100
    # One that looks elsewhere, mostly.
    know = model.align
    model.align = lambda *given, **options: [
        types.SimpleNamespace(alignment=np.roll(record.alignment, 4, (1, 2)))
        for record in know(*given, **options)
    ]
    found = MEASURES["looks"].of(study.captioner_counts(model, 40)["captions"])
    wanted = scores("scenes", *outputs(model, "scenes", 40))["attention peak"]
    assert found == pytest.approx(wanted)
    assert 0 < found < 60


@pytest.mark.once
def test_a_translators_counts_give_its_scores(translator):
    sources = ["a dog runs", "a cat sleeps", "a dog", "cat"]
    references = [
        ["ein hund rennt"],
        ["die katze", "eine katze"],
        ["ein hund"],
        ["katze"],
    ]
    known = [({(0, 0)}, {(0, 0)})] * 4
    counts = study.translator_counts(translator, sources, references, (5, 1), known)
    assert set(counts) == {"beam 5", "beam 1", "reading", "links"}
    for beam in (5, 1):
        texts = translator.translate(sources, beam_size=beam)
        found = zoo.analysis.evaluation.corpus_scores(texts, references)
        expected = found["bleu"]["score"]
        assert MEASURES["bleu"].of(counts[f"beam {beam}"]) == pytest.approx(expected)
    firsts = [several[0] for several in references]
    assert MEASURES["perplexity"].of(counts["reading"]) == pytest.approx(
        translator.perplexity(sources, firsts), rel=1e-2
    )
    lengths = [len(text.split()) for text in firsts]
    assert counts["links"][:, 2].tolist() == lengths
    assert set(study.translator_counts(translator, sources, references, (1,))) == {
        *("beam 1", "reading")
    }


@pytest.mark.once
@pytest.mark.parametrize("count", [40, 200])
def test_a_language_models_counts_give_its_perplexity(count):
    tokenizer = WordTokenizer("a dog cat runs sees".split())
    backbone = RecurrentLM(9, embedding_dim=5, hidden_dim=4, initializer_range=0.8)
    model = RecurrentCausalLM(backbone, RecurrentLMPreprocessor(tokenizer))
    texts = ["a dog sees a cat", "a cat", "runs runs dog"] * count
    [table] = study.language_model_counts(model, texts).values()
    expected = model.perplexity(texts, batch_size=1, carry_over=True)
    assert MEASURES["perplexity"].of(table) == pytest.approx(expected, rel=1e-4)
    words = sum(len(text.split()) + 1 for text in texts)
    assert table[:, 1].sum() == words
    size = study.SEGMENT * study.BLOCK
    assert len(table) == -(-words // size)
    assert np.all(table[:-1, 1] == size)
