import keras
import pytest

import zoo
from tests.presets_for_tests import FACTS
from zoo.cli import main
from zoo.models import RecurrentCausalLM, RecurrentLM, RecurrentLMPreprocessor
from zoo.presets.pages import write_card
from zoo.text import WordTokenizer

pytestmark = pytest.mark.once

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
    assert (
        "scored on ptb, or on --test FILE, received 'multi30k'"
        in capsys.readouterr().err
    )
    assert main([*command, "ptb", "--output", str(tmp_path / "out")]) == 2
    assert "omit --output" in capsys.readouterr().err
    assert main(["translate", "--preset", str(preset), "a dog"]) == 2
    assert "cannot translate; the presets for it are " in capsys.readouterr().err


def test_generate_continues_each_line(preset, capsys):
    command = ["generate", str(preset), "a dog", "", "--max-length", "6"]
    assert main(command) == 0
    found = capsys.readouterr().out.splitlines()
    assert found == zoo.load(preset).generate(["a dog", ""], max_length=6)
    assert found[0].startswith("a dog") and len(found) == 2
    assert main([*command, "--batch-size", "1"]) == 0
    assert capsys.readouterr().out.splitlines() == found


@pytest.mark.parametrize(
    "options", [["--top-k", "5"], ["--top-p", "0.9"], ["--temperature", "3"]]
)
def test_generate_draws_words_by_a_seed(preset, options, capsys):
    def run(*more):
        texts = ["a", "the", "a dog", "the cat"]
        command = ["generate", str(preset), *texts, "--max-length", "12", *options]
        assert main([*command, *more]) == 0
        return capsys.readouterr().out

    first = run()
    assert run() == first
    assert any(run("--seed", str(seed)) != first for seed in range(1, 5))


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--top-k", "2", "--top-p", "0.5"], "not both"),
        (["--top-p", "1.5"], "'1.5'"),
        (["--temperature", "0"], "'0'"),
        (["--temperature", "warm"], "'warm'"),
        (["--max-length", "0"], "'0'"),
    ],
)
def test_generate_refuses_what_cannot_be(preset, capsys, arguments, message):
    assert main(["generate", str(preset), "a", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and message in captured.err.splitlines()[-1]


def test_the_draws_of_an_export_go_on_from_batch_to_batch(
    tmp_path, monkeypatch, capsys
):
    class Writer:
        task_name = "generate"

        def generate(self, texts, seed, **options):
            calls.append(options)
            return [f"{text} {seed.integers(10**9)}" for text in texts]

    calls = []
    (tmp_path / "manifest.json").write_text("{}")
    monkeypatch.setattr(
        zoo.serving.runtime, "load", lambda path: Writer(), raising=False
    )

    def run(*options):
        command = ["generate", str(tmp_path), "a", "b", "c", "--batch-size=2"]
        assert main([*command, *options]) == 0
        return capsys.readouterr().out.splitlines()

    first = run("--top-k=4", "--temperature=0.5", "--max-length=9")
    given = {"top_k": 4, "top_p": None, "temperature": 0.5, "max_length": 9}
    assert calls == [given] * 2  # batches
    assert len(set(first)) == 3 and run("--top-k=4") == first
    assert run("--top-k=4", "--seed=1") != first
