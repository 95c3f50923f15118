import pytest

import zoo
from zoo.cli import main

pytestmark = pytest.mark.once


@pytest.fixture
def preset(made):
    return str(made("language_model"))


def test_generate_continues_each_line(preset, capsys):
    command = ["generate", preset, "a dog", "", "--max-length", "6"]
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
        texts = ["a", "dog", "a dog", "a cat"]
        assert main(["generate", preset, *texts, *options, *more]) == 0
        return capsys.readouterr().out

    first = run()
    assert run() == first
    assert any(run("--seed", str(seed)) != first for seed in range(1, 5))


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--top-k", "2", "--top-p", "0.5"], "not both"),
        (["--top-p", "1.5"], "1.5"),
        (["--temperature", "0"], "temperature=0.0"),
        (["--temperature", "warm"], "'warm'"),
        (["--max-length", "0"], "'0'"),
    ],
)
def test_generate_refuses_what_cannot_be(preset, capsys, arguments, message):
    assert main(["generate", preset, "a", *arguments]) == 2
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
