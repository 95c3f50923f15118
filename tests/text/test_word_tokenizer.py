import pytest

from tests.harness import same_config
from zoo.text import WordTokenizer, count_words

pytestmark = pytest.mark.once

WORDS = ["a", "dog", "café"]


def test_words_are_counted_most_frequent_first():
    texts = ["b a <unk> b", "c a\tb </s>", ""]
    assert count_words(texts) == ["b", "a", "c"]
    assert count_words(texts, vocabulary_size=6) == ["b", "a"]
    assert count_words(texts, least=2) == ["b", "a"]
    with pytest.raises(ValueError, match="above 4. Received: 4"):
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
