import io
import json

import keras
import pytest
import sentencepiece

from zoo.text import Tokenizer, train_tokenizer

pytestmark = pytest.mark.once


def vocabulary(proto):
    return Tokenizer(proto=proto).get_vocabulary()


# === Training ===
def test_special_pieces_come_first_and_the_size_is_the_one_asked_for(pairs, proto):
    pieces = vocabulary(proto)
    assert pieces[:4] == ["<pad>", "<unk>", "<s>", "</s>"]
    assert len(pieces) == len(set(pieces)) == 80
    assert train_tokenizer([*pairs[0], *pairs[1]], vocabulary_size=80) == proto


def test_digits_are_not_joined(pairs):
    texts = [f"{text} 1000000" for text in pairs[0]]
    pieces = vocabulary(train_tokenizer(texts, vocabulary_size=48))
    assert "0" in pieces
    assert not any("00" in piece or "10" in piece for piece in pieces)


@pytest.mark.parametrize(
    ("texts", "size", "limit"),
    [(None, 5000, "most"), (["abc abc", "cab bca"], 7, "least")],
)
def test_the_size_that_works_is_told(pairs, texts, size, limit):
    texts = texts or pairs[0]
    message = f"at {limit} .*Received: vocabulary_size={size}"
    with pytest.raises(ValueError, match=message) as e:
        train_tokenizer(texts, size)
    size = int(str(e.value).split(f"at {limit} ")[1].split()[0])
    assert len(vocabulary(train_tokenizer(texts, size))) == size


def test_what_cannot_be_trained_on(pairs):
    with pytest.raises(TypeError, match=r"texts\[1\] must be .* Received: 7 \(int\)"):
        train_tokenizer(["a", 7])
    with pytest.raises(TypeError, match="pad_id"):  # special ids cannot be chosen
        train_tokenizer(pairs[0], vocabulary_size=48, pad_id=9)


def test_odd_characters_in_the_texts_do_no_harm(pairs):
    texts = [*pairs[0], "a\x00b", "\ud800 she", "▅ here", "she\nruns\there"]
    assert len(vocabulary(train_tokenizer(texts, vocabulary_size=48))) == 48


def test_long_lines_are_left_out_of_the_training_and_counted(pairs):
    line = "dog " * 262_144  # a megabyte: quarter of an hour of SentencePiece's time
    with pytest.warns(UserWarning, match="1 of 301 texts have more than 16,384 bytes"):
        proto = train_tokenizer([*pairs[0], line], vocabulary_size=48)
    assert proto == train_tokenizer(pairs[0], vocabulary_size=48)
    with pytest.warns(UserWarning), pytest.raises(ValueError, match="blank"):
        train_tokenizer([line, " "])


# === The tokenizer ===
def test_ids_are_those_of_sentencepiece(tokenizer, proto, corpus):
    model = sentencepiece.SentencePieceProcessor(model_proto=proto)
    assert tokenizer.tokenize(corpus) == model.encode(corpus)
    assert tokenizer(corpus[0]).tolist() == model.encode(corpus[0])


def test_special_ids(tokenizer):
    ids = ("pad_token_id", "unk_token_id", "start_token_id", "end_token_id")
    assert [getattr(tokenizer, name) for name in ids] == [0, 1, 2, 3]
    assert tokenizer.special_token_ids == (0, 1, 2, 3)
    assert tokenizer.special_tokens == ["<pad>", "<unk>", "<s>", "</s>"]
    assert tokenizer.built and tokenizer.weights == []
    ids = tokenizer.tokenize("<pad> </s> <s>").tolist()  # names in a text are text
    assert not {0, 2, 3} & set(ids)


def test_surfaces_show_what_is_unknown(tokenizer):
    texts = ["ein Mops \u03a9\u03a8 schläft", "a \ud800 dog", "", "  ein\tHund "]
    found = tokenizer.surfaces(texts)
    for pieces, ids in zip(found, tokenizer.tokenize(texts), strict=True):
        assert len(pieces) == len(ids)
        for piece, token_id in zip(pieces, ids, strict=True):
            known = token_id != tokenizer.unk_token_id
            assert not known or piece == tokenizer.id_to_token(token_id)
    assert "\u03a9\u03a8" in "".join(found[0])
    assert found[2] == []


def test_a_model_with_other_special_ids_is_refused(pairs):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(pairs[0]), model_writer=model, vocab_size=48,
        minloglevel=2,
    )  # fmt: skip
    with pytest.raises(ValueError, match=r"Received: \(-1, 0, 1, 2\)"):
        Tokenizer(proto=model.getvalue())


@pytest.mark.parametrize("text", ["\ud800", "a\udfff", "\x00", "\U0010ffff", "\ufffe"])
def test_any_character_is_taken(tokenizer, text):
    assert isinstance(tokenizer.detokenize(tokenizer.tokenize(text)), str)
    assert len(tokenizer.tokenize([text, text])) == 2


def test_serialization_leaves_the_model_to_the_assets(tokenizer, proto, tmp_path):
    config = json.loads(json.dumps(keras.saving.serialize_keras_object(tokenizer)))
    assert config["registered_name"] == "zoo>Tokenizer"
    revived = keras.saving.deserialize_keras_object(config)
    assert type(revived) is Tokenizer
    assert revived.get_config() == tokenizer.get_config()
    assert revived.proto is None
    tokenizer.save_assets(str(tmp_path))
    revived.load_assets(str(tmp_path))
    assert revived.proto == proto
