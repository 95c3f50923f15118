import types
from pathlib import Path

import pytest

import zoo
from tests.cli.fakes import FakeTask
from tests.presets_for_tests import FACTS, WORDS, save_translator
from zoo import data, presets
from zoo.cli import main
from zoo.decoding import Ensemble
from zoo.presets import loading
from zoo.presets.pages import write_card
from zoo.serving.export.manifest import write_manifest

pytestmark = pytest.mark.once

TEXTS = ["a dog", "die katze rennt"]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Two presets with one tokenizer, and one with another."""
    root = tmp_path_factory.mktemp("presets")
    sizes = {"one": (5, 26), "two": (6, 26), "stranger": (7, 24)}
    for name, (seed, vocabulary_size) in sizes.items():
        folder = save_translator(root / name, seed, vocabulary_size)
        write_card(folder, {**FACTS, "name": name})
    return root


@pytest.fixture(scope="module")
def lines(saved):
    ensemble = Ensemble([zoo.load(saved / name) for name in ("one", "two")])
    found = ensemble.translate(TEXTS, beam_size=2, max_length=6)
    assert found != ensemble.models[0].translate(TEXTS, beam_size=2, max_length=6)
    return found


SEARCH = ["--beam", "2", "--max-length", "6"]


def translate(saved, *names):
    chosen = [part for name in names for part in ("--preset", str(saved / name))]
    return main(["translate", *chosen, *SEARCH, *TEXTS])


def evaluate(saved, *names, options=()):
    command = ["evaluate", *(str(saved / name) for name in names), *SEARCH]
    return main([*command, "--data", "toy", "--split", "test", *options])


@pytest.fixture
def corpus(monkeypatch):
    def load(name, source, target, split, allow_newer):
        return data.Pairs(name, split, source, target, TEXTS, [" ".join(WORDS)] * 2)

    monkeypatch.setattr(data, "load", load)


def test_several_presets_translate_as_an_ensemble(saved, lines, capsys):
    assert translate(saved, "one", "two") == 0
    captured = capsys.readouterr()
    assert captured.out.splitlines() == lines
    assert captured.err.count("zoo: loading ") == 2


@pytest.mark.usefixtures("corpus")
def test_several_presets_are_scored_as_an_ensemble(saved, lines, tmp_path, capsys):
    out = tmp_path / "hypotheses"
    assert evaluate(saved, "one", "two", options=["--output", str(out)]) == 0
    assert out.read_text().splitlines() == lines
    assert capsys.readouterr().out.startswith("BLEU ")


@pytest.mark.usefixtures("corpus")
def test_unlike_tokenizers_make_no_ensemble(saved, capsys):
    for command in (translate, evaluate):
        assert command(saved, "one", "stranger") == 2
        captured = capsys.readouterr()
        last = captured.err.splitlines()[-1]
        assert captured.out == "" and "stranger cannot form an ensemble: " in last
        assert "one of 26 pieces in models[0] and another, of 24, in models[1]" in last


@pytest.mark.usefixtures("corpus")
def test_presets_of_unlike_directions_are_not_loaded(saved, monkeypatch, capsys):
    monkeypatch.setattr(loading, "load", lambda _: pytest.fail("loaded"))
    cards = {"one": ["en", "de"], "two": ["de", "en"], "stranger": ["en"]}
    cards = {name: {**FACTS, "languages": pair} for name, pair in cards.items()}
    read = lambda folder: presets.Card(files={}, **cards[folder.name])  # noqa: E731
    monkeypatch.setattr("zoo.cli.presets.read_card", read)
    for command in (translate, evaluate):
        assert command(saved, "one", "two") == 2
        err = capsys.readouterr().err
        assert "one translates from en to de, " in err and "two from de to en" in err
        assert command(saved, "one", "stranger") == 2
        assert "stranger has ['en']" in capsys.readouterr().err


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
        (["tag", exported, "a", "--backend=jax"], "received --backend jax"),
        (["translate", "--preset", one, "--preset", exported, "a"], "without exports"),
        (["generate", exported, "a", "--backend=jax"], "received --backend jax"),
        (
            ["evaluate", exported, "--data=x", "--split=y"],
            "is not that of a zoo export",
        ),
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
    command = ["evaluate", exported, "--data", "toy", "--split", "test"]
    for card in ({**FACTS, "files": {}}, None):
        write_manifest(folder, {**described, "card": card})
        assert main(command) == 0
        assert capsys.readouterr().out.startswith("BLEU ")
        # Without a card any languages are taken at their word.
        assert main([*command, "--target", "fr"]) == (2 if card else 0)
        told = "translates from en to de, received --target fr"
        assert (told in capsys.readouterr().err) == bool(card)
    assert [call["texts"] for call in model.calls] == [TEXTS] * 3
    write_manifest(folder, {**described, "task": "caption"})
    assert main(command) == 2
    assert "exported cannot translate" in capsys.readouterr().err


def test_a_damaged_export_is_named(exported, capsys):
    assert main(["tag", exported, "a"]) == 1
    assert "manifest.json is not that of a zoo export" in capsys.readouterr().err


def test_an_export_of_another_task_is_refused(exported, capsys, monkeypatch):
    model = types.SimpleNamespace(task_name="classify")
    monkeypatch.setattr(zoo.serving.runtime, "load", lambda path: model, raising=False)
    assert main(["tag", exported, "a"]) == 2
    assert f"{exported} cannot tag; the presets for it" in capsys.readouterr().err
