"""`zoo.train`: own text from Python, for every task."""

import pytest

import zoo
from tests.run.own_files import SMALL, pairs
from zoo.data import agreement_sentences, opinion_sentences
from zoo.data.tagged import toy_sentences
from zoo.presets.card import read_card
from zoo.run.train import recipes, train

pytestmark = pytest.mark.once  # test_translation.py trains under each backend


def test_lists_in_a_task_out(tmp_path, capsys):
    sources, targets = zip(*pairs(60), strict=True)
    output = tmp_path / "mine"
    options = {"choices": SMALL, "languages": ("en", "fr"), "output": output}
    model = train("luong_dot", (list(sources), list(targets)), **options)
    assert isinstance(model.translate("ba"), str)
    assert "held out 3 pairs" in capsys.readouterr().err
    card = read_card(output / "preset" / "mine")
    assert card.data[0]["name"] == "text given in Python"
    # The same call goes on where it stopped: there is nothing left to train.
    again = train("luong_dot", (list(sources), list(targets)), **options)
    assert again.translate("ba de") == model.translate("ba de")
    assert "resumed after epoch 2" in capsys.readouterr().err


def _tagger(count, seed):
    return toy_sentences(count, (seed, 0))


def _sentences(count, seed):
    return agreement_sentences(count, seed)[0]


def _opinions(count, seed):
    texts, labels = opinion_sentences(count, seed, set())
    return texts, [("bad", "good")[label] for label in labels]


TASKS = {
    "birnn": (_tagger, {"model.hidden_dim": 8, "buckets": 1}, "tag"),
    "lstm": (_sentences, {"hidden_dim": 8, "embedding_dim": 8}, "generate"),
    "lstmn_sentiment": (
        _opinions,
        {"hidden_dim": 8, "embedding_dim": 8, "buckets": 1},
        "classify",
    ),
}


@pytest.mark.parametrize("name", TASKS)
def test_other_tasks(name, tmp_path):
    make, choices, task = TASKS[name]
    output = tmp_path / "mine"
    model = train(
        name,
        make(80, 1),
        test=make(10, 2),
        size="tiny",
        output=output,
        choices={**choices, "epochs": 1},
    )
    answer = getattr(model, task)("the dog")
    assert answer
    card = read_card(output / "preset" / "mine")
    assert card.task == task and [s["split"] for s in card.scores] == ["valid", "test"]
    more = train(
        name,
        make(80, 3),
        size="tiny",
        start=str(output),
        output=tmp_path / "more",
        choices={"epochs": 1},
    )
    assert type(more) is type(model)
    assert more.count_params() == model.count_params()


def test_what_can_not_be():
    with pytest.raises(ValueError, match="did you mean luong_dot"):
        train("luong_dt", [("a", "b")])
    with pytest.raises(ValueError, match="size: allowed are tiny"):
        train("luong_dot", [("a", "b")], size="huge")
    with pytest.raises(TypeError, match="pairs must be"):
        train("luong_dot", 7)
    assert zoo.train is train and "luong_dot" in recipes()


def test_tags_that_the_preset_does_not_have(tmp_path):
    make, choices, _ = TASKS["birnn"]
    output, data = tmp_path / "mine", make(60, 1)
    options = {"size": "tiny", "choices": {**choices, "epochs": 1}}
    train("birnn", data, output=output, **options)
    other = type(data)(data.sentences, [["X"] * len(row) for row in data.tags])
    with pytest.raises(ValueError, match="--from: A tag must be one of"):
        train("birnn", other, start=output, **options)
