"""The bundled presets do what their cards say, on the backend at hand."""

import json
import re
import shlex
from pathlib import Path

import keras
import numpy as np
import pytest

import zoo
from tests.marks import once
from zoo import cli
from zoo.analysis.caption_scores import draw_tests
from zoo.presets.card import format_task, read_card

ROOT = Path(__file__).resolve().parent.parent
# Made by `tools.presets.outputs`: a task and its languages -> the sources, and what
# each preset gave.
KEPT = json.loads((ROOT / "tests" / "bundled_outputs.json").read_text())
CARDS = {
    path.parent.name: read_card(path.parent)
    for path in sorted((ROOT / "savedmodels").glob("*/card.json"))
}


# A translator of each kind of decoder.
KINDS = ("luong_local", "bahdanau", "seq2seq", "rnn_encoder_decoder", "lstmn")
KINDS += ("transformer", "dates")


@pytest.fixture(scope="module", params=CARDS)
def preset(request):
    return CARDS[request.param], zoo.load(request.param)


@pytest.mark.backend_free
def test_they_are_bundled():
    recorded = {name for found in KEPT.values() for name in found if name != "sources"}
    assert set(CARDS) == recorded
    assert set(CARDS) <= {card.name for card in zoo.list_presets()}


@pytest.mark.backend_free
@pytest.mark.parametrize("name", CARDS)
def test_its_card_is_complete(name):
    card = CARDS[name]
    assert card.bytes <= 20e6 and card.equations and card.configuration and card.speed
    assert card.examples and card.scores and card.weaknesses and card.intended_use
    _, found, script = card.recipe.partition("sh recipes/")
    recipe = (ROOT / "recipes" / script).read_text("utf-8") if found else card.recipe
    assert f"--seed {card.seed}" in recipe
    assert cli.main(["train", "--from", name, "--help"]) == 0  # finds the recipe
    for score in card.scores:
        program, *words = shlex.split(score["command"])
        assert program != "zoo" or cli._parse(words).preset == name
    # Several, where a run was resumed by later code.
    assert all(re.fullmatch("[0-9a-f]{40}", part) for part in card.commit.split(", "))


@pytest.mark.backend_free
def test_translators_of_the_same_text_share_one_tokenizer():
    """They can be one ensemble, and their scores compared."""
    files = {}
    for name, card in CARDS.items():
        if format_task(card) == "translate en-de":
            spm = card.files["assets/tokenizer/vocabulary.spm"]["sha256"]
            files.setdefault(tuple(x["name"] for x in card.data), {})[name] = spm
    assert len(files["multi30k", "tatoeba"]) > 5
    assert all(len(set(found.values())) == 1 for found in files.values()), files


def test_its_card_is_true(preset):
    card, model = preset
    assert card.sizes["parameters"] == model.backbone.count_params()
    assert card.sizes["vocabulary"] == model.backbone.vocabulary_size
    assert type(model).__name__ == card.architecture


def test_every_backend_scores_the_same(preset):
    """The recorded outputs have the recorded log-probabilities; a tagger gives its
    recorded tags again, a classifier its classes."""
    card, model = preset
    kept = KEPT[format_task(card)]
    sources, expected = kept["sources"], kept[card.name]
    if card.task == "tag":
        found = [[tag for _, tag in row] for row in model.tag(sources)]
        assert found == expected["tags"]
    elif card.task == "generate":
        found = model.score(expected["texts"])
        assert found == pytest.approx(expected["log_probs"], abs=1e-3)
    elif card.task == "classify":
        found = model.classify(sources, return_details=True)
        assert [record.label for record in found] == expected["labels"]
        shares = np.array([list(record.probabilities.values()) for record in found])
        assert shares == pytest.approx(np.array(expected["probabilities"]), abs=1e-3)
    elif card.task == "caption":
        pytest.importorskip("matplotlib", reason="formulas are rendered by matplotlib")
        images = draw_tests(card.data[0]["name"], sources)
        found = model.score(images, expected["captions"])
        assert found == pytest.approx(expected["log_probs"], abs=1e-3)
        assert model.caption(images[:8]) == expected["captions"][:8]
    else:
        found = model.score(sources, expected["translations"])
        assert found == pytest.approx(expected["log_probs"], abs=1e-3)


@pytest.mark.parametrize(
    "name", [k if k in ("luong_local", "transformer") else once(k) for k in KINDS]
)
def test_each_kind_of_decoder_translates(name):
    kept = KEPT[format_task(CARDS[name])]
    sources, expected = kept["sources"], kept[name]
    few = slice(2, 6)
    found = zoo.load(name).translate(sources[few], beam_size=5)
    assert found == expected["translations"][few]


@pytest.mark.long
def test_every_backend_gives_the_same(preset):
    """The recorded translations and texts come out again; one in 40 translations, and
    one text, may differ by a rounding that turned a tie."""
    card, model = preset
    kept = KEPT[format_task(card)]
    sources, expected = kept["sources"], kept[card.name]
    if card.task == "generate":
        found = model.generate(sources, max_length=20)
        equal = sum(a == b for a, b in zip(found, expected["texts"], strict=True))
        assert equal >= len(sources) - 1, keras.backend.backend()
    elif card.task == "translate":
        check_translations(model, sources, expected["translations"], expected["scores"])


def check_translations(model, sources, translations, scores):
    found = model.translate(sources, beam_size=5, return_details=True)
    equal = [a.text == b for a, b in zip(found, translations, strict=True)]
    assert equal.count(False) <= len(equal) // 40, keras.backend.backend()
    for record, score, same in zip(found, scores, equal, strict=True):
        assert not same or abs(record.score - score) < 1e-3
