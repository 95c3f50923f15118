from types import SimpleNamespace

import numpy as np
import pytest

from tests.harness import randomize
from zoo.decoding import BeamSearch, score_ids, search_ids
from zoo.decoding.constraints import (
    read_terms,
    source_words,
)
from zoo.models import (
    Luong,
    LuongPreprocessor,
    LuongTranslator,
)
from zoo.text import Tokenizer, train_tokenizer

OPTIONS = {"beam_size": 3, "max_length": 9, "length_penalty": 0.0}
DETAILS = {**OPTIONS, "return_details": True}
NO_WORDS = ["<pad>", "<s>"]


# === Prefixes ===


@pytest.mark.once
def test_a_translation_begins_with_its_prefix(terse, texts):
    records = terse.translate(texts, prefix="ein hund", n_best=2, **DETAILS)
    best = [record for found in records for record in found]
    assert len(best) > len(texts)
    assert all(record.text.startswith("ein hund") for record in best)
    assert len({record.text for record in best}) > 3
    alone = terse.translate(texts[3], prefix="ein hund", **OPTIONS)
    assert alone == records[3][0].text
    assert terse.translate("", prefix="ein", **OPTIONS) == ""
    assert terse.translate([], prefix="ein") == []
    assert terse.translate(texts, prefix="", **OPTIONS) == terse.translate(
        texts, **OPTIONS
    )


@pytest.mark.once
def test_a_prefix_longer_than_the_usual_limit(translator, terse):
    prefix = "hund " * 30
    [own] = translator.preprocessor.encode_targets([prefix])
    # A model that ends nothing by itself.
    found = translator.translate("ein", 2, prefix=prefix, return_details=True)
    assert found.text.startswith(prefix.strip())
    source = len(found.source_tokens)
    assert len(own) < len(found.tokens) < len(own) + 2 * source + 10
    ids = terse.preprocessor.encode(["ein"])
    with pytest.raises(ValueError, match=r"prefix\[0\] of 5 pieces, max_length=5"):
        search_ids(terse, ids, BeamSearch(1), max_length=5, prefixes=[[4] * 5])


# === Banned pieces ===


@pytest.mark.once
def test_banned_pieces_are_not_written(terse, texts):
    vocabulary = terse.preprocessor.tokenizer
    free = terse.translate(texts, **DETAILS)
    written = {token for record in free for token in record.tokens}
    banned = sorted(written - {"▁"})[::2]
    found = terse.translate(texts, banned=banned, **DETAILS)
    tokens = {token for record in found for token in record.tokens}
    assert banned and tokens and not tokens & set(banned)
    # What is written is as probable as ever.
    ids = [[vocabulary.token_to_id(x) for x in record.tokens] for record in found]
    log_probs = score_ids(terse, terse.preprocessor.encode(texts), ids)
    scores = [record.score for record in found]
    np.testing.assert_allclose([x.sum() for x in log_probs], scores, rtol=1e-4)
    # A prefix may have them.
    [ids] = terse.preprocessor.encode_targets("hund")
    pieces = terse.preprocessor.pieces(ids)
    record = terse.translate(texts[0], prefix="hund", banned=pieces, **DETAILS)
    assert record.tokens[: len(pieces)] == pieces
    assert not set(record.tokens[len(pieces) :]) & set(pieces)


# === Terms ===


@pytest.mark.once
def test_a_translation_holds_the_terms_of_its_source(terse, texts):
    terms = {"dog": "katze", "cat": "die", "do": "rennt", "nobody": "ein"}
    options = {**DETAILS, "max_length": 12}
    plain = terse.translate(texts, **options)
    found = terse.translate(texts, terms=terms, **options)
    for text, new in zip(texts, found, strict=True):
        words = [terms[word] for word in text.split() if word in ("dog", "cat")]
        assert all(word in new.text for word in words)
    assert [x.text for x in plain] != [x.text for x in found]
    # One dict for each text; without terms nothing changes.
    each = [terms if "dog" in text else {} for text in texts]
    other = terse.translate(texts, terms=each, **options)
    for text, *records in zip(texts, other, plain, found, strict=True):
        assert records[0].text == records[1 + ("dog" in text)].text


@pytest.mark.backend_free
@pytest.mark.parametrize(
    ("source", "text", "found"),
    [
        ("dog", "hotdogs", False),
        ("犬", "その犬が走る", True),  # no spaces between words
        ("cafe\u0301", "a caf\u00e9.", True),
        ("caf\u00e9", "a cafe\u0301.", True),
    ],
)
def test_terms_are_found_in_any_script_and_form(source, text, found):
    preprocessor = SimpleNamespace(encode_targets=lambda texts: [[7, 8]] * len(texts))
    terms = read_terms(preprocessor, {source: "x"}, [text], ())
    assert terms == [[-7, 8] if found else []]


# === Words of their own ===


@pytest.fixture(scope="module")
def reader():
    """A translator with a vocabulary of words."""
    texts = ["a dog runs", "ein hund rennt", "a cat sleeps", "die katze rennt"]
    tokenizer = Tokenizer(train_tokenizer(texts, 14, model_type="word"))
    backbone = Luong(
        14,
        num_layers=1,
        hidden_dim=6,
        embedding_dim=5,
        attention="global",
    )
    randomize(backbone, scale=1.0, seed=3)
    return LuongTranslator(backbone, LuongPreprocessor(tokenizer, source_end=True))


@pytest.mark.once
def test_an_unknown_word_becomes_the_one_that_is_attended_to(reader):
    texts = ["a Mops runs", "Uhu sleeps", "a dog runs"]
    # Nothing is left but unknown words.
    known = reader.preprocessor.tokenizer.get_vocabulary()[4:]
    options = {**DETAILS, "banned": [*NO_WORDS, *known], "min_length": 4}
    records = reader.translate(texts, **options)
    found = reader.translate(texts, replace_unknown=True, **options)
    taken = []
    for old, new, text in zip(records, found, texts, strict=True):
        assert set(old.tokens) == {"<unk>"} and len(old.tokens) >= 3
        # Not its end token: a word.
        rows = old.alignment[:, : len(text.split())]
        wanted = [f"▁{text.split()[place]}" for place in rows.argmax(axis=1)]
        assert new.tokens == wanted
        assert new.text == " ".join(token[1:] for token in wanted)
        assert new.score == old.score
        taken += wanted
    assert "▁Mops" in taken or "▁Uhu" in taken
    plain = {**options, "return_details": False}
    assert reader.translate(texts, replace_unknown=True, **plain) == [
        record.text for record in found
    ]
    best = reader.translate(texts, replace_unknown=True, n_best=2, **plain)
    assert [first for first, _ in best] == [record.text for record in found]


@pytest.mark.once
def test_a_word_is_more_than_its_unknown_piece(terse):
    [ids] = terse.preprocessor.encode(["a dogßX"])
    [words] = source_words(terse.preprocessor, ["a dogßX"], [ids])
    assert words[-1] == "dogßX" and set(words) == {"a", "dogßX"}


# === What is refused ===


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            {"prefix": "ein hund rennt", "max_length": 3},
            ValueError,
            r"prefix\[0\] of \d+ pieces, max_length=3",
        ),
        ({"prefix": ["ein"]}, ValueError, "Received: 1 prefixes and 2 texts"),
        ({"prefix": ["ein", 3]}, TypeError, r"prefix\[1\] must be a str"),
        ({"prefix": "Uhu"}, ValueError, "known to the vocabulary. Received: 'Uhu'"),
        ({"banned": ["ein", "nobody"]}, ValueError, r"banned\[1\]='nobody'"),
        ({"banned": ""}, ValueError, r"banned\[0\]=''"),
        ({"banned": "</s>"}, ValueError, r"banned_ids=\[3\]"),
        ({"terms": [{}]}, ValueError, "Received: 1 dicts and 2 texts"),
        ({"terms": ["dog", "cat"]}, TypeError, "a list of such dicts. Received"),
        ({"terms": {"dog": 3}}, TypeError, r"terms\[0\] must be a str"),
        ({"terms": {" ": "hund"}}, ValueError, "must not be blank. Received: ' '"),
        ({"terms": {"cow": " "}}, ValueError, "must have pieces.*Received: ' '"),
        ({"terms": {"dog": "Uhu"}}, ValueError, "known to the vocabulary.*'Uhu'"),
        (
            {"terms": {"dog": "hund"}, "banned": "hund"},
            ValueError,
            "not banned. Received: 'hund'",
        ),
        (
            {"terms": {"dog": "hund"}, "max_length": 1},
            ValueError,
            r"terms\[0\] of 1 pieces, max_length=1",
        ),
    ],
)
def test_bad_values(reader, monkeypatch, arguments, error, message):
    monkeypatch.setattr(BeamSearch, "__call__", None)
    with pytest.raises(error, match=message):
        reader.translate(["a dog", "a cat"], **arguments)
