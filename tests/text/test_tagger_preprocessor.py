import json
import unicodedata

import numpy as np
import pytest

from tests.harness import same_config
from zoo.text import TaggerPreprocessor, split_words

pytestmark = pytest.mark.once

SENTENCES = [["A", "dog", "runs"], ["a", "Cat", "."]]
TAGS = [["DET", "NOUN", "VERB"], ["DET", "NOUN", "PUNCT"]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A man sleeps.", "A man sleeps ."),
        ("I can't, don’t and won't.", "I ca n't , do n’t and wo n't ."),
        ("It's Mary's; we'll go", "It 's Mary 's ; we 'll go"),
        ('Really?!... "yes" (no)', 'Really ? ! ... " yes " ( no )'),
        ("The U.S. has 3.50 at 10:30, 3rd.", "The U.S. has 3.50 at 10:30 , 3rd ."),
        ("see http://a.b/c?d. me@x.org", "see http://a.b/c?d . me@x.org"),
        ("well-known naïve größe 東京", "well - known naïve größe 東京"),
        ("'tis rock 'n' roll", "' tis rock ' n ' roll"),
        (" \n\t ", ""),
        ("cafe\u0301, nai\u0308ve", "caf\u00e9 , na\u00efve"),
        ("n\u0303a\u0323\u0302n't हिन्दी", "\u00f1\u1ead n't हिन्दी"),
        ("👍👍! ((1\ufe0f\u20e3)) ❤\ufe0f.", "👍 👍 ! (( 1\ufe0f\u20e3 )) ❤\ufe0f ."),
    ],
)
def test_words_are_split_as_documented(text, words):
    found = split_words(text)
    assert found == words.split()
    assert "".join(found) == "".join(unicodedata.normalize("NFC", text).split())


def test_a_word_is_looked_up_as_it_looks():
    preprocessor = TaggerPreprocessor(["caf\u00e9"], ["c", "\u00e9"], ["X"])
    for word in ("caf\u00e9", "cafe\u0301"):
        inputs = preprocessor([[word]])
        assert inputs["word_ids"].tolist() == [[2]]
        assert inputs["character_ids"][0, 0, :5].tolist() == [2, 1, 1, 3, 0]
        made = TaggerPreprocessor.of([[word]], [["X"]])
        assert made.get_vocabularies()["words"] == ["caf\u00e9"]
    old = TaggerPreprocessor(["cafe\u0301"], ["e"], ["X"])
    assert old([["caf\u00e9"]])["word_ids"].tolist() == [[2]]


def test_words_letters_and_tags_become_ids():
    preprocessor = TaggerPreprocessor.of(SENTENCES, TAGS, word_length=4)
    assert preprocessor.sizes() == {
        "vocabulary_size": 5 + 2,  # . a cat dog runs
        "character_size": 12 + 2,  # . A C a d g n o r s t u
        "output_dim": 4,
    }
    x, y, weights = preprocessor([["The", "dog", "RUNS"], ["a"]], y=[TAGS[0], ["DET"]])
    assert x["word_ids"].tolist() == [[1, 5, 6], [3, 0, 0]]
    # Letters are as they stand: "T", "h", "e" and the capitals are not known.
    assert x["character_ids"][0].tolist() == [
        [1, 1, 1, 0],
        [6, 9, 7, 0],
        [1, 1, 1, 1],
    ]
    assert not x["character_ids"][1, 1:].any()
    assert [preprocessor.decode(row) for row in y.tolist()][0] == TAGS[0]
    assert weights.tolist() == [[1, 1, 1], [1, 0, 0]]
    # Of a long word the first and the last letters.
    long = preprocessor([["dogruns"], ["dons"]])["character_ids"]
    np.testing.assert_array_equal(long[0], long[1])
    rare = TaggerPreprocessor.of(SENTENCES, TAGS, least=2)
    assert rare.get_vocabularies()["words"] == ["a"]


def test_what_is_no_sentence_is_named():
    preprocessor = TaggerPreprocessor.of(SENTENCES, TAGS)
    assert preprocessor.split(["a dog", ["a dog"], []]) == [["a", "dog"], ["a dog"], []]
    with pytest.raises(TypeError, match=r"sentences\[1\] must be .*Received: 3"):
        preprocessor.split(["a", 3])
    with pytest.raises(TypeError, match=r"sentences\[0\] must be .*'', 'b'"):
        preprocessor.split([["", "b"]])
    with pytest.raises(TypeError, match="a list of sentences. Received: None"):
        preprocessor.split(None)
    with pytest.raises(ValueError, match="must be one of DET, .*Received: 'X'"):
        preprocessor([["a"]], y=[["X"]])


def test_a_preset_keeps_the_vocabularies(tmp_path):
    preprocessor = TaggerPreprocessor.of(SENTENCES, TAGS, word_length=5)
    preprocessor.save_to_preset(tmp_path)
    preprocessor.save_to_preset(tmp_path)  # over the first
    copy = same_config(preprocessor)
    assert copy.empty and copy.word_length == 5
    with pytest.raises(ValueError, match="has no vocabularies"):
        copy([["a"]])
    copy.load_preset_assets(tmp_path)
    assert copy.get_vocabularies() == preprocessor.get_vocabularies()
    path = tmp_path / "assets" / "tagger.json"
    for broken in ("{", '["a"]', json.dumps({"words": ["a"]})):
        path.write_text(broken)
        with pytest.raises(ValueError):
            same_config(preprocessor).load_preset_assets(tmp_path)
