"""A translator of the local server: its results are those of `translate`."""

import json

import numpy as np
import pytest

from tests.explorer.test_graphs import make_transformer
from tests.harness import randomize
from tests.marks import once
from tests.serving.conftest import make_translator
from zoo.explorer.options import Options
from zoo.explorer.searching import Searcher
from zoo.models import (
    ShowAttendTell,
    ShowAttendTellPreprocessor,
    ShowAttendTellTranslator,
)

INFO = {"window": 2}
TEXTS = ["a brown dog", "er rennt."]


def make_show_attend_tell():
    tokenizer = make_translator().preprocessor.tokenizer
    sizes = {"embedding_dim": 6, "annotation_dim": 4, "attention_dim": 5}
    backbone = randomize(ShowAttendTell(30, hidden_dim=8, **sizes), seed=3)
    preprocessor = ShowAttendTellPreprocessor(tokenizer, 24, 20)
    return ShowAttendTellTranslator(backbone, preprocessor)


MAKERS = [make_translator, once(make_transformer), once(make_show_attend_tell)]


@pytest.fixture(scope="module", params=MAKERS)
def model(request):
    task = request.param()
    return Searcher(task, INFO)


@pytest.mark.parametrize(
    "options",
    [
        {"beam_size": 1},
        once({"beam_size": 3, "n_best": 2, "max_length": 4}),
        once({"beam_size": 2, "length_penalty": 0.0, "coverage_penalty": 0.4}),
    ],
)
def test_translations_are_those_of_translate(model, options):
    for text in TEXTS:
        result = model.run(text, Options(**options, trace=True))
        wanted = model.task.translate(text, **options, return_details=True)
        wanted = wanted if isinstance(wanted, list) else [wanted]
        assert len(result["translations"]) == len(wanted)
        for got, record in zip(result["translations"], wanted, strict=True):
            assert got["text"] == record.text
            assert got["tokens"] == record.tokens
            assert got["source_tokens"] == record.source_tokens
            assert got["score"] == pytest.approx(record.score, abs=1e-4)
            shape = record.alignment.shape  # of an empty translation (0, S)
            alignment = np.reshape(got["alignment"], shape)
            np.testing.assert_allclose(alignment, record.alignment, atol=1e-5)
            if record.focus is not None:
                np.testing.assert_allclose(got["focus"], record.focus, atol=1e-5)
                np.testing.assert_array_equal(got["windows"], record.windows)
        check_steps(result)
        json.dumps(result, allow_nan=False)


def check_steps(result):
    best, steps, tree = result["translations"][0], result["steps"], result["tree"]
    assert [x["chosen"]["piece"] for x in steps] == [*best["tokens"], "</s>"]
    assert [x["previous"] for x in steps] == ["<s>", *best["tokens"]]
    for step in steps:
        probabilities = [x["probability"] for x in step["candidates"]]
        assert probabilities == sorted(probabilities, reverse=True)
        assert len(probabilities) == 10 and sum(probabilities) < 1.00001
        assert step["values"]["S"] == len(step["weights"]) == len(best["source_tokens"])
    assert [x["piece"] for x in tree if x["best"]] == [*best["tokens"], "</s>"]
    total = sum(x["logProbability"] for x in tree if x["best"])
    log_probs = [np.log(x["chosen"]["probability"]) for x in steps]
    assert total == pytest.approx(sum(log_probs), abs=1e-4)
    for place, node in enumerate(tree):
        assert node["parent"] < place
        if node["parent"] >= 0 and node["state"] != "dropped":
            assert tree[node["parent"]]["state"] == "live"
        if node["parent"] >= 0:
            assert tree[node["parent"]]["step"] == node["step"] - 1
    assert any(node["state"] == "finished" for node in tree)


@pytest.mark.once
def test_a_prefix_a_banned_word_and_given_attention(model):
    text = TEXTS[0]
    free = model.run(text, Options(trace=True))
    first = free["steps"][0]
    others = [x["id"] for x in first["candidates"] if x["id"] != first["chosen"]["id"]]
    forced = model.run(text, Options(prefix=(others[3],)))
    assert (
        forced["translations"][0]["tokens"][0]
        == first["candidates"][[x["id"] for x in first["candidates"]].index(others[3])][
            "piece"
        ]
    )
    banned = model.run(text, Options(banned=(first["chosen"]["id"],)))
    assert first["chosen"]["piece"] not in banned["translations"][0]["tokens"]
    count = len(first["weights"])
    given = model.run(
        text,
        Options(trace=True, attention={(1,): (0.0, 3.0, 1.0, *[0.0] * (count - 3))}),
    )
    assert given["steps"][0]["weights"] == first["weights"]
    assert given["steps"][1]["weights"][:3] == pytest.approx([0.0, 0.75, 0.25])
    with pytest.raises(ValueError, match="must be .* weights. Received: 1"):
        model.run(text, Options(attention={(0,): (1.0,)}))
    last = (*[0.0] * (count - 1), 1.0)
    one_head = Options(trace=True, attention={(1, 0, 1): last})
    if first["heads"] is None:
        with pytest.raises(ValueError, match=r"of the heads \(\). Received: .0, 1."):
            model.run(text, one_head)
        return
    steps = model.run(text, one_head)["steps"]
    own = model.run(text, Options(trace=True))["steps"]
    assert steps[0]["heads"] == own[0]["heads"]
    assert steps[1]["heads"][0][1] == list(last)
    assert steps[1]["heads"][0][0] == own[1]["heads"][0][0]
    with pytest.raises(ValueError, match=r"heads \(2, 2\). Received: .2, 0."):
        model.run(text, Options(attention={(0, 2, 0): last}))


@pytest.mark.once
def test_a_blank_text_has_nothing_to_show(model):
    result = model.run("  ", Options(beam_size=2, trace=True))
    assert [x["text"] for x in result["translations"]] == [""]
    assert result["steps"] == result["tree"] == []


@pytest.mark.once
def test_a_search_can_be_stopped(model):
    calls = []

    def between():
        calls.append(len(calls))
        if len(calls) == 3:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        model.run(TEXTS[0], Options(), between)
    assert len(calls) == 3
