"""Fine-tuning: copied weights, unknown pieces, other languages, old tests."""

import dataclasses
from types import SimpleNamespace

import keras
import pytest

import zoo
from tests.models.test_everyday import translator
from tests.presets_for_tests import make_preset
from tests.training import small_run
from zoo.data import CorpusError, Pairs
from zoo.models import Luong
from zoo.text import Tokenizer, train_tokenizer
from zoo.training import ConfigurationError, Run
from zoo.training.recipes import translation_run as translation
from zoo.training.recipes.fine_tuning import old_tests, unknown_pieces, warn

pytestmark = pytest.mark.once


@pytest.fixture(scope="module")
def tokenizer():
    texts = ["a dog runs", "ein hund rennt", "a cat sleeps"]
    return Tokenizer(proto=train_tokenizer(texts, 22))


def test_unknown_pieces_the_most_frequent_first(tokenizer):
    share, pieces = unknown_pieces(tokenizer, ["a dog ж", "жж ф"])
    assert pieces[0].strip("▁").startswith("ж") and len(pieces) == 3
    known = len(tokenizer.tokenize("a dog"))
    assert share == pytest.approx(3 / (known + 6))  # each has a space before it
    assert unknown_pieces(tokenizer, ["a dog"]) == (0, [])
    assert unknown_pieces(tokenizer, []) == (0, [])


def told_of(tokenizer, card=None, languages=("en", "fr"), targets=("a", "a")):
    """The warnings of a text."""
    sets = {"valid": (["a dog", "a cat"], [[target] for target in targets])}
    text, told = SimpleNamespace(validation=sets, languages=languages), []
    warn(card, tokenizer, text, told.append)
    return told


def test_they_are_told_by_side(tokenizer):
    [told] = told_of(tokenizer, targets=("ж", "a"))
    assert "of the targets' pieces" in told and "ж" in told


def test_other_languages_are_told(tokenizer, tmp_path):
    card = make_preset(tmp_path / "p")  # from English to German
    assert not told_of(tokenizer)
    for languages in (("en", "de"), ("und", "und")):
        assert not told_of(tokenizer, card, languages)
    [told] = told_of(tokenizer, card)
    assert "en-de, the text is en-fr" in told


def test_old_tests_are_those_of_the_presets_corpora(tmp_path, monkeypatch):
    data = [{"name": n, "terms": ""} for n in ("multi30k", "tatoeba", "my.en")]
    card = make_preset(tmp_path / "p", data=data)

    def load(name, source, target, split):
        if name == "tatoeba":
            raise CorpusError("not here")
        return Pairs(name, split, source, target, ["a"] * 600, ["b"] * 600)

    monkeypatch.setattr(zoo.data, "load", load)
    told = []
    sets = old_tests(card, told.append)
    assert {name: len(sources) for name, (sources, _) in sets.items()} == {
        "multi30k": 500
    }
    assert len(told) == 1 and "tatoeba is not measured: not here" in told[0]


def test_weights_are_copied_or_refused():
    start = translator()
    old = start.backbone
    run = SimpleNamespace(start=start)
    new = type(old).from_config(old.get_config())
    Run.copy_start(run, new)
    for one, other in zip(old.weights, new.weights, strict=True):
        assert keras.ops.all(one.value == other.value)
    other = Luong.from_config({**old.get_config(), "hidden_dim": 6})
    with pytest.raises(ConfigurationError, match="don't fit"):
        Run.copy_start(run, other)


def test_a_vocabulary_with_one_segmentation_alone_is_not_regularized(
    tmp_path, monkeypatch
):
    def characters(texts, size, **options):
        return train_tokenizer(texts, 30, model_type="char")

    monkeypatch.setattr(translation, "train_tokenizer", characters)
    scale = dataclasses.replace(
        small_run.SCALE, corpora=(), pairs=20, subword_regularization=0.3
    )
    with pytest.raises(ConfigurationError, match="subword_regularization: .*unigram"):
        small_run.make(tmp_path, scale)
