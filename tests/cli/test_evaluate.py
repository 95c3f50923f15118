import pytest

import zoo
from tests.cli.fakes import failing
from tests.presets_for_tests import FACTS, make_preset
from zoo import presets
from zoo.cli import main
from zoo.data import DownloadError
from zoo.presets import loading

pytestmark = pytest.mark.once

TOY = ["--data", "toy", "--split", "test"]


def test_evaluate(task, corpus, tmp_path, capsys):
    out = tmp_path / "hypotheses"
    options = ["--source", "fr", "--limit", "2", "--beam", "2", "--output", str(out)]
    assert main(["evaluate", "fake", *TOY, *options]) == 0
    assert corpus == [("fr", "de", "test")]
    assert len(task.calls) == 1 and task.calls[0]["beam_size"] == 2
    assert out.read_text() == "THE CAT SAT ON THE MAT\nA DOG RUNS\n"
    bleu, chrf, exact, speed = capsys.readouterr().out.splitlines()
    assert bleu.startswith("BLEU ") and 40 < float(bleu.split()[1]) < 100
    assert "tok:13a" in bleu and "nrefs:1" in bleu
    assert chrf.startswith("chrF ") and "version:" in chrf
    assert (
        exact
        == "exact 50.00 percent of sentences equal to a reference, white space aside"
    )
    assert "2 sentences" in speed and "sentences/s" in speed


@pytest.mark.parametrize(
    "name, kind, data", [("luong_local", "translate", TOY), ("birnn", "tag", None)]
)
def test_an_engine_is_scored(name, kind, data, corpus, tiny, monkeypatch, capsys):
    def refuse(names, arguments, task):
        raise ValueError(f"asked for {names} by {arguments.engine} to {task}")

    preset = make_preset(tiny.parent / name, name=name, task=kind) and tiny.parent
    monkeypatch.setattr(presets, "find", lambda name: preset / name)
    monkeypatch.setattr("zoo.cli.evaluate.use_engine", refuse)
    (tiny.parent / "test.txt").write_text("a X\nb Y\n")
    data = data or ["--test", str(tiny.parent / "test.txt")]
    assert main(["evaluate", name, *data, "--engine", "onnx"]) == 2
    assert f"asked for ['{name}'] by onnx to {kind}" in capsys.readouterr().err


def test_evaluate_takes_the_languages_of_the_card(
    corpus, tiny, task, monkeypatch, capsys
):
    monkeypatch.setattr(presets, "find", lambda name: tiny.parent / name)
    make_preset(tiny.parent / "dates", languages=["mul", "zxx"])
    assert FACTS["languages"] == ["en", "de"]
    for name, options, languages in (
        ("tiny", [], ("en", "de")),
        ("tiny", ["--source", "en", "--target", "de"], ("en", "de")),
        ("dates", [], ("mul", "zxx")),
        ("dates", ["--source", "de"], ("de", "zxx")),  # it reads several
    ):
        assert main(["evaluate", name, *TOY, *options, "--allow-newer"]) == 0
        assert corpus.pop() == (*languages, "test", "newer")
    capsys.readouterr()
    for name, option, told in (
        ("tiny", ["--source", "de"], "en to de, received de"),
        ("tiny", ["--target", "fr"], "en to de, received fr"),
        ("dates", ["--target", "en"], "mul to zxx, received en"),
    ):
        assert main(["evaluate", name, *TOY, *option]) == 2
        assert f"{name} translates from {told}" in capsys.readouterr().err
    assert corpus == []


@pytest.mark.parametrize(
    "error, code",
    [(DownloadError("no network"), 1), (OSError("disk"), 1), (ValueError("odd"), 2)],
)
def test_evaluate_when_the_corpus_fails(monkeypatch, without_card, error, code):
    from zoo import data

    monkeypatch.setattr(data, "load", lambda *_, **__: failing(error)("x"))
    assert main(["evaluate", "fake", "--data", "multi30k", "--split", "test"]) == code


def test_evaluate_without_the_file(tmp_path, capsys, monkeypatch, without_card):
    monkeypatch.setenv("ZOO_DATA_DIR", str(tmp_path))
    assert main(["evaluate", "fake", "--data", "multi30k", "--split", "test"]) == 2
    assert "test_2016_flickr.en is missing" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("fake", "give --data CORPUS and --split SPLIT, or --test FILE"),
        ("fake --data toy", "give --data CORPUS and --split SPLIT"),
        ("fake --data tyo --split test", "'tyo'"),
        ("fake --data toy --split x --test a", "takes no --data or --split"),
        ("fake --test no.fr no.de", "no.fr does not exist"),
        ("fake --test a b c", "received 3"),
        ("lstmn_sentiment --data ptb --split x", "sst, or on --test FILE, received"),
        ("lstmn_sentiment --data sst --split x --limit 2", "scores all sentences"),
        ("lstmn_sentiment --data sst --split x --output a", "and writes none"),
        ("birnn --data ptb --split x", "scored on ud_english_ewt, or on --test"),
        ("birnn --data ud_english_ewt --split valid", "are train, dev, test"),
        ("lstm --data multi30k --split x", "are scored on ptb"),
        ("lstm --data ptb --split test --output a", "omit --output"),
    ],
)
def test_evaluate_says_what_it_needs(words, message, request, capsys, monkeypatch):
    if words.startswith("fake"):
        request.getfixturevalue("corpus")
    monkeypatch.setattr(loading, "load", lambda _: pytest.fail("loaded"))
    monkeypatch.delattr("zoo.data.own", raising=False)  # as in a fresh process
    assert main(["evaluate", *words.split()]) == 2
    assert message in capsys.readouterr().err


# === Text of one's own ===


def test_evaluate_on_two_files(task, without_card, tmp_path, capsys, monkeypatch):
    monkeypatch.delattr(zoo.data, "own", raising=False)  # as in a new process
    files = [tmp_path / "t.fr", tmp_path / "t.de"]
    files[0].write_text("a dog\n\nthe cat\n")
    files[1].write_text("A DOG\nNOTHING\nTHE CAT\n")
    command = ["evaluate", "fake", "--test", *map(str, files)]
    assert main([*command, "--limit", "2"]) == 0
    captured = capsys.readouterr()
    out = captured.out.splitlines()
    assert out[2].startswith("exact 100.00") and "2 sentences" in out[3]
    assert "; left out 1 with an empty side (the first: line 2 of " in captured.err


def test_evaluate_on_a_table(task, without_card, tmp_path, capsys):
    table = tmp_path / "t.csv"
    table.write_text("id,english,german\n1,a dog,A DOG\n2,a cat,A CAT\n")
    command = ["evaluate", "fake", "--test", str(table)]
    assert main([*command, "--columns", "english,german"]) == 0
    assert "exact 100.00" in capsys.readouterr().out
    assert main(command) == 2
    assert "id, english, german" in capsys.readouterr().err


# === Taggers, language models and classifiers ===


def test_evaluate_scores_a_tagger(made, tmp_path, monkeypatch, capsys):
    words, tags = ["A", "dog", "runs"], ["DET", "NOUN", "VERB"]
    (tmp_path / "ud_english_ewt").mkdir()
    rows = [
        f"{i}\t{w}\t_\t{t}" + "\t_" * 6
        for i, w, t in zip("123", words, tags, strict=True)
    ]
    test = tmp_path / "ud_english_ewt" / "test.conllu"
    test.write_text("\n".join(rows) + "\n\n1\truns\t_\tVERB" + "\t_" * 6 + "\n")
    monkeypatch.setenv("ZOO_DATA_DIR", str(tmp_path))
    out, preset = tmp_path / "tags.txt", str(made("tagger"))
    command = ["evaluate", preset, "--data", "ud_english_ewt", "--split", "test"]
    assert main([*command, "--output", str(out), "--limit", "1"]) == 0
    [found] = zoo.load(preset).tag([words])
    right = sum(tag == other for (_, tag), other in zip(found, tags, strict=True))
    accuracy, speed = capsys.readouterr().out.splitlines()
    wanted = f"{100 * right / 3:.2f} UPOS, 3 words as the treebank has them"
    assert accuracy == f"accuracy {wanted}" and "words/s" in speed
    assert out.read_text().split() == [f"{word}/{tag}" for word, tag in found]
    # Of a folder the test is scored.
    (tmp_path / "own").mkdir()
    (tmp_path / "own/test.txt").write_text("a X\nb Y\n")
    assert main(["evaluate", preset, "--test", str(tmp_path / "own")]) == 0
    assert "of 2 words as the file has them" in capsys.readouterr().out


def test_evaluate_scores_a_language_model(made, tmp_path, monkeypatch, capsys):
    texts = ["a dog runs", "a cat sees a dog", "a cat"]
    (tmp_path / "ptb").mkdir()
    lines = [f" {text} \n" for text in [*texts, "beyond the limit"]]
    (tmp_path / "ptb" / "ptb.test.txt").write_text("".join(lines))
    monkeypatch.setenv("ZOO_DATA_DIR", str(tmp_path))
    preset = str(made("language_model"))
    command = ["evaluate", preset, "--data", "ptb", "--split", "test", "--limit", "3"]
    assert main(command) == 0
    perplexity, speed = capsys.readouterr().out.splitlines()
    model = zoo.load(preset)
    expected = model.perplexity(texts, batch_size=1, carry_over=True)
    assert abs(expected - model.perplexity(texts)) > 0.001  # it does carry over
    assert perplexity == (
        f"perplexity {expected:.2f} of 13 words and ends of sentences, "
        "state carried over"
    )
    assert "words/s" in speed


def test_evaluate_scores_a_classifier(made, tmp_path, capsys):
    preset, texts = str(made("classifier")), ["a good film", "bad", "good"]
    answers = zoo.load(preset).classify(texts)
    (tmp_path / "t.csv").write_text(
        "label,text\n" + "".join(f"yes,{text}\n" for text in texts)
    )
    assert main(["evaluate", preset, "--test", str(tmp_path / "t.csv")]) == 0
    share = 100 * answers.count("yes") / 3
    assert f"accuracy {share:.2f} of 3 texts" in capsys.readouterr().out
