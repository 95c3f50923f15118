"""Python data for taggers, classifiers and language models."""

import numpy as np
import pytest

from zoo.data import CorpusError, Labelled
from zoo.data.own import (
    labelled_kind,
    read_labelled,
    read_one,
    read_sentences,
    read_tagged,
)
from zoo.data.tagged import Tagged

pytestmark = pytest.mark.backend_free

# === Tags ===
WORDS, TAGS = [["a"], ["cafe\u0301", "a"]], [["X"], ["Y", "X"]]


@pytest.mark.parametrize(
    ("data", "column"),
    [
        (Tagged(WORDS, TAGS), None),
        ((WORDS, TAGS), None),
        ([*zip(WORDS, TAGS, strict=True)], None),
        ({"tags": TAGS, "words": WORDS}, None),
        ({"tags": WORDS, "tokens": WORDS, "upos": TAGS}, "upos"),
        ([{"words": WORDS[n], "tags": TAGS[n]} for n in (0, 1)], None),
    ],
    ids=str,
)
def test_tags_of_python_data(data, column):
    own = read_tagged(data, data, column=column)
    assert own.train == own.valid == Tagged([["a"], ["caf\xe9", "a"]], TAGS)


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        ((WORDS, TAGS[:1]), CorpusError, "sentences and tags .* received 2 and 1"),
        (
            Tagged([["a"], ["b"]], [["X"], ["Y", "X"]]),
            CorpusError,
            "sentence 1 should have a tag for each word, received 1 word and 2 tags",
        ),
        ((["a b"], [["X"]]), TypeError, r"sentences\[0\] must be a list. .*'a b'"),
        (([["a", 3]], [["X", "Y"]]), TypeError, r"sentences\[0\]\[1\] must be a str"),
        (([["a"]], [[None]]), TypeError, r"tags\[0\] must be a str or number"),
        (7, TypeError, "tagged sentences must be a path.*Received: 7"),
    ],
    ids=str,
)
def test_what_is_no_tagged_data(data, error, message):
    with pytest.raises(error, match=message):
        read_tagged(data)


# === Labels ===


class Dataset(dict):
    """A Hugging Face `Dataset`, as far as it is asked."""

    column_names = property(list)


TEXTS, LABELS = ["I like it .", " no ", "cafe\u0301"], ["good", "bad", "good"]


@pytest.mark.parametrize(
    ("data", "columns"),
    [
        ((TEXTS, LABELS), None),
        ((np.array(TEXTS), tuple(LABELS)), None),
        ([*zip(TEXTS, LABELS, strict=True)], None),
        ([[*pair] for pair in zip(TEXTS, LABELS, strict=True)], None),
        ({"id": [1, 2, 3], "label": LABELS, "text": TEXTS}, None),
        ({"id": [1, 2, 3], "class": LABELS, "film": TEXTS}, ("film", "class")),
        (Dataset({"label": LABELS, "sentence": TEXTS}), None),
        (
            [
                {"label": label, "text": text}
                for text, label in zip(TEXTS, LABELS, strict=True)
            ],
            None,
        ),
    ],
    ids=str,
)
def test_labels_of_python_data(data, columns):
    own = read_labelled(data, data, columns=columns)
    assert own.train == own.valid == read_one(data, labelled_kind(columns))
    assert own.train == Labelled(
        ["I like it .", "no", "caf\xe9"], [1, 0, 1], ("bad", "good")
    )


def test_a_data_frame_of_labels_tags_and_sentences():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"n": [1, 2, 3], "label": [10, 9, 10], "text": TEXTS})
    own = read_labelled(frame, frame)
    assert own.train.names == ("9", "10") and own.train.labels == [1, 0, 1]
    assert read_sentences(frame, frame).train == ["I like it .", "no", "caf\xe9"]
    frame.loc[1, "text"] = None
    own = read_labelled(frame, frame)
    assert len(own.train) == 2 and "left out 1 that are empty" in own.report[1]
    assert len(read_sentences(frame, frame).train) == 2
    frame.loc[1, "label"] = None
    with pytest.raises(TypeError, match=r"labels\[1\] must be a str or number.*nan"):
        read_labelled(frame)
    frame = pandas.DataFrame({"words": [["a", "b"]], "tags": [np.array([3, 0])]})
    assert read_tagged(frame, frame).train == Tagged([["a", "b"]], [["3", "0"]])


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        ((TEXTS, ["x", "y"]), CorpusError, "texts and labels .* received 3 and 2"),
        (
            {"text": TEXTS, "label": ["x"]},
            CorpusError,
            "texts and labels should be equally many, received 3 and 1",
        ),
        ([("a", "x"), ("b",)], TypeError, r"data\[1\] must be a pair of texts and lab"),
        (([3], ["x"]), TypeError, r"text 0 must be a str. Received: 3 \(int\)"),
        ((["a"], [None]), TypeError, r"labels\[0\] must be a str or number.*None"),
        (("a", 3), TypeError, "texts must be a list. Received: 'a'"),
        ({"a": TEXTS, "b": TEXTS, "c": TEXTS}, CorpusError, "a, b, c; say which 2"),
        (7, TypeError, r"labelled texts must be a path, .*Received: 7 \(int\)"),
        ([], TypeError, r"labelled texts must be a path"),
        ({}, TypeError, r"labelled texts must be a path"),
    ],
    ids=str,
)
def test_what_is_no_labelled_data(data, error, message):
    with pytest.raises(error, match=message):
        read_labelled(data)


# === Sentences ===


@pytest.mark.parametrize(
    "data",
    [
        TEXTS,
        {"text": TEXTS, "id": [1, 2, 3]},
        {"text": tuple(TEXTS)},
        {"line": TEXTS},
        Dataset({"sentence": TEXTS, "id": [1, 2, 3]}),
    ],
    ids=str,
)
def test_sentences_of_python_data(data):
    own = read_sentences(data, data)
    assert own.train == own.valid == ["I like it .", "no", "caf\xe9"]
