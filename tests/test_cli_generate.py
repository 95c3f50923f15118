import keras
import pytest

import zoo
from tests.presets_for_tests import FACTS
from zoo.card_pages import write_card
from zoo.cli import main
from zoo.models import RecurrentCausalLM, RecurrentLM, RecurrentLMPreprocessor
from zoo.text import WordTokenizer

TEXTS = ["a dog runs", "the dog sleeps a lot", "a cat", "the cat runs"]


@pytest.fixture(scope="module")
def preset(tmp_path_factory):
    keras.utils.set_random_seed(3)
    folder = tmp_path_factory.mktemp("presets") / "tiny"
    words = sorted({word for text in TEXTS for word in text.split()})
    tokenizer = WordTokenizer(words)
    size = tokenizer.vocabulary_size()
    backbone = RecurrentLM(size, embedding_dim=4, hidden_dim=4, initializer_range=1.0)
    task = RecurrentCausalLM(backbone, RecurrentLMPreprocessor(tokenizer))
    task.save_to_preset(folder)
    write_card(folder, {**FACTS, "name": "tiny", "task": "generate"})
    return folder


@pytest.fixture
def ptb(tmp_path, monkeypatch):
    (tmp_path / "ptb").mkdir()
    lines = [f" {text} \n" for text in TEXTS]
    (tmp_path / "ptb" / "ptb.test.txt").write_text("".join(lines))
    monkeypatch.setenv("ZOO_DATA_DIR", str(tmp_path))


def test_evaluate_scores_a_language_model(preset, ptb, capsys):
    command = ["evaluate", str(preset), "--data", "ptb", "--split", "test"]
    assert main([*command, "--limit", "3"]) == 0
    perplexity, speed = capsys.readouterr().out.splitlines()
    model = zoo.load(preset)
    expected = model.perplexity(TEXTS[:3], batch_size=1, carry_over=True)
    assert abs(expected - model.perplexity(TEXTS[:3])) > 0.01  # it does carry over
    assert perplexity == (
        f"perplexity {expected:.2f} of 13 words and ends of sentences, "
        "state carried over"
    )
    assert "words/s" in speed


def test_what_a_language_model_cannot_do_is_refused(preset, ptb, tmp_path, capsys):
    command = ["evaluate", str(preset), "--split", "test", "--data"]
    assert main([*command, "multi30k"]) == 2
    assert "scored on ptb, received 'multi30k'" in capsys.readouterr().err
    assert main([*command, "ptb", "--output", str(tmp_path / "out")]) == 2
    assert "leave --output out" in capsys.readouterr().err
    assert main(["translate", "--preset", str(preset), "a dog"]) == 2
    assert "RecurrentCausalLM, which translates nothing" in capsys.readouterr().err
