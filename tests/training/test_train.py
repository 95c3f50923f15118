"""`zoo.train`: own text from Python, for every task."""

import os

import pytest

import zoo
from tests.training.own_files import SMALL, pairs
from zoo.data import agreement_sentences, opinion_sentences
from zoo.data.generated.toy_text import toy_sentences
from zoo.presets.card import read_card
from zoo.training.recipe import recipes, train

pytestmark = pytest.mark.once  # test_translation.py trains under each backend


def test_without_an_output_a_new_folder_keeps_the_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for number in (1, 2):
        train("luong_dot", pairs(40), choices={**SMALL, "epochs": 1, "patience": None})
        assert os.path.exists(f"runs/luong_dot-{number}/preset/luong_dot-{number}")


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


# With control characters, and a surrogate, which cards and files can't hold.
def _tagger(count, seed):
    data = toy_sentences(count, (seed, 0))
    return [["it\x92s\ud800", *row[1:]] for row in data.sentences], data.tags


def _sentences(count, seed):
    return [f"it\x92s\ud800 {text}" for text in agreement_sentences(count, seed)[0]]


def _opinions(count, seed):
    texts, labels = opinion_sentences(count, seed, set())
    names = "bad\x92", "good\ud800"
    return [f"it\x1bs {text}" for text in texts], [names[label] for label in labels]


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
        languages="en",
        choices={**choices, "epochs": 1},
    )
    answer = getattr(model, task)("the dog")
    assert answer
    card = read_card(output / "preset" / "mine")
    assert card.languages == ["en"]
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


def test_what_can_not_be(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="allowed are .*luong_dot"):
        train("luong_dt", [("a", "b")])
    with pytest.raises(ValueError, match="size: allowed are tiny"):
        train("luong_dot", [("a", "b")], size="huge")
    with pytest.raises(TypeError, match="pairs must be"):
        train("luong_dot", 7)
    with pytest.raises(ValueError, match="seed"):
        train("luong_dot", [("a", "b")], seed=-1)
    assert zoo.train is train and "luong_dot" in recipes()


def test_text_whose_words_are_all_rare(tmp_path):
    data = ["a b", "c", "d e"], ["x", "x", "x"]
    with pytest.raises(ValueError, match="No word occurs 2 times.*--set least=1"):
        train("lstmn_sentiment", data, output=tmp_path / "x", choices={"least": 2})


def test_tags_that_the_preset_does_not_have(tmp_path):
    make, choices, _ = TASKS["birnn"]
    output, data = tmp_path / "mine", make(60, 1)
    options = {"size": "tiny", "choices": {**choices, "epochs": 1}}
    train("birnn", data, output=output, **options)
    other = data[0], [["X"] * len(row) for row in data[1]]
    with pytest.raises(ValueError, match="--from: A tag must be one of"):
        train("birnn", other, start=output, **options)
