import numpy as np
import pytest

from zoo.serving.runtime.pieces import Pieces, PiecesPreprocessor
from zoo.text import Tokenizer, TranslatorPreprocessor, train_tokenizer

TRAINED = [
    "a brown dog waits.",
    "ein brauner Hund",
    "the old man sits down",
    "er rennt.",
]
ODD = [
    *TRAINED,
    "",
    "  ",
    "a  dog\tand\na man",
    "日本 dog",
    "👍🏽 é e\u0301 ﬁ",
    "\x00 \u200b \u200d",
    "lone \ud83d surrogate",
    "pair \ud83d\udc4d",
    "<unk> </s> ▁dog",
]


@pytest.fixture(scope="module")
def proto():
    return train_tokenizer(TRAINED, vocabulary_size=30)


@pytest.mark.once
def test_pieces_are_those_of_the_tokenizer(proto):
    tokenizer, pieces = Tokenizer(proto), Pieces(proto)
    rows = pieces.tokenize(ODD)
    assert rows == [list(map(int, row)) for row in tokenizer.tokenize(ODD)]
    assert pieces.surfaces(ODD) == tokenizer.surfaces(ODD)
    assert pieces.vocabulary_size() == tokenizer.vocabulary_size() == 30
    names = [pieces.id_to_token(i) for i in range(30)]
    assert names == [tokenizer.id_to_token(i) for i in range(30)]
    known = [*names, "no such piece"]
    found = [pieces.token_to_id(name) for name in known]
    assert found == [int(tokenizer.token_to_id(name)) for name in known]
    assert (pieces.pad_token_id, pieces.unk_token_id) == (0, 1)
    assert (pieces.start_token_id, pieces.end_token_id) == (2, 3)


@pytest.mark.once
@pytest.mark.parametrize("source_end", [False, True])
@pytest.mark.filterwarnings("ignore:.*were cut")
def test_ids_and_texts_are_those_of_the_preprocessor(proto, source_end):
    wanted = TranslatorPreprocessor(Tokenizer(proto), 7, 6, source_end)
    found = PiecesPreprocessor(Pieces(proto), 7, 6, source_end)
    assert found.encode(ODD) == wanted.encode(ODD)
    assert max(map(len, found.encode(ODD))) == 7
    assert found.encode_targets(ODD) == wanted.encode_targets(ODD)
    rng = np.random.default_rng(1)
    ids = rng.integers(0, 30, (40, 9)).tolist()
    assert found.decode(ids) == wanted.decode(ids)
    assert found.pieces(ids[0]) == wanted.pieces(ids[0])
    with pytest.raises(ValueError, match="ids from 0 to 29. Received: 30"):
        found.decode([[30]])


@pytest.mark.once
def test_what_is_no_model():
    with pytest.raises(ValueError, match="no SentencePiece model"):
        Pieces(b"nothing of the kind")
