import os
import random
from pathlib import Path

import pytest

from zoo.text import Tokenizer, train_tokenizer

SUBJECTS = [
    "a brown dog|ein brauner Hund",
    "the old man|der alte Mann",
    "two young children|zwei kleine Kinder",
    "my black cat|meine schwarze Katze",
    "she|sie",
]
VERBS = [
    "runs|rennt",
    "is sleeping|schläft",
    "plays guitar|spielt Gitarre",
    "sits down|setzt sich hin",
    "waits|wartet",
]
PLACES = [
    "in the park|im Park",
    "on the street|auf der Straße",
    "at 10:30|um 10:30 Uhr",
    "behind a yellow house|hinter einem gelben Haus",
    "by the water|am Wasser",
]


@pytest.fixture(scope="session")
def pairs():
    """300 pairs of sentences, English and German."""
    rng = random.Random(0)
    sentences = [
        [rng.choice(words).split("|") for words in (SUBJECTS, VERBS, PLACES)]
        for _ in range(300)
    ]
    return tuple(
        [" ".join(part[side] for part in sentence) + "." for sentence in sentences]
        for side in (0, 1)
    )


@pytest.fixture(scope="session")
def proto(pairs):
    return train_tokenizer([*pairs[0], *pairs[1]], vocabulary_size=80)


@pytest.fixture
def tokenizer(proto):
    return Tokenizer(proto=proto)


@pytest.fixture(scope="session")
def corpus(pairs):
    """Sentences of Multi30k if they are at hand, otherwise generated ones."""
    folder = os.environ.get("ZOO_DATA_DIR")
    if not folder or not (Path(folder) / "multi30k").is_dir():
        return [*pairs[0], *pairs[1]]
    files = [Path(folder) / "multi30k" / f"valid.{side}" for side in ("en", "de")]
    return [line for file in files for line in file.read_text("utf-8").splitlines()]
