import gzip
import itertools
import re

import numpy as np
import pytest

from zoo.data import CorpusError, Labelled, own
from zoo.data.own import TextFiles, read_labelled, read_one, read_sentences, read_tagged
from zoo.data.word_corpora import Tagged

pytestmark = pytest.mark.backend_free


def items(data):
    """Lists the items that were read, of any kind."""
    if isinstance(data, Labelled):
        names = [data.names[label] for label in data.labels]
        return list(zip(data.texts, names, strict=True))
    if isinstance(data, Tagged):
        return list(zip(data.sentences, data.tags, strict=True))
    return list(data)


READ = {
    "text": read_sentences,
    "label": read_labelled,
    "tag": read_tagged,
    "pair": own.read_pairs,
}
TEXT, LABELS = ["yes", "no"], [("yes", "good"), ("no", "bad")]
PAIRS = [("Go.", "Los."), ("Hi!", "Hallo!")]
TAGS = [(["Ein", "Hund"], ["DET", "NOUN"]), (["Ja"], ["INTJ"])]
COLUMNS = "Ein DET B\nHund NOUN I\n\n \u200b\nJa INTJ B\n"
CONLLU = """# text
1\tEin\tich\tDET\tART\t_\t_\t_\t_\t_
2-3\tzum\t_\t_\t_\t_\t_\t_\t_\t_
2\tHund\tzu\tNOUN\tNN\t_\t_\t_\t_\t_

1\tJa\tja\tINTJ\tITJ\t_\t_\t_\t_\t_
"""


# === Files ===
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["lf", "crlf", "cr"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "gzip"])
@pytest.mark.parametrize(
    ("kind", "name", "content", "options", "expected"),
    [
        ("text", "a.txt", "yes\nno\n", {}, TEXT),
        ("text", "a.csv", '\ntext\n"yes"\n\nno', {}, TEXT),
        ("text", "a.tsv", "1\tyes\n2\tno\n", {"columns": [2]}, TEXT),
        ("label", "a.txt", "good\tyes\n\nbad\tno\n", {}, LABELS),
        ("label", "a.txt", "good yes\nbad no\n", {}, LABELS),
        ("label", "a.csv", "\nlabel,text\ngood,yes\nbad,no", {}, LABELS),
        ("label", "a.csv", "sep=|\nlabel|text\ngood|yes\nbad|no", {}, LABELS),
        ("pair", "a.csv", "sep=;\nsrc;tgt\nGo.;Los.\nHi!;Hallo!\n", {}, PAIRS),
        ("pair", "a.tsv", "\nsrc\ttgt\n\nGo.\tLos.\nHi!\tHallo!\n", {}, PAIRS),
        ("tag", "a.txt", COLUMNS, {"column": 2}, TAGS),
        ("tag", "a.txt", COLUMNS.replace(" ", "\t"), {"column": "2"}, TAGS),
        ("tag", "a.conllu", CONLLU, {}, TAGS),
    ],
)
def test_every_reader_takes_every_encoding_and_line_end(
    write, end, encoding, kind, name, content, options, expected
):
    content = content.replace("\n", end)
    if encoding == "gzip":
        path = write(gzip.compress(content.encode()), f"{name}.gz")
    else:
        path = write(content.encode(encoding), name)
    assert items(READ[kind](path, path, **options).train) == expected


JSON_TEXTS = '\n{"text": "a"}\n{"text": NaN}\n{"text": null}\n{"text": 3}'
JSON_LABELS = """{"text": "a", "label": NaN}
{"text": "null", "label": "NaN"}
{"text": "b", "label": null}
{"text": "d"}
{"text": "c", "label": 1.0}"""
JSON_PAIRS = '{"src": "a", "tgt": NaN}\n{"src": "b", "tgt": "c"}'
JSON_TAGS = '{"tokens": ["a"], "tags": [1]}\n{"tokens": ["b"], "tags": [null]}'
LONG = "a X\n\n" + "b Y\n" * 1001 + "\nc Z\n"
LONG_READ = [(["a"], ["X"]), (["c"], ["Z"])]
C1 = "replaced control characters by spaces in 3, often a sign of Windows-1252"
CSV = "text,label\na,x\nb,\n\nc,\nd,y\n"
NO_TAG = "1\ta" + "\t_" * 8
HEAD = "yes\tgood\nfine\tgood\n"


@pytest.mark.parametrize(
    ("kind", "name", "content", "expected", "report"),
    [
        ("text", "a.txt", "a \n\nd\u2028e", ["a", "d\u2028e"], "1 that are empty (the"),
        ("text", "a.txt", "a\n\u200b\u200d\n", ["a"], "empty (the first: line 2 of "),
        ("text", "a.txt", "x" * 10_001 + "\na", ["a"], "1 of more than 10,000 charact"),
        ("text", "a.txt", "it\x92s\nb\x85\n\0c\nd\r\n", ["it s", "b", "c", "d"], C1),
        ("text", "a.jsonl", JSON_TEXTS, ["a", "3"], "2 that are empty (.*: line 3"),
        ("label", "a.csv", CSV, [("a", "x"), ("d", "y")], "2 without a label .*line 3"),
        (
            "label",
            "a.jsonl",
            JSON_LABELS,
            [("null", "NaN"), ("c", "1")],
            "3 without a l",
        ),
        ("label", "a.tsv", HEAD, [("fine", "good")], "yes and good of .* names$"),
        ("label", "a.txt", "\ta\nx\tb\n", [("b", "x")], "1 without a .*line 1 of"),
        ("pair", "a.jsonl", JSON_PAIRS, [("b", "c")], "1 with an empty .*line 1 of"),
        ("tag", "a.txt", "1\xa0000 N\n", [(["1\xa0000"], ["N"])], "read 1 sentence"),
        ("tag", "a.txt", "a b\tX\n#\tY\n", [(["a b", "#"], ["X", "Y"])], "read 1 sent"),
        ("tag", "a.jsonl", JSON_TAGS, [(["a"], ["1"])], "1 without a word .*line 2"),
        ("tag", "a.txt", LONG, LONG_READ, "1,000 words .*line 3 of"),
    ],
    ids=itertools.count(),
)
def test_what_is_left_out_or_changed_is_told(
    write, kind, name, content, expected, report
):
    found = READ[kind](write(content, name), expected)
    assert items(found.train) == expected
    assert re.search(report.replace("(", r"\("), "\n".join(found.report), re.M)


@pytest.mark.parametrize(
    ("kind", "name", "content", "options", "message"),
    [
        ("tag", "a.txt", COLUMNS, {}, "3 columns: say by its number.*received None"),
        ("tag", "a.txt", COLUMNS, {"column": 4}, "has 3 columns.*received 4"),
        ("tag", "a.txt", COLUMNS, {"column": 1}, "received 1"),
        ("tag", "a.txt", COLUMNS, {"column": "upos"}, "received 'upos'"),
        ("tag", "a.txt", "a X\n\nb\n", {}, "line 3 should have 2 columns as .*'b'"),
        ("tag", "a.txt", "a X\nNew York Y\n", {}, "line 2 .*'New York Y' .a word with"),
        ("tag", "a.txt", "a\tX\n\tY\n", {}, "line 2 should have 2 columns"),
        ("tag", "a.txt", "\n \n", {}, "no sentences left"),
        ("tag", "a.txt", b"a X\n\xff Y\n", {}, "UTF-8.*line 2, byte 1"),
        ("tag", "a.conllu", CONLLU, {"column": 3}, r"\['upos', 'xpos'\].*column=3"),
        ("tag", "a.conllu", NO_TAG, {"column": "xpos"}, "line 1 .*'a' and '_'"),
        ("tag", "a.jsonl", '{"words": ["a"], "tags": []}', {}, "1 word and 0 tags"),
        ("label", "a.txt", "good yes\nbad\n", {}, "line 2 should have a label"),
        ("label", "a.jsonl", '{"text": [], "label": 1}', {}, "line 1: texts must be"),
        ("text", "a.tsv", "Go!\n", {}, "say by number which to read"),
        ("text", "a.csv", "text\na,b\n", {}, "line 2 .* the columns text, received"),
        ("text", "a.csv", "a,b\n", {}, "1 column, received 2: a, b; say which"),
    ],
)
def test_files_that_are_refused(write, kind, name, content, options, message):
    path = write(content, name)
    with pytest.raises(ValueError, match=message):
        READ[kind](path, path, **options)


# === Python data ===
WORDS, NAMES = [["a"], ["cafe\u0301", "a"]], [["X"], ["Y", "X"]]
RAW, CLASSES, N = ["I like it .", " no ", "cafe\u0301"], ["y", "n", "y"], [1, 2, 3]
RIGHT = {
    "tag": Tagged([["a"], ["caf\xe9", "a"]], NAMES),
    "label": Labelled(["I like it .", "no", "caf\xe9"], [1, 0, 1], ("n", "y")),
    "text": ["I like it .", "no", "caf\xe9"],
}


@pytest.mark.parametrize(
    ("kind", "data", "options"),
    [
        ("tag", Tagged(WORDS, NAMES), {}),
        ("tag", (WORDS, NAMES), {}),
        ("tag", [*zip(WORDS, NAMES, strict=True)], {}),
        ("tag", {"tags": NAMES, "words": WORDS}, {}),
        ("tag", {"tags": N, "tokens": WORDS, "upos": NAMES}, {"column": "upos"}),
        ("label", (np.array(RAW), tuple(CLASSES)), {}),
        ("label", {"id": N, "c": CLASSES, "film": RAW}, {"columns": ("film", "c")}),
        ("label", {"label": CLASSES, "sentence": RAW, "id": N}, {}),
        ("text", RAW, {}),
        ("text", np.array(RAW), {}),
        ("text", {"text": tuple(RAW), "id": N}, {}),
        ("text", {"line": RAW}, {}),
        ("text", {"story": RAW, "id": N}, {"columns": ["story"]}),
        ("text", [{"text": text} for text in RAW], {}),
    ],
    ids=str,
)
def test_python_data(kind, data, options):
    found = READ[kind](data, data, **options)
    assert found.train == found.valid == RIGHT[kind]


def test_a_data_frame():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"n": N, "label": [10, 9, 10], "text": RAW})
    found = read_labelled(frame, frame)
    assert found.train.names == ("9", "10") and found.train.labels == [1, 0, 1]
    assert read_sentences(frame, frame).train == RIGHT["text"]
    frame.loc[1, "text"] = None
    found = read_labelled(frame, frame)
    assert len(found.train) == 2 and "left out 1 that are empty" in found.report[1]
    assert len(read_sentences(frame, frame).train) == 2
    frame.loc[0, "label"] = None
    found = read_labelled(frame, frame)
    assert found.train.names == ("10",) and "1 without a label" in found.report[1]
    frame = pandas.DataFrame({"words": [["a", "b"]], "tags": [np.array([3, 0])]})
    assert read_tagged(frame, frame).train == Tagged([["a", "b"]], [["3", "0"]])


@pytest.mark.parametrize(
    ("kind", "data", "message"),
    [
        ("tag", (WORDS, NAMES[:1]), "sentences and tags .* received 2 and 1"),
        ("tag", ([["a"]], [["Y", "X"]]), r"sentences\[0\] .* 1 word and 2 tags"),
        ("tag", (["a b"], [["X"]]), r"sentences\[0\] must be a list. .*'a b'"),
        ("tag", ([["a", [3]]], [["X", "Y"]]), r"sentences\[0\]\[1\] must be a str"),
        ("tag", ([["a"]], [[[]]]), r"tags\[0\]\[0\] must be a str or number"),
        ("tag", 7, "tagged sentences must be a path.*Received: 7"),
        ("tag", [["a"]], r"data\[0\] must be a pair of sentences and tags"),
        (
            "label",
            {"text": RAW, "label": ["x"]},
            "texts and labels .* received 3 and 1",
        ),
        ("label", ([[3]], ["x"]), r"texts\[0\] must be a str or number. .*\[3\]"),
        ("label", (["a"], [None]), "there are no texts left.* 1 without a label"),
        (
            "label",
            {"a": RAW, "b": RAW, "c": RAW},
            "2 columns, received 3: a, b, c; say",
        ),
        ("label", [], "labelled texts must be a path"),
        ("label", {}, "labelled texts must be a path"),
        ("text", ("a", "b"), "should be one file, received a and b"),
        ("text", ["a", [3]], r"texts\[1\] must be a str"),
        ("text", {"a": ["x"], "b": ["y"]}, "1 column, received 2: a, b; say which"),
        ("text", [], "there are no sentences left"),
        ("text", ["", " "], "there are no sentences left"),
        ("text", ["a"] * 9, "validation, since one stays for training.*give a val"),
        ("label", (["a", "b"] * 20, ["p", "n"] * 20), "no text can .* of each label"),
    ],
    ids=str,
)
def test_what_is_no_text(kind, data, message):
    with pytest.raises((CorpusError, TypeError), match=message):
        READ[kind](data)


# === Held-out texts, several files, sets of their own ===
@pytest.mark.parametrize(
    "names", [["²", "¹"], ["-3", "10"], ["--3", "b"], ["9", "9" * 5000]]
)
def test_any_names_are_labels_and_numbers_are_sorted_as_such(names):
    found = read_labelled((["a", "b"], names[::-1]), (["a"], names[:1]))
    assert found.train.names == tuple(names) and found.valid.labels == [0]


def test_columns_are_chosen_by_number(write):
    path = write("".join(f"1\t{n % 11}\ttext {n}\n" for n in range(440)), "a.txt")
    found = read_labelled(path, columns=(3, 2))
    assert found.train.names == tuple(map(str, range(11)))
    assert sorted(found.valid.labels) == sorted([*range(11)] * 2)  # evenly of each
    assert len(found.train) == 418 and found.valid.names == found.train.names


@pytest.mark.parametrize(
    ("train", "valid", "message"),
    [
        ("good yes\n", "bad no\n", r"one of the training texts' \(good\).*'bad'"),
        ("".join(f"{n} x{n}\n" for n in range(50)), "0 x\n", "50 for 50 texts"),
    ],
)
def test_labels_that_cannot_be(write, train, valid, message):
    with pytest.raises(CorpusError, match=message):
        read_labelled(write(train), write(valid, "b.txt"))


def test_equal_texts_are_on_one_side():
    texts = [f"text {n % 30}" for n in range(90)]
    found = read_labelled((texts, ["x"] * 90))
    assert len(found.valid.texts) == len(set(found.valid.texts)) == 2
    assert not set(found.valid.texts) & set(found.train.texts)
    assert len(found.train) == 84
    assert found.report[-1] == "left out 4 texts equal to a held-out one"


def test_rare_labels_are_trained_on():
    labels = ["p", "n"] * 20 + [f"rare {n}" for n in range(8)]
    found = read_labelled(([f"text {n}" for n in range(48)], labels))
    assert {found.train.names[label] for label in found.train.labels} == set(labels)
    assert {found.train.names[label] for label in found.valid.labels} == {"p", "n"}


def test_held_out_sentences_keep_the_order(write):
    lines = [f"line {n}" for n in range(100)]
    found = read_sentences(write("\n".join(lines)))
    assert len(found.valid) == 5
    assert found.train == [line for line in lines if line not in found.valid]
    assert found.valid == [line for line in lines if line in found.valid]
    assert (
        found.digest == read_sentences(lines).digest != read_sentences(lines[1:]).digest
    )


def test_several_files_with_weights_and_a_folder(write, tmp_path):
    one, two = write("a\nb\n", "train.txt"), write("c\n", "dev.txt")
    found = read_sentences([TextFiles((one,)), TextFiles((two,), 2)], ["x"])
    assert found.train == ["a", "b", "c", "c"]
    assert found.report[1] == f"read 1 sentence from {two}, 2 times an epoch"
    found = read_sentences(tmp_path)
    assert found.train == ["a", "b"] and found.valid == ["c"] and found.test is None
    (one.unlink(), two.unlink())
    with pytest.raises(CorpusError, match=r"has no file for train, named train"):
        read_sentences(tmp_path)


@pytest.mark.parametrize(
    ("read", "train", "valid"),
    [
        (read_sentences, ["a"], ["b", "c"]),
        (read_tagged, Tagged([["a"]], [["X"]]), Tagged([["b"], ["c"]], [["Y"], ["Z"]])),
        (read_labelled, (["a", "b"], ["X", "Y"]), (["a", "c"], ["X", "Y"])),
    ],
)
def test_the_identity_covers_the_validation_texts_but_not_the_test(read, train, valid):
    sets = (train,), (train, train), (valid,)
    found, same, other = (read(train, *others) for others in sets)
    assert found.digest == same.digest == other.digest
    assert found.identity == same.identity != other.identity


def test_of_a_folder_the_test_is_read_alone(write, tmp_path):
    write(b"\xff", "train.txt")
    path = write("a X\nb Y\n\n" + "c Z\n" * 1001, "test.txt")
    found = read_one(tmp_path, own.tagged_kind())
    assert found.sentences[0] == ["a", "b"] and len(found.sentences[1]) == 1001
    assert read_one(path, own.tagged_kind()) == found
    path.write_text("b Y\na X\n")
    labelled = Labelled(["Y", "X"], [1, 0], ("a", "b"))
    assert read_one(tmp_path, own.labelled_kind()) == labelled
    assert read_one(labelled, own.labelled_kind()) == labelled
    report = []
    assert read_one(tmp_path, own.sentences_kind(), report) == ["b Y", "a X"]
    assert report == [f"read 2 sentences for test from {path}"]
    path.unlink()
    with pytest.raises(CorpusError, match=r"has no file for test, named test\.\*"):
        read_one(tmp_path, own.sentences_kind())
