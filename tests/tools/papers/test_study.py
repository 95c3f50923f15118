"""The study's runs: which are started, that stopped ones go on, what is measured."""

import json
import types

import numpy as np
import pytest

import zoo
from tests.analysis.test_caption_scores import Perfect
from tests.presets_for_tests import save_translator
from tools.papers import arms, study, study_table
from tools.papers.arms import ARMS, Arm
from tools.papers.counts import MEASURES
from zoo.analysis.caption_scores import outputs, scores
from zoo.models import RecurrentCausalLM, RecurrentLM, RecurrentLMPreprocessor
from zoo.text import WordTokenizer
from zoo.training.recipe import Recipe
from zoo.training.recipes.translator_recipe import tiny, translation_recipe


@pytest.fixture
def table(monkeypatch, tmp_path):
    """A table in the place of the committed one."""
    path = tmp_path / "study.jsonl"
    monkeypatch.setattr(study, "read", lambda: study_table.read(path))
    monkeypatch.setattr(study, "append", lambda row: study_table.append(row, path))
    return path


def rows(table):
    return [json.loads(line) for line in table.read_text("utf-8").splitlines()]


@pytest.mark.backend_free
def test_runs_that_are_not_done_are_done_until_one_breaks_off(
    tmp_path, table, monkeypatch
):
    jobs, called, codes, real = [("none", 1), ("dot", 1)], [], [0, 143, 0], study.run

    def run(name, seed, work):
        called.append((name, seed))
        if (code := codes.pop(0)) == 0:
            row = {"arm": name, "seed": seed, "digest": arms.digest(name)}
            study.append({**row, "failed": "not finite"})
        return code

    monkeypatch.setattr(study, "run", run)
    monkeypatch.setattr(study, "plan", lambda: jobs)
    # The process that takes this one's place is here a call.
    monkeypatch.setattr(study.os, "execv", lambda _, command: study.main(command[3:]))
    assert study.main(["--work", str(tmp_path)]) == 143
    assert called == jobs
    assert study.main(["--work", str(tmp_path)]) == 0 and not codes
    assert called == [*jobs, ("dot", 1)]
    assert real("dot", 1, tmp_path) == 0  # what is done isn't done again
    assert len(rows(table)) == 2


@pytest.mark.backend_free
@pytest.mark.parametrize("run", [["nothing", "1"], ["dot", "x"]])
def test_what_cannot_be_run_is_refused(run, capsys):
    with pytest.raises(SystemExit, match="2"):
        study.main(["--run", *run])
    assert "Received: " + " ".join(run) in capsys.readouterr().err


# === One run ===


def short(epochs):
    """An arm that learns to reverse sentences, in seconds."""
    model = {"num_layers": 1, "hidden_dim": 16, "embedding_dim": 8, "dropout": 0.0}
    scale = tiny({**model, "attention": "global"}, pairs=120, epochs=epochs)
    options = {"file": __file__, "own_text": False}

    def recipe():
        task = lambda: zoo.models.LuongTranslator  # noqa: E731
        return translation_recipe("study", task, {arms.SCALE: scale}, **options)

    return Arm("reversal", recipe)


@pytest.mark.once
def test_a_run_leaves_its_line_and_its_preset(tmp_path, table, monkeypatch):
    monkeypatch.setitem(ARMS, "short", short(2))
    sources, targets = ["a b c", "b a", "c"], ["c b a", "a b", "c"]
    pairs = zoo.data.Pairs("made", "test", "en", "de", sources, targets)
    monkeypatch.setattr(zoo.data, "load", lambda *_, **__: pairs)
    monkeypatch.setattr(study.aligner, "read", lambda: [({(0, 0)}, {(0, 0)})] * 3)
    study.train(ARMS["short"], 3, tmp_path / "short-3", "command")
    (tmp_path / "short-3" / "results.json").unlink()  # stopped before it was written
    log = (tmp_path / "short-3" / "log.csv").read_text()
    seen = []
    clear = study.clear
    monkeypatch.setattr(
        study,
        "clear",
        lambda run: seen.append((run / "log.csv").read_text()) or clear(run),
    )
    assert study.run("short", 3, tmp_path) == 0
    assert seen == [log]  # no epoch was trained again
    [row] = rows(table)
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


@pytest.mark.once
def test_a_run_that_diverges_is_told(tmp_path, table, monkeypatch):
    def diverge(run):
        raise FloatingPointError("The loss is not finite")

    choices = short(1).recipe().scales[arms.SCALE]
    recipe = Recipe("study", {arms.SCALE: choices}, diverge, __file__)
    monkeypatch.setitem(ARMS, "short", Arm("x", lambda: recipe))
    assert study.run("short", 1, tmp_path) == 0
    [row] = rows(table)
    assert row["failed"] == "The loss is not finite" and "counts" not in row


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
    size = study.SEGMENT * arms.BLOCK
    assert len(table) == -(-words // size)
    assert np.all(table[:-1, 1] == size)
