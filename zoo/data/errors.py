"""The error of corpora that cannot be read."""

HINT = "Try again later, or set ZOO_DATA_DIR to a folder that holds the corpus"


class CorpusError(ValueError):
    """A corpus's files are missing, broken, altered or inconsistent."""
