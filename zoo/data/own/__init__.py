"""One's own text: read from files or a program's data, cleaned, partly held out."""

from zoo.data.own.own_pairs import OwnPairs, read_pairs, read_test
from zoo.data.own.own_texts import (
    OwnTexts,
    labelled_kind,
    read_labelled,
    read_one,
    read_sentences,
    read_tagged,
    sentences_kind,
    tagged_kind,
)
from zoo.data.own.text_files import TextFiles

__all__ = [
    "OwnPairs",
    "OwnTexts",
    "TextFiles",
    "labelled_kind",
    "read_labelled",
    "read_one",
    "read_pairs",
    "read_sentences",
    "read_tagged",
    "read_test",
    "sentences_kind",
    "tagged_kind",
]
