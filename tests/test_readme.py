"""The Python examples of the README and of the pages run as they stand."""

import re
from pathlib import Path

import keras
import numpy as np
import pytest

import zoo

pytestmark = pytest.mark.once

ROOT = Path(__file__).resolve().parent.parent


def examples(page):
    text = (ROOT / page).read_text("utf-8")
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


PAGES = ("README.md", "docs/translate.md", "docs/building_blocks.md")
EXAMPLES = [
    pytest.param(text, id=f"{Path(page).stem}-{number}")
    for page in PAGES
    for number, text in enumerate(examples(page), start=1)
]


@pytest.mark.parametrize("text", EXAMPLES)
def test_example(text, capsys):
    exec(compile(text, "example", "exec"), {})
    # What an example says that it prints, it prints.
    printed = capsys.readouterr().out
    for wanted in re.findall(r"print\(.*\)  # (.*)", text):
        assert wanted in printed


@pytest.mark.parametrize("page", PAGES)
def test_there_are_examples(page):
    assert len(examples(page)) >= 2


def test_the_examples_of_own_data_run_one_after_the_other(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scope = {}
    for text in examples("docs/own_data.md"):
        exec(compile(text, "docs/own_data.md", "exec"), scope)
    assert (tmp_path / "formal" / "task.json").is_file()


PROGRAM, MODULE = examples("docs/from_pytorch.md")


@pytest.mark.long
def test_the_pytorch_tutorials_task_is_learned(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    scope = {}
    exec(compile(PROGRAM, "docs/from_pytorch.md", "exec"), scope)
    assert len(scope["rows"]) == 144 and len(scope["pairs"]) == 124
    assert not set(scope["pairs"]) & set(scope["test"])
    # Chance, as the untrained model has it, is near 0.
    assert scope["scores"]["bleu"]["score"] > 70
    assert (tmp_path / "attention.png").read_bytes().startswith(b"\x89PNG")
    *_, loaded = capsys.readouterr().out.splitlines()
    assert loaded == scope["translations"][0]


@pytest.mark.skipif(keras.backend.backend() != "torch", reason="a torch.nn.Module")
def test_layers_train_within_a_torch_module():
    scope = {}
    exec(compile(MODULE, "docs/from_pytorch.md", "exec"), scope)
    assert scope["losses"][0] > 1.5 and scope["losses"][-1] < 0.3
    trained = {
        name.split(".")[0]: parameter.grad
        for name, parameter in scope["model"].named_parameters()
        if parameter.requires_grad  # the states of Keras's seeds are parameters too
    }
    assert set(trained) == {"source", "target", "encoder", "decoder", "out"}
    assert all(gradient is not None for gradient in trained.values())
    weights = scope["weights"].detach().numpy()
    real = np.array([4, 2, 3])[:, None, None] > np.arange(4)
    assert not weights[~np.broadcast_to(real, weights.shape)].any()
    np.testing.assert_allclose(weights.sum(-1), 1, rtol=1e-5)


def test_the_score_in_the_answer_of_a_server():
    text = (ROOT / "README.md").read_text("utf-8")
    [(translation, score)] = re.findall(
        r'"translation": "(.*?)", "score": (.*?)}', text
    )
    source = "A man is riding a bicycle."
    found = zoo.load("luong_local").translate(source, return_details=True)
    assert found.text == translation
    assert found.score == pytest.approx(float(score), abs=5e-4)


def test_the_picture_shows_what_the_presets_write_today():
    drawn = (ROOT / "docs/attention.svg").read_text("utf-8")
    words = re.findall(r"<!-- (.*?) -->", drawn)
    source = "A little girl is playing with a ball in the park."
    for name in ("bahdanau", "luong_local", "transformer"):
        record = zoo.load(name).translate(source, return_details=True).merge_words()
        labels = re.escape(" ".join([*record.source_tokens, *record.tokens]))
        assert re.search(rf"{labels} [\d ]+ {name}( |$)", " ".join(words))
