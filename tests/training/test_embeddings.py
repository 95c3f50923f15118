import gzip

import keras
import numpy as np
import pytest
from keras import ops

from zoo.text import Tokenizer
from zoo.training import load_embeddings

pytestmark = pytest.mark.once

GLOVE = "dog 1 2\n. . 3 4\ncat 5 6e-1\ndog 7 8\nla 9 10\n"


def write(folder, text):
    path = folder / "vectors.txt"
    path.write_text(text, encoding="utf-8")
    return path


def test_glove(tmp_path):
    vocabulary = ["<pad>", "cat", "Dog", "bird", ". .", "dog"]
    found = load_embeddings(write(tmp_path, GLOVE), vocabulary, dimension=2)
    wanted = [[0, 0], [5, 0.6], [1, 2], [0, 0], [3, 4], [1, 2]]
    np.testing.assert_allclose(found.matrix, wanted)
    assert found.matrix.dtype == "float32"
    assert found.found.tolist() == [False, True, True, False, True, True]
    assert found.coverage == pytest.approx(4 / 6)


def test_a_word_of_its_own_case_comes_first(tmp_path):
    path = write(tmp_path, "dog 1\nDog 2\n")
    found = load_embeddings(path, ["Dog", "dog", "DOG"])
    assert found.matrix[:, 0].tolist() == [2, 1, 1]


def test_word2vec_and_gzip(tmp_path):
    path = tmp_path / "vectors.txt.gz"
    path.write_bytes(gzip.compress(b"2 3\ncat 1 2 3\r\n</s> 4 5 6 \n"))
    found = load_embeddings(path, ["</s>", "cat"])
    assert found.matrix.tolist() == [[4, 5, 6], [1, 2, 3]]


def test_pieces_are_words(tmp_path, translator):
    """A piece that continues a word is none."""
    tokenizer = Tokenizer(proto=translator.preprocessor.tokenizer.proto)
    pieces = [tokenizer.id_to_token(i) for i in range(tokenizer.vocabulary_size())]
    words = [piece[1:] for piece in pieces if piece.startswith("▁") and piece[1:]]
    others = [piece for piece in pieces if not piece.startswith("▁")]
    assert words and others
    path = write(tmp_path, "".join(f"{word} 1 2\n" for word in words + others))
    found = load_embeddings(path, tokenizer)
    for piece, hit in zip(pieces, found.found, strict=True):
        assert hit == (piece.startswith("▁") and piece != "▁"), piece


def test_a_layer_keeps_its_other_rows(tmp_path):
    layer = keras.layers.Embedding(3, 2)
    layer.build()
    before = np.array(ops.convert_to_numpy(layer.embeddings))
    load_embeddings(write(tmp_path, GLOVE), ["a", "cat", "b"], 2).assign_to(layer)
    after = ops.convert_to_numpy(layer.embeddings)
    np.testing.assert_allclose(after[1], [5, 0.6])
    np.testing.assert_array_equal(after[[0, 2]], before[[0, 2]])
    with pytest.raises(ValueError, match=r"\(3, 2\). Received: \(1, 2\)"):
        load_embeddings(write(tmp_path, GLOVE), ["cat"], 2).assign_to(layer)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("dog 1 2\ncat 1\n", {}, "line 2: a vector must have 2 numbers. Received: 1"),
        ("dog 1 2\n\n", {}, "line 2: a vector must have 2 numbers. Received: 0"),
        ("dog 1 2\n", {"dimension": 3}, "line 1: .* must have 3 numbers. Received: 2"),
        ("1 3\ndog 1 2 3\n", {"dimension": 2}, "line 1: .* have 2 numbers"),
        ("dog 1 x\n", {}, "line 1: .*'x'"),
        ("dog 1 nan\n", {}, "line 1: numbers must be finite. Received: .*'nan'"),
        ("", {}, "empty or truncated: it must have more vectors"),
        ("3 2\ndog 1 2\n", {}, "truncated: it must have 3 vectors. Received: 1"),
    ],
)
def test_a_malformed_file_is_refused(tmp_path, text, options, message):
    with pytest.raises(ValueError, match=message):
        load_embeddings(write(tmp_path, text), ["dog"], **options)
