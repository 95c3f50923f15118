import json

import keras
import pytest

import zoo
from tests.presets_for_tests import FACTS
from zoo.cli import main
from zoo.models import BiRNNTagger, BiRNNWords
from zoo.presets.pages import write_card
from zoo.text import TaggerPreprocessor

pytestmark = pytest.mark.once

SENTENCES = [["A", "dog", "runs"], ["a", "dog"], ["runs"]]
TAGS = [["DET", "NOUN", "VERB"], ["DET", "NOUN"], ["VERB"]]


@pytest.fixture(scope="module")
def preset(tmp_path_factory):
    keras.utils.set_random_seed(3)
    folder = tmp_path_factory.mktemp("presets") / "tiny"
    preprocessor = TaggerPreprocessor.of(SENTENCES, TAGS)
    sizes = {**preprocessor.sizes(), "filters": 4, "hidden_dim": 4}
    backbone = BiRNNWords(**sizes, embedding_dim=4, character_dim=4)
    BiRNNTagger(backbone, preprocessor).save_to_preset(folder)
    write_card(folder, {**FACTS, "name": "tiny", "task": "tag", "languages": ["en"]})
    return folder


@pytest.fixture
def treebank(tmp_path, monkeypatch):
    folder = tmp_path / "ud_english_ewt"
    folder.mkdir()
    rows = [
        "\n".join(
            f"{number}\t{word}\t_\t{tag}" + "\t_" * 6
            for number, (word, tag) in enumerate(zip(words, tags, strict=True), start=1)
        )
        for words, tags in zip(SENTENCES, TAGS, strict=True)
    ]
    (folder / "test.conllu").write_text("\n\n".join(rows) + "\n")
    monkeypatch.setenv("ZOO_DATA_DIR", str(tmp_path))


def test_evaluate_scores_a_tagger(preset, treebank, tmp_path, capsys):
    out = tmp_path / "tags.txt"
    command = ["evaluate", str(preset), "--data", "ud_english_ewt", "--split", "test"]
    assert main([*command, "--output", str(out), "--limit", "2"]) == 0
    found = zoo.load(preset).tag(SENTENCES[:2])
    pairs = [pair for row in found for pair in row]
    wanted = [tag for row in TAGS[:2] for tag in row]
    right = sum(tag == other for (_, tag), other in zip(pairs, wanted, strict=True))
    accuracy, speed = capsys.readouterr().out.splitlines()
    assert (
        accuracy == f"accuracy {20 * right:.2f} UPOS, 5 words as the treebank has them"
    )
    assert "words/s" in speed
    assert out.read_text().split() == [f"{word}/{tag}" for word, tag in pairs]


def test_what_a_tagger_cannot_do_is_refused(preset, treebank, capsys):
    command = ["evaluate", str(preset), "--split", "test", "--data"]
    assert main([*command, "multi30k"]) == 2
    assert (
        "scored on ud_english_ewt, or on --test FILE, received 'multi30k'"
        in capsys.readouterr().err
    )
    assert main(["translate", "--preset", str(preset), "a dog"]) == 2
    assert "cannot translate; the presets for it are " in capsys.readouterr().err
    assert main([*command[:-2], "valid", "--data", "ud_english_ewt"]) == 2
    assert "allowed are train, dev, test" in capsys.readouterr().err


def test_its_page_says_what_it_is(preset):
    _, front, body = (preset / "README.md").read_text().split("---\n", 2)
    fields = dict(line.split(": ", 1) for line in front.splitlines())
    assert json.loads(fields["pipeline_tag"]) == "token-classification"
    assert 'print(model.tag("A dog runs."))' in body


def test_tag_writes_a_line_for_each_line(preset, tmp_path, capsys):
    (tmp_path / "in").write_text("A dog runs\n\nruns\n")
    assert main(["tag", str(preset), "--input", str(tmp_path / "in")]) == 0
    found = zoo.load(preset).tag(["A dog runs", "runs"])
    first, second = (" ".join(f"{w}/{tag}" for w, tag in row) for row in found)
    captured = capsys.readouterr()
    assert captured.out == f"{first}\n\n{second}\n"
    assert "zoo: 3 lines in " in captured.err
    assert main(["tag", "--preset", str(preset), "A dog", "runs"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2
