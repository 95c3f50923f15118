"""Word vectors trained elsewhere: GloVe's and word2vec's text formats."""

import dataclasses
import gzip

import numpy as np
from keras import ops


@dataclasses.dataclass(frozen=True)
class Embeddings:
    """Word vectors for a vocabulary.

    Attributes:
        matrix: `(words, dimension)`, float32; zeros where the file has no vector.
        found: bool `(words,)`, true where it has one.
        duplicates: lines left out because a line before had the same word.
    """

    matrix: np.ndarray
    found: np.ndarray
    duplicates: int

    @property
    def coverage(self):
        """Share of the vocabulary that has a vector."""
        return float(self.found.mean())

    def assign_to(self, layer):
        """Gives an embedding layer the vectors; its other rows stay.

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


def load_embeddings(path, vocabulary, dimension=None):
    """Reads the vectors of a vocabulary's words from a text file.

    A line is a word and its numbers, separated by spaces, as GloVe writes; word2vec's
    first line, the counts of words and numbers, is understood and checked. Words may
    contain spaces. A word that the file has in lower case only gets that vector. Of a
    word that comes twice the first line counts.

    A SentencePiece piece is looked up as the word that it is: "▁dog" as "dog",
    punctuation as it is; other pieces that continue a word have no vector.

    Args:
        path: the file, UTF-8; read through gzip if it ends with ".gz".
        vocabulary: list of str, or a `zoo.text.Tokenizer`.
        dimension: numbers of a vector; the file's own by default.

    Returns:
        `Embeddings`.

    Raises:
        ValueError: for a line with another count of numbers, or with something that is
            no finite number (the numbers of other words are not read), for a file that
            is empty or shorter than its first line says. The line is named.

    Example:
        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "vectors.txt")
        >>> with open(path, "w") as file:
        ...     _ = file.write("dog 1 2\\ncat 3 4\\n")
        >>> vectors = load_embeddings(path, ["cat", "bird", "Dog"])
        >>> vectors.matrix.tolist(), vectors.found.tolist()
        ([[3.0, 4.0], [0.0, 0.0], [1.0, 2.0]], [True, False, True])
    """
    rows = {}
    words = _words(vocabulary)
    for row, word in enumerate(words):
        if word is not None:
            rows.setdefault(word, []).append(row)
            rows.setdefault(word.lower(), [])
    vectors, duplicates, number, declared = {}, 0, 0, None
    opened = gzip.open if str(path).endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8", errors="replace", newline="\n") as file:
        for number, line in enumerate(file, start=1):
            line = line.rstrip("\r\n ")
            if number == 1 and (header := _header(line)):
                declared, size = header
                dimension = _same(dimension, size, path, number)
                continue
            if dimension is None:
                dimension = max(line.count(" "), 1)
            word, *numbers = line.rsplit(" ", dimension)
            _same(dimension, len(numbers), path, number)
            if word in vectors:
                duplicates += 1
            elif word in rows:
                vectors[word] = _vector(numbers, path, number)
    lines = number - (declared is not None)
    if not lines or (declared is not None and lines != declared):
        expected = "at least one" if declared is None else declared
        raise ValueError(
            f"{path} is empty or truncated: it must have {expected} vectors. "
            f"Received: {lines}"
        )
    matrix = np.zeros((len(words), dimension), "float32")
    found = np.zeros(len(words), "bool")
    for word, places in rows.items():
        vector = vectors.get(word, vectors.get(word.lower()))
        if vector is not None and places:
            matrix[places], found[places] = vector, True
    return Embeddings(matrix, found, duplicates)


def _words(vocabulary):
    if isinstance(vocabulary, (list, tuple)):
        return list(vocabulary)
    pieces = map(vocabulary.id_to_token, range(vocabulary.vocabulary_size()))
    return [_word(piece) for piece in pieces]


def _word(piece):
    if piece.startswith("▁"):
        return piece[1:] or None
    return None if any(c.isalnum() for c in piece) else piece


def _header(line):
    parts = line.split()
    if len(parts) == 2 and all(part.isascii() and part.isdigit() for part in parts):
        return int(parts[0]), int(parts[1])
    return None


def _same(wanted, size, path, number):
    if wanted not in (None, size):
        raise ValueError(
            f"{path}, line {number}: a vector must have {wanted} numbers. "
            f"Received: {size}"
        )
    return size


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


def start_from(backbone, tokenizer, files):
    """Gives a backbone the word vectors of files.

    Args:
        backbone: with `source_embedding` and `token_embedding`.
        tokenizer: whose pieces the rows are.
        files: dict of "source" and "target" to a path.

    Returns:
        What was found, a line for each file.

    Raises:
        ValueError: for another key; see `load_embeddings` for the files.
    """
    layers = {"source": "source_embedding", "target": "token_embedding"}
    told = []
    for side, path in files.items():
        if side not in layers:
            raise ValueError(
                f"`embeddings` must have the keys {list(layers)}. Received: {side!r}"
            )
        layer = getattr(backbone, layers[side])
        found = load_embeddings(path, tokenizer, layer.output_dim)
        found.assign_to(layer)
        told.append(f"{side} vectors for {found.coverage:.1%} of the pieces: {path}")
    return told
