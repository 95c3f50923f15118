import gzip
import itertools
import random
import re

import pytest

from zoo.data import CorpusError, Pairs
from zoo.data.own import read, read_test

pytestmark = pytest.mark.backend_free


def sentences(count):
    """Unique pairs, each side of its own words."""
    return [(f"s{n} word word", f"t{n} wort wort") for n in range(count)]


def write(folder, pairs, name="my"):
    paths = tuple(folder / f"{name}.{suffix}" for suffix in ("en", "de"))
    for path, side in zip(paths, zip(*pairs, strict=True), strict=True):
        path.write_text("".join(f"{text}\n" for text in side), encoding="utf-8")
    return paths


# === What is held out ===
def test_a_twentieth_is_held_out_by_content_and_seed(tmp_path):
    pairs = sentences(203)
    own = read("pairs", write(tmp_path, pairs))
    train, held = list(own.train), set(own.valid)
    assert isinstance(own.valid, Pairs) and own.test is None
    assert own.languages == ("en", "de") and own.valid.target_language == "de"
    assert len(held) == len(own.valid) == 10
    assert train == [pair for pair in pairs if pair not in held]  # in their order
    assert own.report[1].startswith("held out 10 pairs for validation")
    shuffled = random.Random(1).sample(pairs * 2, len(pairs) * 2)
    assert set(read("pairs", shuffled).valid) == held
    assert set(read("pairs", pairs, seed=2).valid) != held
    assert len(held & set(read("pairs", sentences(230)).valid)) >= 7
    # What a run held out stays so in later versions.
    few = read("pairs", [(f"s{n}", f"t{n}") for n in range(100)]).valid.sources
    assert few == ["s76", "s66", "s49", "s30", "s9"]


@pytest.mark.parametrize(("unique", "count"), [(2, 1), (40, 2), (30_000, 1000)])
def test_a_twentieth_up_to_a_thousand(unique, count):
    assert len(read("sentences", [str(n) for n in range(unique)]).valid) == count


def test_what_shares_a_side_with_the_held_out_pairs_is_not_trained_on():
    pairs = sentences(100)
    held = list(read("pairs", pairs).valid)
    same = [(held[0][0], "another target"), ("another source", held[1][1])] * 2
    own = read("pairs", pairs + same + held[:1] * 3)
    sources, targets = own.valid.sources, own.valid.targets
    assert not [p for p in own.train if p[0] in sources or p[1] in targets]
    assert re.fullmatch("left out .* like those held out", own.report[-1])


def test_of_given_sets_nothing_is_held_out():
    pairs = sentences(50)
    own = read("pairs", pairs, pairs[:3], pairs[3:5])
    assert list(own.train) == pairs
    assert list(own.valid) == pairs[:3] and list(own.test) == pairs[3:5]
    shared = "the training set shares texts with the {} set, in {} pairs"
    assert own.report[-2:] == [shared.format("valid", 3), shared.format("test", 2)]
    own = read("pairs", pairs, test=own.train)
    assert own.report[-1] == shared.format("test", len(own.train))


def test_each_label_is_held_out_in_proportion_and_trained_on():
    labels = ["p", "n"] * 20 + [f"rare {n}" for n in range(8)]
    found = read("labelled", ([f"text {n}" for n in range(48)], labels))
    assert {found.train.names[label] for label in found.train.labels} == set(labels)
    assert {found.train.names[label] for label in found.valid.labels} == {"p", "n"}
    found = read("labelled", [(f"text {n % 30}", "x") for n in range(90)])
    assert len(found.valid) == len(set(found.valid.texts)) == 2
    assert not set(found.valid.texts) & set(found.train.texts)
    assert found.report[-1] == "left out 4 texts like those held out"


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("sentences", ["a"] * 9),
        ("labelled", (["a", "b"] * 20, ["p", "n"] * 20)),
        ("pairs", [(s, "same") for s, _ in sentences(30)]),
        ("tagged", [(["a"], ["X"])]),
    ],
)
def test_nothing_can_be_held_out(kind, data):
    with pytest.raises(CorpusError, match="nothing can be held out .*give a valid"):
        read(kind, data)


# === What is read and left out ===
def test_several_files_and_folders(tmp_path):
    pairs = sentences(60)
    write(tmp_path, pairs[:50], "train")
    write(tmp_path, pairs[50:55], "dev")
    write(tmp_path, pairs[55:], "test")
    codes = {"languages": ("de", "en")}
    own = read("pairs", tmp_path, **codes)
    assert list(own.train) == [(target, source) for source, target in pairs[:50]]
    assert len(own.valid) == 5 and own.test.sources == [t for _, t in pairs[55:]]
    assert own.languages == ("de", "en")
    own = read("pairs", tmp_path, pairs[:2], **codes)
    assert list(own.valid) == pairs[:2] and len(own.test) == 5
    assert len(read_test("pairs", str(tmp_path), **codes)) == 5
    one, two = write(tmp_path, pairs[:2]), write(tmp_path, pairs[2:3], "your")
    own = read("pairs", [one, two, two], pairs[9:])
    assert list(own.train) == [*pairs[:2], *pairs[2:3] * 2]
    assert len(read("sentences", list(one), ["x"]).train) == 4


C1 = "replaced control characters by spaces in 2 (the first: line 1 of"
JSON = '{"text": "a"}\n{"text": NaN}\n{"text": null}\n{"x": 3}'


@pytest.mark.parametrize(
    ("kind", "name", "content", "expected", "report"),
    [
        (
            "sentences",
            "a",
            "a \n\nd\u2028e",
            ["a", "d\u2028e"],
            "out 1 with an empty part",
        ),
        (
            "sentences",
            "a",
            "a\n\u200b\u200d\n",
            ["a"],
            "an empty part (the first: line 2 of",
        ),
        ("sentences", "a", "x" * 10_001 + "\na", ["a"], "left out 1 of more than 10,0"),
        ("sentences", "a", "it\x92s\nb\x85\nc\x0cd\n", ["it s", "b", "c d"], C1),
        ("sentences", "a.jsonl", JSON, ["a"], "left out 3 .*: line 2 of"),
        (
            "labelled",
            "a.csv",
            "text,label\na,x\nb,\n,c\n",
            [("a", "x")],
            "left out 2 w",
        ),
        (
            "pairs",
            "a.tsv",
            "src\ttgt\na\tb\n\tc\n",
            [("a", "b")],
            "out 1 .*: line 3 of",
        ),
        (
            "tagged",
            "a.txt",
            "a X\n\n\u200b X\n",
            [(["a"], ["X"])],
            "out 1 .*: line 3 of",
        ),
    ],
    ids=itertools.count(),
)
def test_what_is_left_out_or_changed_is_told(
    tmp_path, kind, name, content, expected, report
):
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    report, told = re.sub(r"\((?=the)", r"\(", report), []
    found = read(kind, path, expected)
    assert repr(found.train) == repr(found.valid).replace("valid", "train")
    assert re.search(report, "\n".join(found.report))
    whole = read_test(kind, path, report=told)  # which keeps long texts
    assert len(whole) == len(expected) + ("10,0" in report)


@pytest.mark.parametrize(
    ("kind", "sets", "message"),
    [
        (
            "pairs",
            ([("a", ""), ("b", " ")],),
            "no pairs left.*read 2 pairs.*left out 2 .*row 0",
        ),
        ("sentences", (["a"], [""]), "there are no sentences left in the data"),
        ("sentences", ([],), "there are no sentences left"),
        ("labelled", ([("a", "x")], [("a", "y")]), r"texts' \(x\), received 'y'"),
        ("words", (["a"],), "kind.*Received: "),
    ],
)
def test_sets_that_are_refused(kind, sets, message):
    with pytest.raises(ValueError, match=message):
        read(kind, *sets)


@pytest.mark.parametrize(
    "names", [["²", "¹"], ["-3", "10"], ["--3", "b"], ["9", "9" * 5000]]
)
def test_any_names_are_labels_and_numbers_are_sorted_as_such(names):
    found = read("labelled", (["a", "b"], names[::-1]), (["a"], names[:1]))
    assert found.train.names == tuple(names) and found.valid.labels == [0]


def test_a_test_is_read_alone_and_whole(tmp_path):
    (tmp_path / "train.txt").write_bytes(b"\xff")
    (tmp_path / "test.txt").write_text("a X\nb Y\n\n" + "c Z\n" * 20_000)
    report = []
    found = read_test("tagged", tmp_path, report=report)
    assert found.sentences[0] == ["a", "b"] and len(found.sentences[1]) == 20_000
    assert report == [f"read 2 sentences for test from {tmp_path / 'test.txt'}"]


# === Counts and identity ===
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ไทยไทย", 3),
        ("မြန်မာ", 3),
        ("ひらがな", 2),
        ("ｶﾀｶﾅ", 2),
        ("\U00020000\U00020001", 1),
        ("한국어 말", 2),
        ("кот и пёс", 3),
    ],
)
def test_words_are_counted_by_spaces_or_by_characters(text, words):
    own = read("pairs", [(text, "a b"), (text, "c")], [("x", "y")])
    assert own.words == 2 * words + 3
    assert own.characters == "".join(sorted({*text, *" abcxy"}))


def test_the_identity_is_that_of_texts_not_of_files_or_the_test(tmp_path):
    pairs, other = sentences(40), sentences(41)[40:]
    paths = write(tmp_path, pairs)
    own = read("pairs", pairs)
    packed = tuple(tmp_path / f"{path.name}.gz" for path in paths)
    for path, source in zip(packed, paths, strict=True):
        path.write_bytes(gzip.compress(source.read_bytes()))
    for same in (paths, packed):
        assert read("pairs", same, test=other).identity == own.identity
    others = [
        read("pairs", pairs, seed=2),
        read("pairs", pairs, pairs[:1]),
        read("pairs", pairs, pairs[:2]),
        read("pairs", pairs, pairs[1::-1]),
        read("pairs", pairs[::-1], pairs[:1]),
        read("pairs", [("s", "t"), *pairs[1:]]),
    ]
    assert len({own.identity, *(found.identity for found in others)}) == 7
    assert len(read("pairs", pairs, [("\ud800", "a")]).identity) == 64


def test_a_sample_is_the_same_for_the_same_text():
    pairs = sentences(300)
    own = read("pairs", pairs, pairs[:1])
    few = own.sample(50)
    assert len(few) == 50 and set(zip(few[:25], few[25:], strict=True)) < set(pairs)
    assert few == read("pairs", pairs[::-1] * 2, pairs[:1]).sample(50)
    assert len(own.sample(10_000)) == 600
