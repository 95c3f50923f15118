import signal
import subprocess
import sys
import tempfile
import time
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zoo.serving.runtime.exported_text import Pieces
from zoo.text import Tokenizer, train_tokenizer

pytestmark = pytest.mark.once

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


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_it(number):
    # Half an hour of training. A background job's children have no handler of SIGINT.
    program = """
import signal, sys
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, lambda number, frame: sys.exit(number))
from zoo.text.normalization import train_pieces
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
