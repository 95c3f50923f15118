"""Pretrained word vectors in GloVe's and word2vec's text formats."""

import dataclasses
import gzip
import re
from pathlib import Path
from typing import Any

import numpy as np
from keras import ops


@dataclasses.dataclass(frozen=True)
class Embeddings:
    """Word vectors for a vocabulary.

    Attributes:
        matrix: `(words, dimension)`, float32; zeros where the file has no vector.
        found: bool `(words,)`, true where the file has a vector.
    """

    matrix: np.ndarray
    found: np.ndarray

    @property
    def coverage(self) -> float:
        """Share of the vocabulary that has a vector."""
        return float(self.found.mean())

    def assign_to(self, layer: Any) -> None:
        """Puts the vectors into an embedding layer; its other rows stay.

        Raises:
            ValueError: if the layer has another size.
        """
        table = np.array(ops.convert_to_numpy(layer.embeddings))
        if table.shape != self.matrix.shape:
            raise ValueError(
                f"The vectors must fit the layer {layer.name!r}, {table.shape}. "
                f"Received: {self.matrix.shape}"
            )
        table[self.found] = self.matrix[self.found]
        layer.embeddings.assign(table)


def load_embeddings(
    path: str | Path, vocabulary: Any, dimension: int | None = None
) -> Embeddings:
    r"""Reads the vectors of a vocabulary's words from a text file.

    A line is a word and its numbers, separated by spaces, as in GloVe's files;
    word2vec's first line, the counts of words and numbers, is checked. Words may
    contain spaces. A word that the file has only in lower case gets that vector. If a
    word is repeated, its first line counts.

    A SentencePiece piece that starts a word is looked up as that word, "▁dog" as
    "dog"; punctuation as it is. Pieces that continue a word have no vector.

    Args:
        path: the file, UTF-8; read through gzip if it ends with ".gz".
        vocabulary: list of str, or a `zoo.text.Tokenizer`.
        dimension: size of a vector; the file's own by default.

    Returns:
        `Embeddings`.

    Raises:
        ValueError: for a line with another count of numbers or with something that is
            no finite number (checked for words of the vocabulary only), or for a file
            that is empty or shorter than its first line says. The line is named.

    Example:
        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "vectors.txt")
        >>> with open(path, "w") as file:
        ...     _ = file.write("dog 1 2\ncat 3 4\n")
        >>> vectors = load_embeddings(path, ["cat", "bird", "Dog"])
        >>> vectors.matrix.tolist(), vectors.found.tolist()
        ([[3.0, 4.0], [0.0, 0.0], [1.0, 2.0]], [True, False, True])
    """
    words = _words(vocabulary)
    wanted = {form for word in words if word for form in (word, word.lower())}
    vectors: dict[str, np.ndarray] = {}
    number, expected = 0, None
    open_file: Any = gzip.open if str(path).endswith(".gz") else open
    with open_file(path, "rt", -1, "utf-8", "replace", newline="\n") as file:
        for number, line in enumerate(file, start=1):
            line = line.rstrip("\r\n ")
            if number == 1 and re.fullmatch(r"[0-9]+ +[0-9]+", line):
                expected, size = map(int, line.split())  # word2vec's counts
                _check_size(dimension, size, path, number)
                dimension = size
                continue
            dimension = dimension or max(line.count(" "), 1)
            word, *numbers = line.rsplit(" ", dimension)
            _check_size(dimension, len(numbers), path, number)
            if word in wanted and word not in vectors:
                vectors[word] = _vector(numbers, path, number)
    lines = number - (expected is not None)
    if not lines or expected not in (None, lines):
        raise ValueError(
            f"{path} is empty or truncated: it must have {expected or 'more'} vectors. "
            f"Received: {lines}"
        )
    matrix = np.zeros((len(words), dimension or 0), "float32")
    found = np.zeros(len(words), "bool")
    for row, word in enumerate(words):
        vector = word and vectors.get(word, vectors.get(word.lower()))
        if vector is not None and word:
            matrix[row], found[row] = vector, True
    return Embeddings(matrix, found)


def _words(vocabulary):
    """The word of each row; None for a piece that continues one."""
    if isinstance(vocabulary, (list, tuple)):
        return list(vocabulary)
    words: list[str | None] = []
    for row in range(vocabulary.vocabulary_size()):
        piece = vocabulary.id_to_token(row)
        if piece.startswith("▁"):
            words.append(piece[1:] or None)
        else:
            words.append(None if any(c.isalnum() for c in piece) else piece)
    return words


def _check_size(expected, size, path, number):
    if expected not in (None, size):
        raise ValueError(
            f"{path}, line {number}: a vector must have {expected} numbers. "
            f"Received: {size}"
        )


def _vector(numbers, path, number):
    try:
        vector = np.array(numbers, "float32")
    except ValueError as error:
        raise ValueError(f"{path}, line {number}: {error}") from error
    if not np.isfinite(vector).all():
        raise ValueError(
            f"{path}, line {number}: numbers must be finite. Received: {numbers}"
        )
    return vector
