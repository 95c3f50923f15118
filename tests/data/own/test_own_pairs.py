import gzip
import itertools
import random

import pytest

from zoo.data import CorpusError, Pairs
from zoo.data.own import TextFiles, read_pairs, read_test
from zoo.data.own.own_pairs import EMPTY, LONG, UNLIKE

pytestmark = pytest.mark.backend_free


def sentences(count, seed=0):
    """Unique pairs, each side of its own words."""
    rng = random.Random(seed)
    pairs = []
    for number in range(count):
        words = rng.randint(2, 9)
        source = " ".join([f"s{number}"] + ["word"] * words)
        pairs.append((source, " ".join([f"t{number}"] + ["wort"] * words)))
    return pairs


def write(folder, pairs, name="my", suffixes=("en", "de")):
    paths = tuple(folder / f"{name}.{suffix}" for suffix in suffixes)
    for path, side in zip(paths, zip(*pairs, strict=True), strict=True):
        path.write_text("".join(f"{text}\n" for text in side), encoding="utf-8")
    return paths


# === What is held out ===


def test_a_twentieth_is_held_out_without_a_validation_set(tmp_path):
    pairs = sentences(203)
    own = read_pairs(write(tmp_path, pairs))
    train = list(own.train)
    assert train == list(own.train)  # read anew
    assert len(own.valid) == 10 and own.pairs == len(train) == 193
    assert sorted([*train, *own.valid]) == sorted(pairs)
    assert train == [pair for pair in pairs if pair in set(train)]  # in their order
    assert own.test is None and own.languages == ("en", "de")
    assert "held out 10 pairs" in "\n".join(own.report)
    assert isinstance(own.valid, Pairs) and own.valid.references[0] == [
        own.valid.targets[0]
    ]


def test_content_and_seed_choose_not_the_order_nor_the_container(tmp_path):
    pairs = sentences(300)
    held = set(read_pairs(pairs).valid)
    shuffled = random.Random(1).sample(pairs, len(pairs))
    assert set(read_pairs(write(tmp_path, shuffled)).valid) == held
    assert set(read_pairs(pairs, seed=2).valid) != held
    longer = set(read_pairs(pairs + sentences(330)[300:]).valid)
    assert len(held & longer) >= 12  # most stay where some are added


def test_what_shares_a_side_with_the_held_out_pairs_is_not_trained_on():
    pairs = sentences(100)
    held = list(read_pairs(pairs).valid)
    same = [(held[0][0], "another target"), ("another source", held[1][1])] * 2
    own = read_pairs(pairs + same + held[:1] * 3)
    train = list(own.train)
    assert set(own.valid) >= set(held[:1])
    sources, targets = own.valid.sources, own.valid.targets
    assert not [p for p in train if p[0] in sources or p[1] in targets]
    assert len(train) == own.pairs
    assert "with a source or target of a held-out pair" in own.report[-1]
    assert len(set(own.valid)) == len(own.valid)


def test_of_given_sets_nothing_is_held_out():
    pairs = sentences(50)
    own = read_pairs(pairs, pairs[:3], pairs[3:5])
    assert list(own.train) == pairs and own.pairs == 50
    assert list(own.valid) == pairs[:3] and list(own.test) == pairs[3:5]
    assert (
        "3 training pairs have a source or target of the validation set" in own.report
    )
    assert "2 training pairs have a source or target of the test set" in own.report


# === What is read ===


def test_several_files_with_weights(tmp_path):
    first, second = sentences(50), sentences(80)[50:]
    files = [
        TextFiles.parse(write(tmp_path, first, "one")),
        TextFiles.parse([*write(tmp_path, second, "two")[:1], f"{tmp_path}/two.de:3"]),
    ]
    own = read_pairs(files, first[:1])
    assert [list(part) for part in own.parts] == [first, second]
    assert [part.weight for part in own.parts] == [1, 3] and own.pairs == 80
    assert "two.de, 3 times an epoch" in own.report[1]


def test_a_folder_has_the_splits(tmp_path):
    pairs = sentences(60)
    write(tmp_path, pairs[:50], "train")
    write(tmp_path, pairs[50:55], "dev")
    write(tmp_path, pairs[55:], "test")
    own = read_pairs(tmp_path, languages=("de", "en"))
    assert list(own.train) == [(target, source) for source, target in pairs[:50]]
    assert len(own.valid) == 5 and own.test.sources == [t for _, t in pairs[55:]]
    assert own.languages == ("de", "en")
    own = read_pairs(tmp_path, pairs[:2], languages=("de", "en"))
    assert list(own.valid) == pairs[:2] and len(own.test) == 5


def test_a_weight_is_for_training_pairs_alone(tmp_path):
    pairs = sentences(50)
    files = TextFiles(write(tmp_path, pairs[:5], "test"), 2)
    message = "only training text has a weight.*de:2"
    for sets in ((files, None), (None, [files])):
        with pytest.raises(CorpusError, match=message):
            read_pairs(pairs, *sets)
    with pytest.raises(CorpusError, match=f"{message} for test"):
        read_test(files)
    write(tmp_path, pairs, "train")  # a folder's weight is that of its training pairs
    own = read_pairs(TextFiles((tmp_path,), 2), languages=("en", "de"))
    assert own.parts[0].weight == 2 and len(own.test) == 5


def test_a_first_line_that_may_be_a_pair_is_reported(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("dog\tHund\ncat\tKatze\nfox\tFuchs\n")
    own = read_pairs(path, path)
    note = f"columns dog and Hund of {path}, its first line taken as their names"
    assert own.report.count(note) == 2 and own.languages == ("und", "und")
    assert note not in read_pairs(path, columns=("dog", "Hund")).report


def test_columns_are_those_of_a_table(tmp_path):
    paths = write(tmp_path, sentences(9))
    for read, data in itertools.product((read_pairs, read_test), (paths, [("a", "b")])):
        with pytest.raises(CorpusError, match="those of a table, received 1, 2 for"):
            read(data, columns=(1, 2))
    (tmp_path / "a.tsv").write_text("x\tz\ty\na\tb\tc\n")
    own = read_pairs(paths, tmp_path / "a.tsv", columns=("x", "y"))
    assert list(own.valid) == [("a", "c")]


def test_what_is_left_out_is_counted_with_its_first_place(tmp_path):
    pairs = sentences(40)
    pairs[3] = pairs[8] = ("", "leer")
    pairs[5] = ("a" * 2001, "b" * 1500)
    pairs[9] = ("kurz", "long " * 60)
    paths = write(tmp_path, pairs)
    own = read_pairs(paths, pairs[:2])
    assert own.pairs == 36
    assert own.report[0] == f"read 40 pairs from {paths[0]} and {paths[1]}"
    assert own.report[1].startswith("left out 2 with an empty side (the first: line 4 ")
    assert own.report[2].startswith("left out 1 of more than 2,000 characters")
    assert "line 6 of" in own.report[2] and "line 10 of" in own.report[3]
    assert read_pairs(paths, pairs[:2], keep_all=True).pairs == 38


def test_of_a_test_set_only_empty_pairs_are_left_out(tmp_path):
    pairs = [("a" * 5000, "b"), ("", "x"), ("c", "d")]
    own = read_pairs(sentences(9), pairs, pairs)
    assert list(own.test) == [pairs[0], pairs[2]] == list(own.valid)
    assert "left out 1 with an empty side (the first: pair 1 of the data)" in own.report


@pytest.mark.parametrize(
    ("source", "target", "reason"),
    [
        ("a", "b", None),
        (" \t", "b", EMPTY),
        ("a", "", EMPTY),
        ("a" * 2000, "b" * 2000, None),
        ("a" * 2001, "b" * 2000, LONG),
        ("a" * 2000, "b" * 2001, LONG),
        ("a" * 2001, "b", LONG),
        ("a", "b" * 39, None),
        ("a", "b" * 40, UNLIKE),
        ("a" * 120, "b" * 10, None),
        ("a" * 121, "b" * 10, UNLIKE),
        ("a" * 39, " b ", None),
    ],
)
def test_each_rule_of_what_is_left_out(source, target, reason):
    given = [("c", "d")], [("v", "w")]
    own = read_pairs([(source, target)] * 2 + given[0], given[1])
    kept = [(source.strip(), target.strip())] * 2
    assert list(own.train) == (given[0] if reason else kept + given[0])
    left = f"left out 2 {reason} (the first: pair 0 of the data)"
    assert (left in own.report) == bool(reason)
    own = read_pairs([(source, target)] * 2 + given[0], given[1], keep_all=True)
    assert own.pairs == (1 if reason == EMPTY else 3)


@pytest.mark.parametrize(
    ("train", "options", "message"),
    [
        ([("a", ""), ("b", " ")], {}, "no pair is left.*2 pairs.*2 with an empty"),
        (sentences(3), {"valid": [("", "")]}, "there are no pairs left in the data"),
        ([(s, "same") for s, _ in sentences(30)], {}, "beside the 2 held out"),
        (sentences(3), {"languages": ["en"]}, "two codes, received"),
    ],
    ids=str,
)
def test_pairs_that_cannot_be_used(train, options, message):
    with pytest.raises(CorpusError, match=message):
        read_pairs(train, **options)


@pytest.mark.parametrize("name", ["valid", "test"])
def test_all_files_are_looked_at_before_any_is_read(tmp_path, name):
    (tmp_path / "a.en").write_bytes(b"\xff")  # reading it would fail
    (tmp_path / "a.de").write_bytes(b"x")
    with pytest.raises(CorpusError, match="gone.en does not exist"):
        read_pairs(
            (tmp_path / "a.en", tmp_path / "a.de"),
            **{name: (tmp_path / "gone.en", tmp_path / "gone.de")},
        )


# === Counts and identity ===


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ไทยไทย", 3),
        ("ລາວລາວ", 3),
        ("မြန်မာ", 3),
        ("ខ្មែរ", 2),
        ("ひらがな", 2),
        ("ｶﾀｶﾅ", 2),
        ("漢字", 1),
        ("\U00020000\U00020001", 1),
        ("한국어 말", 2),
        ("кот и пёс", 3),
        ("one two", 2),
    ],
)
def test_words_are_counted_by_spaces_or_by_characters(text, words):
    assert read_pairs([(text, "a")], [("x", "y")]).words == words + 1
    own = read_pairs([("one two", "eins zwei drei"), ("a", "b")], [("x", "y")])
    assert own.words == 2 + 3 + 1 + 1


def test_distinct_characters_are_found(tmp_path):
    pairs = [("ab a", "\xe4b"), ("ac", "\u72d7"), ("a" * 2001, "z")]
    own = read_pairs(write(tmp_path, pairs), [("x", "y")])
    assert own.characters == " abc\xe4\u72d7"


def test_the_digest_is_that_of_text_and_options(tmp_path):
    pairs = sentences(40)
    paths = write(tmp_path, pairs)
    digest = read_pairs(paths).digest
    assert digest == read_pairs(pairs).digest
    packed = [tmp_path / f"{path.name}.gz" for path in paths]
    for path, source in zip(packed, paths, strict=True):
        path.write_bytes(gzip.compress(source.read_bytes()))
    assert digest == read_pairs(tuple(packed)).digest
    others = [
        read_pairs(paths, seed=2).digest,
        read_pairs(paths, keep_all=True).digest,
        read_pairs(paths, pairs[:1]).digest,
        read_pairs(pairs[::-1]).digest,
        read_pairs(TextFiles(paths, 2)).digest,
        read_pairs([("s", "t"), *pairs[1:]]).digest,
    ]
    assert len({digest, *others}) == 7


def test_the_identity_covers_the_validation_pairs_but_not_the_test():
    pairs = sentences(40)
    own, same, other = (
        read_pairs(pairs, pairs[:count], test)
        for count, test in ((3, None), (3, pairs[3:5]), (4, None))
    )
    assert own.digest == same.digest == other.digest
    assert own.identity == same.identity != other.identity
    turned = read_pairs(pairs, [pairs[1], pairs[0], pairs[2]])
    assert len({own.identity, own.digest, turned.identity}) == 3
    assert own.identity != read_pairs(pairs[::-1], pairs[:3]).identity
    assert len(read_pairs(pairs, [("\ud800", "a")]).identity) == 64


def test_a_sample_is_the_same_for_the_same_text():
    pairs = sentences(300)
    own = read_pairs(pairs, pairs[:1])
    few = own.sample(50)
    assert len(few) == 50
    chosen = [(s, t) for s, t in zip(few[:25], few[25:], strict=True)]
    assert set(chosen) < set(pairs)
    assert few == read_pairs(pairs[::-1], pairs[:1]).sample(50)
    assert len(own.sample(10_000)) == 600
