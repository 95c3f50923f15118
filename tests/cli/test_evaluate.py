import importlib.util

import pytest

import zoo
from tests.presets_for_tests import make_preset
from zoo import presets
from zoo.cli import main
from zoo.presets import registry

pytestmark = pytest.mark.once

TOY = ["--data", "toy"]


def test_evaluate(task, corpus, tmp_path, capsys):
    out = tmp_path / "hypotheses"
    options = ["--split", "x", "--limit", "2", "--beam", "2", "--output", str(out)]
    assert main(["evaluate", "fake", *TOY, *options]) == 0
    assert corpus == [("en", "de", "x")]
    assert len(task.calls) == 1 and task.calls[0]["beam_size"] == 2
    assert out.read_text() == "THE CAT SAT ON THE MAT\nA DOG RUNS\n"
    captured = capsys.readouterr()
    bleu, chrf, exact = captured.out.splitlines()
    assert bleu.startswith("BLEU ") and 40 < float(bleu.split()[1]) < 100
    assert "tok:13a" in bleu and "nrefs:1" in bleu
    assert chrf.startswith("chrF ") and "version:" in chrf
    assert exact.startswith("exact 50.00 percent of sentences equal to a reference")
    assert "sentences/s (2 sentences in" in captured.err


def test_the_languages_are_the_cards(corpus, tiny, task, monkeypatch):
    monkeypatch.setattr(presets, "find", lambda name: tiny.parent / name)
    make_preset(tiny.parent / "dates", languages=["mul", "zxx"])
    for name, options, languages in (
        ("tiny", [], ("en", "de")),
        ("dates", [], ("mul", "zxx")),
        ("dates", ["--source", "de"], ("de", "zxx")),  # it reads several
    ):
        assert main(["evaluate", name, *TOY, *options]) == 0
        assert corpus.pop() == (*languages, "test")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("fake", "give --data CORPUS, or --test FILE"),
        ("fake --data toy --test a", "give --data CORPUS, or --test FILE"),
        ("fake --test no.fr no.de", "no.fr"),
        ("show_attend_tell --data toy", "show_attend_tell cannot translate"),
        ("lstmn_sentiment --data ptb", "is scored on sst or your own text"),
        ("birnn --data ptb", "is scored on ud_english_ewt"),
        ("birnn --data ud_english_ewt --split valid", "['train', 'dev', 'test']"),
        ("lstm --data multi30k", "is scored on ptb"),
    ],
)
def test_bad_usage(words, message, request, capsys, monkeypatch):
    if words.startswith("fake"):
        request.getfixturevalue("corpus")
    monkeypatch.setattr(registry, "load", lambda _: pytest.fail("loaded"))
    assert main(["evaluate", *words.split()]) == 2
    assert message in capsys.readouterr().err


def test_scores_that_need_a_package_ask_for_it_first(corpus, monkeypatch, capsys):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(registry, "load", lambda _: pytest.fail("loaded"))
    assert main(["evaluate", "fake", *TOY]) == 1
    assert "Scoring needs sacrebleu" in capsys.readouterr().err


def test_text_of_ones_own(task, without_card, tmp_path, capsys):
    files = [tmp_path / "t.fr", tmp_path / "t.de"]
    files[0].write_text("a dog\n\nthe cat\n")
    files[1].write_text("A DOG\nNOTHING\nTHE CAT\n")
    command = ["evaluate", "fake", "--test"]
    assert main([*command, *map(str, files)]) == 0
    captured = capsys.readouterr()
    assert "exact 100.00" in captured.out and "left out 1 " in captured.err
    table = tmp_path / "t.csv"
    table.write_text("id,english,german\n1,a dog,A DOG\n2,a cat,A CAT\n")
    assert main([*command, str(table), "--columns", "english,german"]) == 0
    assert "exact 100.00" in capsys.readouterr().out


def test_a_tagger(made, tmp_path, monkeypatch, capsys):
    words, tags = ["A", "dog", "runs"], ["DET", "NOUN", "VERB"]
    (tmp_path / "ud_english_ewt").mkdir()
    rows = [
        f"{i}\t{w}\t_\t{t}" + "\t_" * 6
        for i, w, t in zip("123", words, tags, strict=True)
    ]
    test = tmp_path / "ud_english_ewt" / "test.conllu"
    test.write_text("\n".join(rows) + "\n")
    monkeypatch.setenv("ZOO_DATA_DIR", str(tmp_path))
    out, preset = tmp_path / "tags.txt", made("tagger")
    command = ["evaluate", preset, "--data", "ud_english_ewt"]
    assert main([*command, "--output", str(out)]) == 0
    [found] = zoo.load(preset).tag([words])
    right = sum(tag == other for (_, tag), other in zip(found, tags, strict=True))
    wanted = f"accuracy {100 * right / 3:.2f} of 3 words\n"
    assert capsys.readouterr().out == wanted
    assert out.read_text().split() == [f"{word}/{tag}" for word, tag in found]
    (tmp_path / "own").mkdir()
    (tmp_path / "own/test.txt").write_text("a X\nb Y\n")
    assert main(["evaluate", preset, "--test", str(tmp_path / "own")]) == 0
    assert "of 2 words" in capsys.readouterr().out


def test_a_language_model(made, tmp_path, monkeypatch, capsys):
    texts = ["a dog runs", "a cat sees a dog", "a cat"]
    (tmp_path / "ptb").mkdir()
    lines = [f" {text} \n" for text in texts]
    (tmp_path / "ptb" / "ptb.test.txt").write_text("".join(lines))
    monkeypatch.setenv("ZOO_DATA_DIR", str(tmp_path))
    preset = made("language_model")
    assert main(["evaluate", preset, "--data", "ptb"]) == 0
    model = zoo.load(preset)
    expected = model.perplexity(texts, batch_size=1, carry_over=True)
    assert abs(expected - model.perplexity(texts)) > 0.001  # it does carry over
    assert capsys.readouterr().out == (
        f"perplexity {expected:.2f} of 13 words and ends of sentences, "
        "state carried over\n"
    )


def test_a_classifier(made, tmp_path, capsys):
    preset, texts = made("classifier"), ["a good film", "bad", "good"]
    answers = zoo.load(preset).classify(texts)
    (tmp_path / "t.csv").write_text(
        "label,text\n" + "".join(f"yes,{text}\n" for text in texts)
    )
    assert main(["evaluate", preset, "--test", str(tmp_path / "t.csv")]) == 0
    share = 100 * answers.count("yes") / 3
    assert f"accuracy {share:.2f} of 3 texts" in capsys.readouterr().out
