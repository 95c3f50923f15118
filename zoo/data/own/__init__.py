"""One's own text: read from files or a program's data, cleaned, partly held out."""

from zoo.data.own.files import TextFiles
from zoo.data.own.pairs import OwnPairs, read_pairs
from zoo.data.own.python import as_pairs

__all__ = ["OwnPairs", "TextFiles", "as_pairs", "read_pairs"]
