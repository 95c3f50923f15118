import dataclasses
import gzip

import pytest

from zoo.data import CorpusError, Labelled
from zoo.data.own import (
    TextFiles,
    labelled_kind,
    read_labelled,
    read_one,
    read_sentences,
    read_tagged,
    sentences_kind,
    tagged_kind,
)
from zoo.data.tagged import Tagged

pytestmark = pytest.mark.backend_free

TAGGED = "Ein DET B\nHund NOUN I\n\nJa INTJ B\n\n\nEr PRON B\nbellt VERB B\n"
CONLLU = """# text
1\tIch\tich\tPRON\tPPER\t_\t_\t_\t_\t_
2-3\tzum\t_\t_\t_\t_\t_\t_\t_\t_
2\tzu\tzu\tADP\tAPPR\t_\t_\t_\t_\t_

1\tJa\tja\tINTJ\tITJ\t_\t_\t_\t_\t_
"""


@pytest.fixture
def write(tmp_path):
    def write_file(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write_file


# === Tags ===


@pytest.mark.parametrize(("column", "tags"), [(2, ["DET", "NOUN"]), ("3", ["B", "I"])])
@pytest.mark.parametrize("separator", [" ", "\t"])
def test_words_with_tags_a_line(write, column, tags, separator):
    path = write("a.txt", TAGGED.replace(" ", separator).replace("\n", "\r\n"))
    own = read_tagged(path, path, column=column)
    assert own.train.sentences == [["Ein", "Hund"], ["Ja"], ["Er", "bellt"]]
    assert own.train.tags[0] == tags and own.valid.tags == own.train.tags
    assert own.test is None and own.report[0] == f"read 3 sentences from {path}"


def test_of_two_columns_the_second_has_the_tags(write):
    path = write("a.txt", "a b\tX\n#\tY\n")  # a word may have a space
    own = read_tagged(path, path)
    assert own.train == Tagged([["a b", "#"]], [["X", "Y"]])


def test_conllu(write):
    path = write("a.conllu.gz", gzip.compress(CONLLU.encode()))
    for column, tags in ((None, ["PRON", "ADP"]), ("xpos", ["PPER", "APPR"])):
        own = read_tagged(path, path, column=column)
        assert own.train.sentences == [["Ich", "zu"], ["Ja"]]
        assert own.train.tags[0] == tags
    with pytest.raises(ValueError, match=r"\['upos', 'xpos'\].*column=3"):
        read_tagged(path, column=3)
    path = write("a.conllu", CONLLU.replace("ITJ", "_"))
    with pytest.raises(CorpusError, match="line 6 .*a tag in the fifth.*'Ja' and '_'"):
        read_tagged(path, column="xpos")


@pytest.mark.parametrize(
    ("content", "column", "message"),
    [
        (TAGGED, None, "has 3 columns: say by its number.*received None"),
        (TAGGED, 4, "has 3 columns.*received 4"),
        (TAGGED, 1, "received 1"),
        (TAGGED, "upos", "received 'upos'"),
        ("a X\n\nb\n", None, "line 3 should have a word and, in column 2.*'b'"),
        ("a\tX\n\tY\n", None, r"line 2 should have a word"),
        ("\n \n", None, "no sentences left"),
        (b"a X\n\xff Y\n", None, "UTF-8.*line 2, byte 1"),
    ],
)
def test_what_has_no_tags(write, content, column, message):
    with pytest.raises(CorpusError, match=message):
        read_tagged(write("a.txt", content), column=column)


def test_a_sentence_without_end_is_left_out(write):
    path = write("a.txt", "a X\n\n" + "b Y\n" * 1001 + "\nc Z\n")
    own = read_tagged(path, path)
    assert own.train.sentences == [["a"], ["c"]] and len(own.valid) == 3
    assert own.report[1] == (
        f"left out 1 of more than 1,000 words (the first: line 3 of {path})"
    )
    assert len(read_tagged(path, path, keep_all=True).train) == 3


def test_tagged_data_and_what_is_none():
    own = read_tagged(Tagged([["a"], ["b", "a"]], [["X"], ["Y", "X"]]))
    assert len(own.train) == len(own.valid) == 1
    assert "given: held out 1 sentence for it" in own.report[-1]
    with pytest.raises(
        TypeError, match=r"data\[0\] must be a pair of sentences and tags"
    ):
        read_tagged([["a"]])


# === Labels ===


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.txt", "good\tI like it .\nbad\tno\n\ngood\tyes\n"),
        ("a.txt", "good I like it .\nbad no\ngood yes\n"),
        ("a.csv", "label,text\ngood,I like it .\nbad,no\ngood,yes\n"),
        (
            "a.jsonl",
            '{"text": "I like it .", "label": "good"}\n'
            '{"text": "no", "label": "bad"}\n{"text":"yes","label":"good"}',
        ),
    ],
)
def test_labels(write, name, content):
    path = write(name, content)
    own = read_labelled(path, path)
    assert own.train == Labelled(
        ["I like it .", "no", "yes"], [1, 0, 1], ("bad", "good")
    )


def test_numbers_are_sorted_as_such_and_columns_are_chosen(write):
    path = write("a.tsv", "".join(f"1\t{n % 11}\ttext {n}\n" for n in range(44)))
    own = read_labelled(path, columns=(3, 2))
    assert own.train.names == tuple(map(str, range(11)))
    assert len(own.train) == 42 and len(own.valid) == 2
    assert own.valid.names == own.train.names


def test_names_that_may_be_a_row_are_reported(write):
    path = write("a.tsv", "label\tfilm\ngood\tyes\nbad\tno\n")
    own = read_labelled(path, path, columns=("film", "label"))
    assert "first line" not in "\n".join(own.report)
    path = write("a.tsv", "yes\tgood\nfine\tgood\nno\tbad\n")
    own = read_labelled(path, path)
    assert own.report[0] == (
        f"columns yes and good of {path}, its first line taken as their names"
    )


def test_equal_texts_are_on_one_side():
    texts = [f"text {n % 30}" for n in range(90)]
    own = read_labelled((texts, ["x"] * 90))
    assert len(own.valid.texts) == len(set(own.valid.texts)) == 2
    assert not set(own.valid.texts) & set(own.train.texts)
    assert len(own.train) == 84
    assert own.report[-1] == "left out 4 texts equal to a held-out one"


@pytest.mark.parametrize(
    ("train", "valid", "message"),
    [
        ("good yes\nbad\n", "good yes\n", "line 2 should have a label"),
        ("good yes\n", "bad no\n", r"one of the training texts' \(good\).*'bad'"),
        ("".join(f"{n} x{n}\n" for n in range(50)), "0 x\n", "50 for 50 texts"),
    ],
)
def test_labels_that_cannot_be(write, train, valid, message):
    with pytest.raises(CorpusError, match=message):
        read_labelled(write("a.txt", train), write("b.txt", valid))


# === Sentences ===


def test_one_text_file(write):
    path = write("a.txt", "\ufeffa b\n\n c \nd\u2028e\n" + "x" * 10_001 + "\n")
    own = read_sentences(path, path)
    assert own.train == ["a b", "c", "d\u2028e"]
    assert own.report[:3] == [
        f"read 5 sentences from {path}",
        f"left out 1 that are empty (the first: line 2 of {path})",
        f"left out 1 of more than 10,000 characters (the first: line 5 of {path})",
    ]
    assert len(own.valid) == 4  # nothing but empty ones is left out of it


def test_held_out_sentences_keep_the_order(write):
    lines = [f"line {n}" for n in range(100)]
    path = write("a.txt", "\n".join(lines))
    own = read_sentences(path)
    assert len(own.valid) == 5
    assert own.train == [line for line in lines if line not in own.valid]
    assert own.valid == [line for line in lines if line in own.valid]
    assert (
        own.digest == read_sentences(lines).digest != read_sentences(lines[1:]).digest
    )


def test_several_files_with_weights_and_a_folder(write, tmp_path):
    one, two = write("train.txt", "a\nb\n"), write("dev.txt", "c\n")
    own = read_sentences([TextFiles((one,)), TextFiles((two,), 2)], ["x"])
    assert own.train == ["a", "b", "c", "c"]
    for sets in ((TextFiles((two,), 2), None), (None, TextFiles((two,), 2))):
        with pytest.raises(CorpusError, match="only training text has a weight"):
            read_sentences(one, *sets)
    own = read_sentences(TextFiles((tmp_path,), 2))
    assert own.train == ["a", "b"] * 2 and own.valid == ["c"]
    own = read_sentences(tmp_path)
    assert own.train == ["a", "b"] and own.valid == ["c"] and own.test is None
    (one.unlink(), two.unlink())
    with pytest.raises(CorpusError, match=r"has no file for train, named train"):
        read_sentences(tmp_path)


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (("a", "b"), CorpusError, "should be one file, received a and b"),
        (["a", 3], TypeError, r"texts\[1\] must be a str"),
        ({"text": ["a", 3]}, TypeError, r"text 1 must be a str"),
        ({"a": ["x"], "b": ["y"]}, CorpusError, "2 columns: a, b; say which 1"),
        (["a"], CorpusError, "beside the 1 held out"),
        ([], CorpusError, "there are no sentences left"),
        (["", " "], CorpusError, "there are no sentences left"),
    ],
)
def test_what_is_no_text(data, error, message):
    with pytest.raises(error, match=message):
        read_sentences(data)


@pytest.mark.parametrize(
    ("read", "train", "valid"),
    [
        (read_sentences, ["a"], ["b", "c"]),
        (read_tagged, Tagged([["a"]], [["X"]]), Tagged([["b"], ["c"]], [["Y"], ["Z"]])),
        (read_labelled, (["a", "b"], ["X", "Y"]), (["a", "c"], ["X", "Y"])),
    ],
    ids=["sentences", "tagged", "labelled"],
)
def test_the_identity_covers_the_validation_texts_but_not_the_test(read, train, valid):
    own, same, other = (
        read(train, *sets) for sets in ((train,), (train, train), (valid,))
    )
    assert own.digest == same.digest == other.digest
    assert own.identity == same.identity != other.identity


# === A test alone ===


def test_of_a_folder_the_test_is_read_once_and_nothing_else(write, tmp_path):
    write("train.txt", "x Y\n")
    path = write("test.txt", "a X\nb Y\n\n" + "c Z\n" * 1001)
    found = read_one(tmp_path, tagged_kind())
    assert found.sentences[0] == ["a", "b"] and len(found.sentences[1]) == 1001
    assert read_one(path, tagged_kind()) == found
    path.write_text("b Y\na X\n")
    assert read_one(tmp_path, labelled_kind()) == Labelled(
        ["Y", "X"], [1, 0], ("a", "b")
    )
    assert read_one(tmp_path, sentences_kind()) == ["b Y", "a X"]
    kind, reads = sentences_kind(), []

    def read(path, report):
        reads.append(path)
        return kind.read(path, report)

    read_one(tmp_path, dataclasses.replace(kind, read=read))
    assert reads == [path]
    path.unlink()
    with pytest.raises(CorpusError, match=r"has no file for test, named test\.\*"):
        read_one(tmp_path, sentences_kind())
