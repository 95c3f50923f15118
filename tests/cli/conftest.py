import functools

import pytest

from tests.cli.fakes import FakeTask, load
from tests.harness import randomize
from tests.presets_for_tests import FACTS, make_preset
from tests.serving.conftest import MAKERS, make_tagger
from zoo import data, presets
from zoo.presets import registry
from zoo.presets.pages import write_card


@pytest.fixture
def task(monkeypatch):
    fake = FakeTask()
    load(monkeypatch, lambda: fake)
    return fake


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """One preset, `tiny`, in the bundled folder and nothing elsewhere."""
    make_preset(tmp_path / "bundled" / "tiny")
    monkeypatch.setattr(registry, "bundled_folder", lambda *_: tmp_path / "bundled")
    monkeypatch.setenv("ZOO_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "bundled" / "tiny"


def make_classifier():
    from zoo import models
    from zoo.text import WordTokenizer

    tokenizer = WordTokenizer(["a", "bad", "film", "good"])
    backbone = models.RecurrentClassifier(
        tokenizer.vocabulary_size(),
        classes=["no", "yes"],
        embedding_dim=4,
        hidden_dim=4,
    )
    preprocessor = models.RecurrentClassifierPreprocessor(tokenizer)
    return models.SentimentClassifier(randomize(backbone, seed=5), preprocessor)


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """Function that returns the preset folder of a small model, as "tagger"."""

    @functools.cache
    def make(kind):
        folder = tmp_path_factory.mktemp("made") / kind
        model = {**MAKERS, "classifier": make_classifier}[kind]()
        model.save_to_preset(folder)
        write_card(folder, {**FACTS, "name": kind, "task": model.task_name})
        return str(folder)

    return make


@pytest.fixture
def without_card(monkeypatch, tmp_path):
    """Every name is that of a folder that has no card."""
    monkeypatch.setattr(presets, "find", lambda name: tmp_path)


@pytest.fixture
def corpus(monkeypatch, without_card):
    """One corpus, `toy`; gives what is asked of it."""
    asked = []

    def load(name, source, target, split):
        asked.append((source, target, split))
        sources = ["the cat sat on the mat", "a dog runs"]
        targets = [sources[0].upper(), "A DOG SLEEPS"]
        references = [[line] for line in targets]
        return data.Pairs("toy", split, source, target, sources, targets, references)

    monkeypatch.setattr(data, "load", load)
    return asked


@pytest.fixture(scope="module")
def preset(tmp_path_factory):
    """A preset of a tagger, the smallest that is exported."""
    folder = tmp_path_factory.mktemp("presets") / "tiny_tagger"
    make_tagger().save_to_preset(folder)
    return folder
