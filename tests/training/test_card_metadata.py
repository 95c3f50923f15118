"""The facts that a run gives its card, of runs that are made up; test_translation.py
and test_run.py have real ones."""

from types import SimpleNamespace

import pytest

from zoo.data import list_corpora
from zoo.data.word_corpora import PTB, SST, UD_ENGLISH
from zoo.training.card_metadata import LICENCES, of_corpora, origin, training_command

pytestmark = pytest.mark.backend_free


def run(plans, done=3, best=2, epochs=3, **others):
    """A run that `origin` can read; plans: (first epoch, epochs, backend, commit)."""
    checkpoint = SimpleNamespace(
        plans=plans, seconds=3600.0, epochs=done, best_epoch=best
    )
    recipe = SimpleNamespace(name="tiny", scales={"small": SimpleNamespace(epochs=3)})
    fields = {"precision": "float32", "changes": (), "seed": 1, "scale_name": "small"}
    fields |= {"limit": None, "weights": None, "text": None, "start": None}
    fields["name"] = "tiny"
    loop = SimpleNamespace(checkpoint=checkpoint, epochs=epochs)
    return SimpleNamespace(**{**fields, "recipe": recipe, "loop": loop, **others})


ONE = [(0, 3, "jax", "abc")]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "60 minutes, 3 epochs"),
        ({"best": 1}, "60 minutes, 3 epochs, weights of epoch 2"),
        ({"done": 3, "epochs": 9}, "60 minutes, 3 of 9 epochs"),
        ({"done": 4, "best": 3, "epochs": 3}, "60 minutes, 4 epochs"),
        (
            {"weights": "the mean of the last 2 epochs' weights"},
            "60 minutes, 3 epochs, the mean of the last 2 epochs' weights",
        ),
    ],
)
def test_the_time_tells_how_many_epochs_and_whose_weights(options, text):
    assert origin(run(ONE, **options))["training_time"] == text


def test_a_command_for_each_plan():
    plans = [(0, 5, "jax", "abc"), (2, 3, "torch", "def")]
    found = run(plans, changes=("epochs=3", "model.score=a b"), precision="mixed")
    assert training_command(found) == (
        "KERAS_BACKEND=jax python recipes/tiny.py --scale small --seed 1 --epochs 5 "
        "--precision mixed --set 'model.score=a b' (epochs done: 2), then "
        "KERAS_BACKEND=torch python recipes/tiny.py --scale small --seed 1 --epochs 3 "
        "--precision mixed --set 'model.score=a b'"
    )
    assert origin(found)["commit"] == "abc, def"
    assert "--epochs" not in training_command(run(ONE))


def test_every_corpus_leaves_a_known_licence():
    named = list_corpora()
    corpora = [*named.values(), PTB, SST, UD_ENGLISH]
    assert {corpus.weights for corpus in corpora} == set(LICENCES)
    [terms] = of_corpora(UD_ENGLISH)["data"]
    assert terms["name"] == "ud_english_ewt" and "CC BY-SA" in terms["terms"]
    tatoeba, multi30k = named["tatoeba"], named["multi30k"]
    for several, licence in (
        ((named["dates"],), "apache-2.0"),
        ((tatoeba,), "cc-by-4.0"),
        ((SST,), "cc-by-nc-4.0"),
        # The strictest.
        ((multi30k, tatoeba), "cc-by-nc-4.0"),
        ((tatoeba, multi30k), "cc-by-nc-4.0"),
        ((UD_ENGLISH, PTB), "cc-by-nc-4.0"),
    ):
        assert of_corpora(*several)["license"] == licence
