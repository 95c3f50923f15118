import io
import json
import signal
import subprocess
import sys
import tempfile
import time
import unicodedata

import keras
import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st

from zoo.serving.runtime.pieces import Pieces
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


# === Normalization ===
TEXTS = [
    "Acme™ sells 250 m² and 10³ of it, ½ of both…  with  two spaces ",
    "می‌خواهم کتاب‌ها را مُّ",  # zero-width non-joiners, two marks on a letter
    "한국어 각 ᄒ",  # with a lone jamo
    "日本語　全角ＡＢＣ ﾊﾝｶｸ、漢字",
    "tiếng Việt ự ậ; ΰ ᾳ; שָׁלוֹם; नमस्ते क्ष",
    "👩‍👩‍👧 🏴󠁧󠁢󠁥󠁮󠁧󠁿 𝔘𝔫𝔦 \ufeff \u00a0\u2028\u200b",
    "▁▂▃▄▅▆▇█ \x1f\x07 ⁇ \ufdd0 <s> <unk> </s> <pad> 5 > 3",
]
CHARACTERS = sorted(set(unicodedata.normalize("NFC", "".join(TEXTS))))


class Model(Tokenizer):
    def __repr__(self):  # Hypothesis shows it
        return "a model"


@pytest.fixture(scope="module", params=["unigram", "bpe", "char"])
def model(request):
    options = {"model_type": request.param, "hard_vocab_limit": False}
    return Model(train_tokenizer(TEXTS, 400, **options))


@settings(max_examples=300, deadline=None)
@given(text=st.text(st.sampled_from(CHARACTERS)))
def test_text_of_known_characters_comes_back(model, text):
    text = unicodedata.normalize("NFC", text)
    for tokenizer in (model, Pieces(model.proto)):
        assert tokenizer.detokenize(tokenizer.tokenize([text])) == [text]


def test_decomposed_text_has_the_ids_of_composed_text(model):
    composed = [unicodedata.normalize("NFC", text) for text in TEXTS]
    decomposed = [unicodedata.normalize("NFD", text) for text in TEXTS]
    decomposed[1] = decomposed[1][:-2] + decomposed[1][:-3:-1]  # the marks swapped
    assert decomposed != composed
    assert model.tokenize(decomposed) == model.tokenize(composed)


def test_in_a_graph_text_comes_back_too(model):
    pytest.importorskip("tensorflow_text")
    import tensorflow as tf

    texts = [unicodedata.normalize("NFC", text) for text in TEXTS]
    rows = tf.function(model.tokenize)(tf.constant(texts))
    assert rows.to_list() == model.tokenize(texts)
    found = tf.function(model.detokenize)(rows).numpy()
    assert [text.decode() for text in found] == texts


def test_white_space_that_the_texts_do_not_have_is_a_space(model):
    ids = model.tokenize(["5\t3\n", "5\u20023 ", "5\u20003\r"])
    assert ids == model.tokenize(["5 3 "]) * 3


def test_the_model_names_its_rule_and_no_file(model):
    assert b"nfc" in model.proto
    assert tempfile.gettempdir().encode() not in model.proto


@pytest.mark.parametrize(
    ("rule", "result"),
    [("nfc", "She² ｒ  ™ "), ("nfkc", "She2 r TM"), ("nmt_nfkc_cf", "she2 r tm")],
)
def test_a_rule_is_chosen(rule, result):
    texts = ["She² ｒ  ™ ", "™™", "tm TM"]
    for name in ("normalization", "normalization_rule_name"):  # SentencePiece's name
        tokenizer = Tokenizer(
            train_tokenizer(texts, 40, hard_vocab_limit=False, **{name: rule})
        )
        assert tokenizer.detokenize(tokenizer.tokenize(texts[0])) == result


def test_characters_outside_the_sample_are_pieces():
    with pytest.warns(UserWarning, match="1 of 2 texts"):
        proto = train_tokenizer(["a dog", "é" * 16_384], 12, required_chars="ñ▁ a")
    tokenizer = Tokenizer(proto)
    assert tokenizer.detokenize(tokenizer.tokenize("ñé▁")) == "ñé▁"


def test_characters_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="at least 10 .*Received: vocabulary_size=9"):
        train_tokenizer(["abcd e"], 9, model_type="char")
    proto = train_tokenizer(["abcd e"], 9, model_type="char", character_coverage=0.99)
    assert Tokenizer(proto).vocabulary_size() <= 9
    with pytest.raises(ValueError, match="nmt_nfkc.*Received: normalization='nfd'"):
        train_tokenizer(["abcd e"], 9, "nfd")


# === SentencePiece's training in a thread ===


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_it(number):
    # Half an hour of training. A background job's children have no handler of SIGINT.
    program = """
import signal, sys
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, lambda number, frame: sys.exit(number))
from zoo.text.tokenizer import train_pieces
print("begins", flush=True)
train_pieces(["dog " * 500_000], vocab_size=7, max_sentence_length=4_000_000)
"""
    child = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout.readline() == "begins\n"
    time.sleep(1)
    child.send_signal(number)
    child.communicate(timeout=20)
    assert child.returncode == number
