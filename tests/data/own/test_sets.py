import pytest

from zoo.data import CorpusError, Labelled, own
from zoo.data.own import TextFiles, read_labelled, read_one, read_sentences, read_tagged
from zoo.data.word_corpora import Tagged

pytestmark = pytest.mark.backend_free


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
