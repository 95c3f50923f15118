"""The facts that a run gives its card, of runs that are made up; test_run.py and
test_translation_run.py have real ones."""

from types import SimpleNamespace

import pytest

from zoo.data import list_corpora
from zoo.data.word_corpora import PTB, SST, UD_ENGLISH
from zoo.training.card_metadata import LICENCES, of_corpora, origin, training_command

pytestmark = pytest.mark.backend_free


def run(plans=((0, 3, "jax", "abc"),), done=3, best=2, epochs=3, **others):
    """A run that `origin` can read; plans: (first epoch, epochs, backend, commit)."""
    checkpoint = SimpleNamespace(
        plans=plans, seconds=3600.0, epochs=done, best_epoch=best
    )
    fields = {"precision": "float32", "changes": (), "seed": 1, "scale_name": "small"}
    fields |= dict.fromkeys(("limit", "weights", "text", "start", "arguments"))
    fields |= {"name": "tiny", "recipe": SimpleNamespace(name="tiny")}
    fields["loop"] = SimpleNamespace(checkpoint=checkpoint, epochs=epochs)
    return SimpleNamespace(**{**fields, **others})


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "3 epochs"),
        ({"best": 1}, "3 epochs, weights of epoch 2"),
        ({"done": 3, "epochs": 9}, "3 of 9 epochs"),
        ({"weights": "the mean of 2 epochs"}, "3 epochs, the mean of 2 epochs"),
    ],
)
def test_the_time_tells_how_many_epochs_and_whose_weights(options, text):
    assert origin(run(**options))["training_time"] == f"60 minutes, {text}"


def test_a_command_for_each_plan():
    plans = [(0, 5, "jax", "abc"), (2, 3, "torch", "def")]
    found = run(plans, changes=("epochs=3", "model.score=a b"), precision="mixed")
    words = "python recipes/tiny.py --scale small --seed 1 --precision mixed --set "
    words += "'model.score=a b' --epochs"
    assert training_command(found) == (
        f"KERAS_BACKEND=jax {words} 5 (epochs done: 2), then "
        f"KERAS_BACKEND=torch {words} 3"
    )
    assert origin(found)["commit"] == "abc, def"
    assert "--epochs" not in training_command(run())


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
