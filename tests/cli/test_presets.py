import types
from pathlib import Path

import pytest

import zoo
from tests.cli.fakes import FakeTask, load, translate
from tests.presets_for_tests import FACTS, WORDS, make_preset, save_translator
from zoo import data
from zoo.cli import main
from zoo.cli.presets import model_name
from zoo.decoding import Ensemble
from zoo.presets import loading
from zoo.presets.pages import write_card
from zoo.serving.export.manifest import write_manifest

pytestmark = pytest.mark.once

TEXTS = ["a dog", "die katze rennt"]
SEARCH = ["--beam", "2", "--max-length", "6"]
TOY = ["--data", "toy", "--split", "test"]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Two presets with one tokenizer, and one with another."""
    root = tmp_path_factory.mktemp("presets")
    sizes = {"one": (5, 26), "two": (6, 26), "stranger": (7, 24)}
    for name, (seed, vocabulary_size) in sizes.items():
        folder = save_translator(root / name, seed, vocabulary_size)
        write_card(folder, {**FACTS, "name": name})
    return root


@pytest.fixture
def corpus(monkeypatch):
    def load(name, source, target, split, allow_newer):
        return data.Pairs(name, split, source, target, TEXTS, [" ".join(WORDS)] * 2)

    monkeypatch.setattr(data, "load", load)


def test_the_process_is_tuned_before_a_preset_is_loaded(monkeypatch):
    from zoo.training.fast import process

    order = []
    monkeypatch.setattr(process, "tune_process", lambda: order.append("tuned"))
    load(monkeypatch, lambda: order.append("loaded") or FakeTask())
    assert translate("a") == 0
    assert order == ["tuned", "loaded"]


def test_several_presets_are_an_ensemble(saved, corpus, tmp_path, capsys):
    ensemble = Ensemble([zoo.load(saved / name) for name in ("one", "two")])
    lines = ensemble.translate(TEXTS, beam_size=2, max_length=6)
    assert lines != ensemble.models[0].translate(TEXTS, beam_size=2, max_length=6)
    one, two, stranger = (str(saved / name) for name in ("one", "two", "stranger"))
    chosen = ["--preset", one, "--preset", two]
    assert main(["translate", *chosen, *SEARCH, *TEXTS]) == 0
    captured = capsys.readouterr()
    assert captured.out.splitlines() == lines
    assert captured.err.count("zoo: loading ") == 2
    out = tmp_path / "hypotheses"
    assert main(["evaluate", one, two, *SEARCH, *TOY, "--output", str(out)]) == 0
    assert out.read_text().splitlines() == lines
    assert capsys.readouterr().out.startswith("BLEU ")
    assert main(["evaluate", one, stranger, *TOY]) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert "must have one tokenizer" in last


def test_a_model_has_its_cards_name(tmp_path):
    assert model_name("hf://user/some", tmp_path) == "some"
    make_preset(tmp_path / "folder", name="carded")
    assert model_name("hf://user/some", tmp_path / "folder") == "carded"


# === Exports to ONNX ===


@pytest.fixture
def exported(tmp_path, monkeypatch):
    """The folder of a model's versions, of which nothing may be loaded."""
    monkeypatch.setattr(loading, "load", lambda *_, **__: pytest.fail("loaded"))
    (tmp_path / "exported/2").mkdir(parents=True)
    (tmp_path / "exported/2/manifest.json").write_text("{}")
    return str(tmp_path / "exported")


def test_what_an_export_cannot_do_is_refused_at_once(exported, saved, capsys):
    one = str(saved / "one")
    for words, reason in (
        (["tag", exported, "a"], "manifest.json should be that of a zoo export"),
        (["tag", exported, "a", "--backend=jax"], "received --backend jax"),
        (["translate", "--preset", one, "--preset", exported, "a"], "not of exports"),
        (["evaluate", exported, *TOY], "should be that of a zoo export"),
        (["export", exported], "is not a preset"),
    ):
        assert main(words) == 2, words
        assert reason in capsys.readouterr().err


def test_an_export_is_scored(exported, corpus, monkeypatch, capsys):
    folder = Path(exported, "3")
    folder.mkdir()
    described = {"task": "translate", "settings": {}, "graphs": {}}
    model = FakeTask()
    model.task_name = "translate"
    monkeypatch.setattr(zoo.serving.runtime, "load", lambda path: model, raising=False)
    command = ["evaluate", exported, *TOY]
    for card in ({**FACTS, "files": {}}, None):
        write_manifest(folder, {**described, "card": card})
        assert main(command) == 0
        assert capsys.readouterr().out.startswith("BLEU ")
        # Without a card any languages are taken at their word.
        assert main([*command, "--target", "fr"]) == (2 if card else 0)
        told = "translates from en to de, received fr"
        assert (told in capsys.readouterr().err) == bool(card)
    assert [call["texts"] for call in model.calls] == [TEXTS] * 3


def test_an_export_of_another_task_is_refused(exported, capsys, monkeypatch):
    model = types.SimpleNamespace(task_name="classify")
    monkeypatch.setattr(zoo.serving.runtime, "load", lambda path: model, raising=False)
    assert main(["tag", exported, "a"]) == 2
    assert f"{exported} cannot tag; the presets for it" in capsys.readouterr().err
