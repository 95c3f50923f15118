"""One's own text: read from files or a program's data, cleaned, partly held out."""

from zoo.data.own.files import TextFiles
from zoo.data.own.pairs import OwnPairs, read_pairs, read_test
from zoo.data.own.python import as_pairs
from zoo.data.own.sets import OwnTexts
from zoo.data.own.texts import read_labelled, read_sentences, read_tagged

__all__ = [
    "OwnPairs",
    "OwnTexts",
    "TextFiles",
    "as_pairs",
    "read_labelled",
    "read_pairs",
    "read_sentences",
    "read_tagged",
    "read_test",
]
