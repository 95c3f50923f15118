"""Scripts from right to left, without spaces or with conjuncts come through everything:
the vocabulary, training, translation, pictures, and the exported graph."""

import itertools
import unicodedata
import warnings

import pytest

from zoo.analysis.fonts import find_fonts
from zoo.decoding import format_alignment
from zoo.models import BahdanauPreprocessor, BahdanauTranslator
from zoo.text import Tokenizer, train_tokenizer

# Subjects, places and verbs, of equal meanings, and how a language joins them.
LANGUAGES = {
    "ar": (
        ("الكلب الأسود", "القطة الصغيرة"),
        ("في الحديقة", "أمام البيت"),
        ("يركض", "ينام"),
        lambda subject, place, verb: f"{verb} {subject} {place}.",
    ),
    "ja": (
        ("黒い犬", "小さな猫"),
        ("公園で", "家の前で"),
        ("走る", "眠る"),
        lambda subject, place, verb: f"{subject}が{place}{verb}。",
    ),
    "zh": (
        ("黑狗", "小猫"),
        ("在公园里", "在房子前"),
        ("跑", "睡觉"),
        lambda subject, place, verb: f"{subject}{place}{verb}。",
    ),
    "hi": (
        ("काला कुत्ता", "छोटी बिल्ली"),
        ("उद्यान में", "घर के सामने"),
        ("दौड़ता है", "सोता है"),
        lambda subject, place, verb: f"{subject} {place} {verb}।",
    ),
}
TEXTS = {
    language: [join(*parts) for parts in itertools.product(*words)]
    for language, (*words, join) in LANGUAGES.items()
}
# Each script is a source and a target.
DIRECTIONS = (("ar", "ja"), ("ja", "hi"), ("hi", "zh"), ("zh", "ar"))
SOURCES = [text for source, _ in DIRECTIONS for text in TEXTS[source]]
TARGETS = [text for _, target in DIRECTIONS for text in TEXTS[target]]
# In pieces, of which a Chinese text has a third as many as an Arabic one: the default
# limit, 10 more than twice the source, would cut translations.
LONGEST = 40
FIRSTS = range(0, len(SOURCES), len(TEXTS["ar"]))  # a text of each


@pytest.fixture(scope="module")
def tokenizer():
    everything = [text for texts in TEXTS.values() for text in texts]
    return Tokenizer(proto=train_tokenizer(everything, vocabulary_size=95))


def make(tokenizer, width, **options):
    """An untrained translator; its layers have `width` units by default."""
    sizes = ("hidden_dim", "embedding_dim", "attention_dim", "maxout_dim")
    options = {**dict.fromkeys(sizes, width), **options}
    backbone = BahdanauTranslator.backbone_cls(tokenizer.vocabulary_size(), **options)
    lengths = {"source_length": LONGEST, "target_length": LONGEST}
    return BahdanauTranslator(backbone, BahdanauPreprocessor(tokenizer, **lengths))


@pytest.fixture(scope="module")
def records(tokenizer):
    """The translations that are right, and where any model looks meanwhile."""
    return make(tokenizer, 8).align(SOURCES, TARGETS)


@pytest.mark.once
@pytest.mark.parametrize("language", LANGUAGES)
def test_text_comes_back_from_its_pieces(tokenizer, language):
    ids = tokenizer.tokenize(TEXTS[language])
    assert tokenizer.detokenize(ids) == TEXTS[language]
    assert not any(tokenizer.unk_token_id in row for row in ids)


@pytest.mark.once
@pytest.mark.parametrize("words", [True, False])
def test_pictures_lose_no_character(records, words):
    """A font of this machine may lack one: then a warning says so, and its place shows
    U+FFFD."""
    pytest.importorskip("matplotlib")  # an extra
    for first in FIRSTS:
        record = records[first]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            [axes] = record.plot(words=words).axes
        expected = record.merge_words() if words else record
        for axis, tokens in (
            (axes.xaxis, expected.source_tokens),
            (axes.yaxis, expected.tokens),
        ):
            drawn = "".join(label.get_text() for label in axis.get_ticklabels())
            drawn = drawn.replace("-", "").replace("␣", "")
            written = "".join(tokens).replace("▁", "")
            assert len(drawn) == len(written)
            for shown, character in zip(drawn, written, strict=True):
                if shown != character:
                    assert shown == "\ufffd"
                    assert caught and find_fonts({character})[1]


@pytest.mark.once
def test_a_grid_of_text_has_straight_columns(records):
    """A first mark keeps cells in their order in lines from right to left."""
    from rich.cells import cell_len

    for first, (source, target) in zip(FIRSTS, DIRECTIONS, strict=True):
        record = records[first]
        lines = format_alignment(record).splitlines()
        heads, rows = lines[: len(record.source_tokens)], lines[len(heads_of(lines)) :]
        assert len(heads) == len(record.source_tokens)
        corners = {cell_len(line.split("┌")[0]) - 2 * i for i, line in enumerate(heads)}
        assert len(corners) == 1
        for line in lines:
            arabic = any(unicodedata.bidirectional(c) == "AL" for c in line)
            assert line.startswith("\u200e") == arabic
        assert len(rows) == len(record.tokens), (source, target)


def heads_of(lines):
    return [line for line in lines if "┌" in line]
