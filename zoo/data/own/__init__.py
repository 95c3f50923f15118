"""One's own text: read from files or a program's data, cleaned, partly held out."""

from zoo.data.own.own_text import OwnText, read, read_test

__all__ = ["OwnText", "read", "read_test"]
