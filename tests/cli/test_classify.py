import keras
import pytest

import zoo
from tests.presets_for_tests import FACTS
from zoo.cli import main
from zoo.models import (
    RecurrentClassifier,
    RecurrentClassifierPreprocessor,
    SentimentClassifier,
)
from zoo.presets.pages import write_card
from zoo.text import WordTokenizer

pytestmark = pytest.mark.once

TEXTS = ["a good film", "bad", "a bad good bad film"]


@pytest.fixture(scope="module")
def preset(tmp_path_factory):
    keras.utils.set_random_seed(5)
    folder = tmp_path_factory.mktemp("presets") / "tiny"
    tokenizer = WordTokenizer(["a", "bad", "film", "good"])
    backbone = RecurrentClassifier(
        tokenizer.vocabulary_size(),
        classes=["no", "yes"],
        embedding_dim=4,
        hidden_dim=4,
        initializer_range=1.0,
    )
    task = SentimentClassifier(backbone, RecurrentClassifierPreprocessor(tokenizer))
    task.save_to_preset(folder)
    write_card(folder, {**FACTS, "name": "tiny", "task": "classify"})
    return folder


def test_classify_writes_a_class_for_each_line(preset, tmp_path, capsys):
    expected = zoo.load(preset).classify(TEXTS)
    assert main(["classify", str(preset), *TEXTS]) == 0
    assert capsys.readouterr().out.splitlines() == expected
    (tmp_path / "in").write_text(f"{TEXTS[0]}\n\n{TEXTS[1]}\n")
    assert main(["classify", str(preset), "--input", str(tmp_path / "in")]) == 0
    assert capsys.readouterr().out == f"{expected[0]}\n\n{expected[1]}\n"


def test_only_a_classifier_classifies(capsys):
    assert main(["classify", "birnn", "a"]) == 2
    message = capsys.readouterr().err
    assert "birnn cannot classify" in message and "loading" not in message
