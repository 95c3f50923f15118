"""Pretrained word vectors in GloVe's and word2vec's text formats."""

import dataclasses
import gzip
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
    word2vec's first line, the counts of words and numbers, is skipped. Words may
    contain spaces. A word that the file has only in lower case gets that vector. If a
    word is repeated, its first line counts.

    A SentencePiece piece that starts a word is looked up as that word, "▁dog" as
    "dog". Pieces that continue a word have no vector.

    Args:
        path: the file, UTF-8; read through gzip if it ends with ".gz".
        vocabulary: list of str, or a `zoo.text.Tokenizer`.
        dimension: size of a vector; that of the file's first vector by default.

    Returns:
        `Embeddings`.

    Raises:
        ValueError: for a line with another count of numbers, or with something that is
            no finite number (checked for words of the vocabulary only). The line is
            named.

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
    open_file: Any = gzip.open if str(path).endswith(".gz") else open
    with open_file(path, "rt", -1, "utf-8", "replace", newline="\n") as file:
        for number, line in enumerate(file, start=1):
            line = line.rstrip("\r\n ")
            if number == 1 and line.count(" ") == 1 and line.replace(" ", "").isdigit():
                continue  # word2vec's counts
            dimension = dimension or max(line.count(" "), 1)
            word, *numbers = line.rsplit(" ", dimension)
            if word in wanted and word not in vectors or len(numbers) != dimension:
                vectors[word] = _vector(numbers, dimension, f"{path}, line {number}")
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
    pieces = map(vocabulary.id_to_token, range(vocabulary.vocabulary_size()))
    return [piece[1:] if piece.startswith("▁") else None for piece in pieces]


def _vector(numbers, dimension, where):
    try:
        vector = np.array(numbers, "float32")
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error
    if vector.shape != (dimension,) or not np.isfinite(vector).all():
        raise ValueError(
            f"{where}: a vector must have {dimension} finite numbers. "
            f"Received: {numbers}"
        )
    return vector
