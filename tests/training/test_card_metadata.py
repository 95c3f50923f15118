"""The facts that a run gives its card, of runs that are made up; test_run.py and
test_translation_run.py have real ones."""

import dataclasses
from types import SimpleNamespace

import pytest

from zoo.data import list_corpora
from zoo.data.corpora import PTB, SST, UD_ENGLISH
from zoo.presets.card import UNSTATED, card_of
from zoo.presets.registry import find
from zoo.training import Arguments
from zoo.training.card_metadata import (
    LICENCES,
    of_corpora,
    of_start,
    origin,
    training_command,
)

pytestmark = pytest.mark.backend_free


def run(plans=((3, "jax", "abc"),), weights=None, **arguments):
    """A run that `origin` can read; plans: (epochs, backend, commit)."""
    saved = SimpleNamespace(plans=plans, seconds=3600.0, epochs=3, best_epoch=1)
    arguments = Arguments("", scale="small", **arguments)
    return SimpleNamespace(
        name="tiny",
        recipe=SimpleNamespace(name="tiny"),
        loop=SimpleNamespace(checkpoint=saved),
        arguments=arguments,
        weights=weights,
        text=None if arguments.train is None else "text",
        start=None,
        seed=arguments.seed,
    )


def test_the_time_tells_how_many_epochs_and_whose_weights():
    assert origin(run())["training_time"] == "60 minutes, 3 epochs, weights of epoch 2"
    assert origin(run(weights="the mean"))["training_time"].endswith(", the mean")


def test_the_command_has_all_choices_and_no_folders():
    plans = [(5, "jax", "abc"), (3, "torch", "def")]
    changes = ["epochs=3", "model.score=a b"]
    found = run(plans, changes=changes, precision="mixed_float16")
    assert training_command(found) == (
        "KERAS_BACKEND=torch zoo train tiny --scale small --seed 1 "
        "--precision mixed_float16 --set epochs=3 --set 'model.score=a b' (in 2 parts)"
    )
    assert origin(found)["commit"] == "abc, def"
    found = run(train=[["/a/b.en", "/a/b.de"]], test=["c.tsv"], columns=["x", 2])
    words = "--train b.en b.de --test c.tsv --columns x,2 --scale small --seed 1"
    assert training_command(found) == f"KERAS_BACKEND=jax zoo train tiny {words}"


def test_every_corpus_leaves_a_known_licence():
    named = list_corpora()
    corpora = [*named.values(), PTB, SST, UD_ENGLISH]
    assert {corpus.weights for corpus in corpora} == set(LICENCES)
    [terms] = of_corpora(UD_ENGLISH)["data"]
    assert terms["name"] == "ud_english_ewt" and "CC BY-SA" in terms["terms"]
    tatoeba, multi30k = named["tatoeba"], named["multi30k"]
    assert of_corpora(named["dates"])["license"] == "apache-2.0"
    for several in ((multi30k, tatoeba), (tatoeba, multi30k), (UD_ENGLISH, PTB)):
        assert of_corpora(*several)["license"] == "cc-by-nc-4.0"  # the strictest


@pytest.mark.parametrize(
    ("start", "own", "both"),
    [
        ("cc-by-4.0", "cc-by-nc-4.0", "cc-by-nc-4.0"),
        ("cc-by-nc-4.0", "apache-2.0", "cc-by-nc-4.0"),
        ("cc-by-4.0", UNSTATED, "cc-by-4.0"),
        ("mine-1.0", UNSTATED, "mine-1.0"),
        ("mine-1.0", "cc-by-4.0", UNSTATED),
        (None, "cc-by-4.0", UNSTATED),
    ],
)
def test_what_was_fine_tuned_has_both_data_and_the_stricter_licence(start, own, both):
    card = card_of(find("luong_local_tatoeba"))
    more = [{"name": "more", "terms": "any"}, {"name": "mine", "terms": UNSTATED}]
    given = {"data": [*card.data, *more], "license": own}
    if start is None:
        found = of_start(None, "mine", {**given, "data": [*card.data, more[0]]})
    else:
        found = of_start(dataclasses.replace(card, license=start), "mine", given)
    assert found["license"] == both and found["data"] == [*card.data, *more]
