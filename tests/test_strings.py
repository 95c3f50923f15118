import numpy as np
import pytest

from zoo.strings import check_texts, read_texts, replace_surrogates, warn_caller
from zoo.text import Tokenizer, TranslatorPreprocessor, train_tokenizer

pytestmark = pytest.mark.once


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ("", [""]),
        ("one", ["one"]),
        ([], []),
        (("a", "b"), ["a", "b"]),
        ((letter for letter in "ab"), ["a", "b"]),
        (np.array(["a", "b"]), ["a", "b"]),
        (np.array([b"a", "\u00e4".encode()], object), ["a", "\u00e4"]),
        ([np.array("a"), "b"], ["a", "b"]),
    ],
)
def test_check_texts_takes_strings_and_what_holds_them(texts, expected):
    assert check_texts(texts) == expected


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (3, r"^texts must be a str or a list of str. Received: 3 \(int\)$"),
        (b"ab", r"^texts must be .* Received: b'ab' \(bytes\)$"),
        ({"a": "b"}, r"\(dict\)$"),
        (["a", "b", 3], r"^texts\[2\] must be a str. Received: 3 \(int\)$"),
        (["a", b"b"], r"^texts\[1\] must be a str. Received: b'b' \(bytes\)$"),
    ],
)
def test_check_texts_names_the_position_and_the_type(texts, message):
    with pytest.raises(TypeError, match=message):
        check_texts(texts)


def test_a_table_is_no_list_of_texts():
    class Table:  # as a data frame: iterated, it gives the names of its columns
        ndim = 2

        def __iter__(self):
            return iter(["en", "de"])

    for table in (Table(), np.array([["a", "b"]])):
        with pytest.raises(TypeError, match="must be a str or a list of str"):
            check_texts(table)
    assert check_texts(np.array(["a", "b"])) == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Straße 😀 \x00", "Straße 😀 \x00"),
        ("\ud800", "\ufffd"),
        ("a\udc00b", "a\ufffdb"),
        ("\ud83d\ude00", "😀"),
        ("\ude00\ud83d", "\ufffd\ufffd"),
    ],
)
def test_replace_surrogates(text, expected):
    assert replace_surrogates(text) == expected


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ("a", (["a"], True)),
        (np.array("a"), (["a"], True)),
        (np.array([b"\xc3\xa4", b"\xff"]), (["ä", "\ufffd"], False)),
        (np.array([], object), ([], False)),
    ],
)
def test_a_single_text_is_told(texts, expected):
    assert read_texts(texts) == expected


# === Warnings ===
def test_code_of_others_counts_as_a_caller():
    scope = {"warn_caller": warn_caller}
    exec(compile("def f():\n    warn_caller('cut')", "other.py", "exec"), scope)
    with pytest.warns(UserWarning) as record:
        scope["f"]()
    assert (record[0].filename, record[0].lineno) == ("other.py", 2)


def test_frames_of_zoo_and_keras_are_passed_over():
    long = "a brown dog runs in the park."
    tokenizer = Tokenizer(proto=train_tokenizer([long], 22))
    preprocessor = TranslatorPreprocessor(tokenizer, source_length=2, target_length=3)
    with pytest.warns(UserWarning, match="were cut") as record:
        preprocessor.encode(long)
        preprocessor.generate_preprocess(long)
        preprocessor({"source": [long], "target": [long]})  # through Keras's __call__
    assert {warning.filename for warning in record} == {__file__}
    assert len(record) == 4
