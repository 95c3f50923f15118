import json
import unicodedata

import numpy as np
import pytest

from tests.harness import same_config, to_numpy
from zoo.text import (
    TaggerPreprocessor,
    WordPreprocessor,
    WordTokenizer,
    count_words,
    split_words,
)
from zoo.text.vocabulary import lay_out

pytestmark = pytest.mark.once

TOKENIZER = WordTokenizer(["a", "dog", "runs"])


def test_training_arrays():
    preprocessor = WordPreprocessor(TOKENIZER, sequence_length=5)
    x, y, weights = preprocessor(["a dog runs", "", "a"])
    assert x["token_ids"].tolist() == [
        [3, 4, 5, 6, 0],
        [3, 0, 0, 0, 0],
        [3, 4, 0, 0, 0],
    ]
    assert y.tolist() == [[4, 5, 6, 3, 0], [3, 0, 0, 0, 0], [4, 3, 0, 0, 0]]
    assert weights.sum(1).tolist() == [4, 1, 2]
    x, y, _ = preprocessor("a dog")
    assert y.tolist() == [4, 5, 3, 0, 0]


def test_long_texts_are_cut_with_a_warning():
    preprocessor = WordPreprocessor(TOKENIZER, sequence_length=3)
    with pytest.warns(UserWarning, match="1 of 2 texts have more than 2 words"):
        x, y, _ = preprocessor(["a dog runs", "a"])
    assert y[0].tolist() == [4, 5, 3]


def test_prompts():
    preprocessor = WordPreprocessor(TOKENIZER, sequence_length=5)
    found = to_numpy(preprocessor.generate_preprocess(["a dog", ""], sequence_length=4))
    assert found["token_ids"].tolist() == [[3, 4, 5, 0], [3, 0, 0, 0]]
    assert found["padding_mask"].tolist() == [[1, 1, 1, 0], [1, 0, 0, 0]]
    with pytest.warns(UserWarning, match="1 of 2 texts have more than 2 words"):
        found = preprocessor.generate_preprocess(["a dog runs", ""], sequence_length=3)
    assert to_numpy(found["token_ids"]).tolist() == [[3, 4, 5], [3, 0, 0]]
    ids = np.array([[3, 4, 5, 3, 6], [3, 1, 0, 2, 6]])
    mask = np.array([[1, 1, 1, 1, 0], [1, 1, 1, 1, 1]], bool)
    outputs = {"token_ids": ids, "padding_mask": mask}
    assert preprocessor.generate_postprocess(outputs) == ["a dog", "<unk> runs"]
    every = {"token_ids": ids, "padding_mask": np.ones_like(mask)}
    assert preprocessor.generate_postprocess(every)[0] == "a dog runs"


@pytest.mark.parametrize(
    ("streams", "length"), [(1, 3), (2, 4), (3, 2), (5, 5), (20, 1)]
)
def test_streams_hold_the_whole_text_in_order(streams, length):
    rows = [[4, 5, 6], [], [7, 8], [4, 4, 4, 4]]
    text = [i for row in rows for i in [*row, 3]]
    inputs, labels = lay_out(rows, streams, length)
    assert inputs.shape == labels.shape == (streams, inputs.shape[1])
    assert inputs.shape[1] % length == 0
    assert [i for i in labels.ravel().tolist() if i] == text
    assert [i for i in inputs.ravel().tolist() if i] == [3, *text[:-1]]
    assert ((inputs == 0) == (labels == 0)).all()
    with pytest.raises(ValueError, match="no rows"):
        lay_out([], streams, length)


# === The tokenizer ===
WORDS = ["a", "dog", "café"]


def test_words_are_counted_most_frequent_first():
    texts = ["b a <unk> b", "c a\tb </s>", ""]
    assert count_words(texts) == ["b", "a", "c"]
    assert count_words(texts, vocabulary_size=6) == ["b", "a"]
    assert count_words(texts, least=2) == ["b", "a"]
    with pytest.raises(ValueError, match="from 5. Received: vocabulary_size=4"):
        count_words(texts, vocabulary_size=4)
    with pytest.raises(TypeError, match="must be a str or a list"):
        count_words(3)


def test_there_and_back():
    tokenizer = WordTokenizer(WORDS)
    texts = ["a  dog", "café <unk> bird", "", "<s> a </s>"]
    ids = [[4, 5], [6, 1, 1], [], [1, 4, 1]]
    assert tokenizer(texts) == ids
    assert tokenizer(texts[0]) == ids[0]
    assert tokenizer.detokenize(ids[:2]) == ["a dog", "café <unk> <unk>"]
    assert tokenizer.detokenize(ids[0]) == "a dog"
    assert tokenizer.detokenize([5]) == "dog"
    assert tokenizer.detokenize([[5]]) == ["dog"]
    assert tokenizer.vocabulary_size() == 7
    tokenizer.get_vocabulary().clear()  # a copy
    assert tokenizer.get_vocabulary()[:4] == ["<pad>", "<unk>", "<s>", "</s>"]
    assert tokenizer.id_to_token(6) == "café"
    assert tokenizer.token_to_id("</s>") == 3


def test_lower_case_by_argument():
    tokenizer = WordTokenizer([*WORDS, "N"], lowercase=True)
    assert tokenizer("A Dog N <UNK>") == [4, 5, 7, 1]
    assert WordTokenizer(WORDS)("A Dog") == [1, 1]
    assert same_config(tokenizer).lowercase


def test_the_vocabulary_is_a_file(tmp_path):
    tokenizer = WordTokenizer(WORDS)
    tokenizer.save_assets(tmp_path)
    copy = WordTokenizer()
    assert copy.empty
    with pytest.raises(ValueError, match="no vocabulary"):
        copy("a")
    copy.load_assets(tmp_path)
    assert copy.get_vocabulary() == tokenizer.get_vocabulary()
    (tmp_path / "vocabulary.txt").write_text("a\ndog\n")
    with pytest.raises(ValueError, match="must begin with the lines <pad>"):
        copy.load_assets(tmp_path)


# === The tagger's ===

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
    assert x["character_ids"][0].tolist() == [[1, 1, 1, 0], [6, 9, 7, 0], [1, 1, 1, 1]]
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
