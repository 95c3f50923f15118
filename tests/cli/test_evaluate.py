import pytest

from tests.cli.fakes import failing
from tests.presets_for_tests import FACTS, make_preset
from zoo import presets
from zoo.cli import main
from zoo.data import DownloadError
from zoo.presets import loading

pytestmark = pytest.mark.once


def test_evaluate(task, corpus, tmp_path, capsys):
    out = tmp_path / "hypotheses"
    arguments = ["--data", "toy", "--split", "test", "--source", "fr", "--limit", "2"]
    code = main(["evaluate", "fake", *arguments, "--beam", "2", "--output", str(out)])
    assert code == 0
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


@pytest.mark.usefixtures("corpus")
def test_an_engine_is_scored(task, monkeypatch):
    asked = []
    monkeypatch.setattr(
        "zoo.cli.evaluate.use_engine",
        lambda names, arguments, kind: asked.append((names, kind)) or ["exported"],
    )
    monkeypatch.setattr(
        "zoo.cli.evaluate.load_translator", lambda names, _: asked.append(names) or task
    )
    command = ["evaluate", "fake", "--data", "toy", "--split", "test"]
    assert main([*command, "--engine", "onnx"]) == 0
    assert asked == [(["fake"], "translate"), ["exported"]] and len(task.calls) == 1


def test_an_engine_is_asked_for_a_classifier(monkeypatch, capsys):
    def refuse(names, arguments, task):
        raise ValueError(f"asked for {names} by {arguments.engine} to {task}")

    monkeypatch.setattr("zoo.cli.evaluate.use_engine", refuse)
    command = ["evaluate", "lstmn_sentiment", "--data", "sst", "--split", "test"]
    assert main([*command, "--engine", "onnx"]) == 1
    error = capsys.readouterr().err
    assert "asked for ['lstmn_sentiment'] by onnx to classify" in error


def test_evaluate_unknown_corpus(corpus, capsys, monkeypatch):
    monkeypatch.setattr(loading, "load", lambda _: pytest.fail("loaded"))
    assert main(["evaluate", "fake", "--data", "tyo", "--split", "test"]) == 2
    assert "'tyo'" in capsys.readouterr().err


def test_evaluate_takes_the_languages_of_the_card(corpus, tiny, task, monkeypatch):
    monkeypatch.setattr(presets, "find", lambda name: tiny)
    assert FACTS["languages"] == ["en", "de"]
    command = ["evaluate", "tiny", "--data", "toy", "--split", "test"]
    assert main(command) == 0
    assert main([*command, "--source", "en", "--target", "de"]) == 0
    assert main([*command, "--allow-newer"]) == 0
    assert corpus == [("en", "de", "test")] * 2 + [("en", "de", "test", "newer")]


@pytest.mark.parametrize("given", [("de", "en"), ("en", "fr"), ("fr", "de")])
def test_evaluate_refuses_other_languages(corpus, tiny, capsys, monkeypatch, given):
    monkeypatch.setattr(presets, "find", lambda name: tiny)
    command = ["evaluate", "tiny", "--data", "toy", "--split", "test"]
    assert main([*command, "--source", given[0], "--target", given[1]]) == 2
    assert "tiny translates from en to de, received" in capsys.readouterr().err
    assert main([*command, "--target", "fr"]) == 2
    assert capsys.readouterr().err.endswith("received --target fr\n")
    assert corpus == []


def test_what_reads_several_languages_is_scored_on_any(
    corpus, tiny, task, monkeypatch, capsys
):
    make_preset(tiny.parent / "dates", languages=["mul", "zxx"])
    monkeypatch.setattr(presets, "find", lambda name: tiny.parent / "dates")
    command = ["evaluate", "dates", "--data", "toy", "--split", "test"]
    assert main(command) == 0
    assert main([*command, "--source", "de"]) == 0
    assert corpus == [("mul", "zxx", "test"), ("de", "zxx", "test")]
    assert main([*command, "--target", "en"]) == 2
    assert "translates from mul to zxx, received --target en" in capsys.readouterr().err


def test_evaluate_needs_two_languages(corpus, tiny, capsys, monkeypatch):
    make_preset(tiny.parent / "one", languages=["en"])
    monkeypatch.setattr(presets, "find", lambda name: tiny.parent / "one")
    assert main(["evaluate", "one", "--data", "toy", "--split", "test"]) == 2
    assert "the card of one has ['en']" in capsys.readouterr().err
    assert corpus == []


@pytest.mark.parametrize("option", ["--beam-size=5", "--length-penalty=0"])
@pytest.mark.parametrize("name, data", [("birnn", "ud_english_ewt"), ("gru", "ptb")])
def test_what_only_reads_takes_no_search(capsys, monkeypatch, name, data, option):
    monkeypatch.setattr(loading, "load", lambda _: pytest.fail("loaded"))
    assert main(["evaluate", name, "--data", data, "--split", "test", option]) == 2
    error = capsys.readouterr().err
    assert f"{name} (" in error and f"received {option.split('=')[0]}" in error


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--data", "ptb"], "scored on sst, or on --test FILE, received 'ptb'"),
        (["--data", "sst", "--limit", "2"], "received also --limit"),
        (["--data", "sst", "--output", "x"], "received also --output"),
    ],
)
def test_a_classifier_is_scored_on_the_whole_treebank(options, message, capsys):
    argv = ["evaluate", "lstmn_sentiment", *options, "--split", "test"]
    assert main(argv) == 2
    assert message in " ".join(capsys.readouterr().err.split())


@pytest.mark.usefixtures("without_card")
def test_evaluate_without_the_file(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(loading, "load", lambda _: pytest.fail("loaded"))
    monkeypatch.setenv("ZOO_DATA_DIR", str(tmp_path))
    assert main(["evaluate", "fake", "--data", "multi30k", "--split", "test"]) == 2
    assert "test_2016_flickr.en is missing" in capsys.readouterr().err


@pytest.mark.parametrize(
    "error, code",
    [
        (DownloadError("no network"), 1),
        (OSError("disk"), 1),
        (PermissionError("closed"), 2),
        (ValueError("misaligned"), 2),
    ],
)
def test_evaluate_when_the_corpus_fails(monkeypatch, without_card, error, code):
    from zoo import data

    monkeypatch.setattr(data, "load", lambda *_, **__: failing(error)("x"))
    assert main(["evaluate", "fake", "--data", "multi30k", "--split", "test"]) == code


# === Text of one's own ===


def test_evaluate_on_two_files(task, without_card, tmp_path, capsys):
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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "give --data CORPUS and --split SPLIT, or --test FILE"),
        (["--data", "toy"], "give --data CORPUS and --split SPLIT"),
        (
            ["--data", "toy", "--split", "x", "--test", "a"],
            "takes no --data or --split",
        ),
        (["--data", "toy", "--split", "x", "--columns", "a,b"], "given by --test"),
        (["--test", "no.fr", "no.de"], "no.fr does not exist"),
        (["--test", "a", "b", "c"], "received 3"),
    ],
)
def test_evaluate_says_what_it_needs(options, message, corpus, capsys, monkeypatch):
    monkeypatch.setattr(loading, "load", lambda _: pytest.fail("loaded"))
    assert main(["evaluate", "fake", *options]) == 2
    assert message in capsys.readouterr().err


def test_of_a_folder_the_test_is_scored(preset, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("zoo.cli.evaluate.describe", lambda name: ("tag", None))
    (tmp_path / "train.txt").write_text("a X\nb Y\nc Z\n")
    command = ["evaluate", str(preset), "--test", str(tmp_path)]
    assert main(command) == 2
    assert "has no file for test" in capsys.readouterr().err
    (tmp_path / "test.txt").write_text("a X\nb Y\n")
    assert main(command) == 0
    assert "of 2 words as the file has them" in capsys.readouterr().out
