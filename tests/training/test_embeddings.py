import gzip

import keras
import numpy as np
import pytest
from keras import ops

from zoo.text import Tokenizer
from zoo.training import load_embeddings

pytestmark = pytest.mark.once

GLOVE = "dog 1 2\n. . 3 4\ncat 5 6e-1\ndog 7 8\nla 9 10\nLa 11 12\n"


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / "vectors.txt"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_glove(write):
    vocabulary = ["<pad>", "cat", "Dog", "bird", ". .", "dog", "La"]
    found = load_embeddings(write(GLOVE), vocabulary, dimension=2)
    wanted = [[0, 0], [5, 0.6], [1, 2], [0, 0], [3, 4], [1, 2], [11, 12]]
    np.testing.assert_allclose(found.matrix, wanted)
    assert found.matrix.dtype == "float32"
    assert found.found.tolist() == [False, True, True, False, True, True, True]


def test_word2vec_and_gzip(tmp_path):
    path = tmp_path / "vectors.txt.gz"
    path.write_bytes(gzip.compress(b"2 3\ncat 1 2 3\r\n</s> 4 5 6 \n"))
    found = load_embeddings(path, ["</s>", "cat"])
    assert found.matrix.tolist() == [[4, 5, 6], [1, 2, 3]]


def test_pieces_are_words(write, translator):
    """A piece that continues a word is none."""
    tokenizer = Tokenizer(proto=translator.preprocessor.tokenizer.proto)
    pieces = [tokenizer.id_to_token(i) for i in range(tokenizer.vocabulary_size())]
    path = write("".join(f"{piece.strip('▁') or 'x'} 1 2\n" for piece in pieces))
    found = load_embeddings(path, tokenizer)
    for piece, hit in zip(pieces, found.found, strict=True):
        assert hit == (piece.startswith("▁") and piece != "▁"), piece


def test_a_layer_keeps_its_other_rows(write):
    layer = keras.layers.Embedding(3, 2)
    layer.build()
    before = np.array(ops.convert_to_numpy(layer.embeddings))
    load_embeddings(write(GLOVE), ["a", "cat", "b"], 2).assign_to(layer)
    after = ops.convert_to_numpy(layer.embeddings)
    np.testing.assert_allclose(after[1], [5, 0.6])
    np.testing.assert_array_equal(after[[0, 2]], before[[0, 2]])
    with pytest.raises(ValueError, match=r"\(3, 2\). Received: \(1, 2\)"):
        load_embeddings(write(GLOVE), ["cat"], 2).assign_to(layer)


@pytest.mark.parametrize(
    ("text", "dimension", "message"),
    [
        ("dog 1 2\ncat 1\n", None, "line 2: a vector must have 2 finite numbers"),
        ("dog 1 2\n\n", None, "line 2: a vector must have 2 finite numbers"),
        ("dog 1 2\n", 3, "line 1: a vector must have 3 finite numbers"),
        ("dog 1 x\n", None, "line 1: .*'x'"),
        ("dog 1 nan\n", None, "line 1: .*'nan'"),
    ],
)
def test_a_malformed_file_is_refused(write, text, dimension, message):
    with pytest.raises(ValueError, match=message):
        load_embeddings(write(text), ["dog"], dimension)
