"""Whole words: vocabularies, texts to ids and back, ids to tags, without Keras."""

import collections
import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from zoo.checks import integer
from zoo.ids import END_ID, PAD_ID, START_ID, UNKNOWN_ID
from zoo.strings import check_texts, composed, describe
from zoo.text.word_splitting import split_words

SPECIAL_WORDS = ("<pad>", "<unk>", "<s>", "</s>")  # ids 0 to 3
WORDS_FILE = "vocabulary.txt"
TAGGER_FILE = "tagger.json"
FIRST_ID = UNKNOWN_ID + 1  # of a tagger: the ids below are padding and unknown
Vocabulary = Sequence[str]
Words = Sequence[Sequence[str]]


def count_words(
    texts: Iterable[str], vocabulary_size: int | None = None, least: int = 1
) -> list[str]:
    """Returns a corpus's vocabulary for `WordTokenizer`, most frequent words first.

    Args:
        texts: words separated by white space.
        vocabulary_size: maximum number of ids, the four special ones included; None
            for all.
        least: minimum count of a word.

    Returns:
        The words without special ones; equally frequent ones in alphabetical order.

    Raises:
        TypeError: for texts that are not strings.
        ValueError: for a vocabulary size without room for a word.

    Example:
        >>> count_words(["a dog and a cat", "a dog"], vocabulary_size=6)
        ['a', 'dog']
    """
    room = len(SPECIAL_WORDS)
    if vocabulary_size is not None:
        integer("vocabulary_size", vocabulary_size, room + 1)
    counts = collections.Counter(w for text in check_texts(texts) for w in text.split())
    for word in SPECIAL_WORDS:
        counts.pop(word, None)
    words = sorted(counts, key=lambda word: (-counts[word], word))
    words = [word for word in words if counts[word] >= least]
    return words if vocabulary_size is None else words[: vocabulary_size - room]


class SpecialIds:
    """The special ids of a tokenizer, the same for all."""

    pad_token_id = PAD_ID
    unk_token_id = UNKNOWN_ID
    start_token_id = START_ID
    end_token_id = END_ID
    special_token_ids = (PAD_ID, UNKNOWN_ID, START_ID, END_ID)


class WordVocabulary(SpecialIds):
    """The methods of a `WordTokenizer` that need no tensors.

    Attributes:
        lowercase: whether a word that is not in the vocabulary is read in lower case.
    """

    lowercase: bool

    def set_vocabulary(self, vocabulary: Iterable[str] | None) -> None:
        """Sets the words after the special ones, or None."""
        self._words: list[str] | None = None
        self._ids: dict[str, int] = {}
        if vocabulary is None:
            return
        words = [*SPECIAL_WORDS, *check_texts(vocabulary, "vocabulary")]
        ids = {}
        for place, word in enumerate(words):
            if word in ids or word.split() != [word]:
                raise ValueError(
                    "The vocabulary must be of different words without white space, "
                    f"none of them special ({', '.join(SPECIAL_WORDS)}). Received: "
                    f"{word!r} at {place - len(SPECIAL_WORDS)}"
                )
            ids[word] = place
        self._words, self._ids = words, ids

    @property
    def empty(self) -> bool:
        """Whether the vocabulary is not set yet."""
        return self._words is None

    def _ready(self):
        if self._words is None:
            raise ValueError("The tokenizer has no vocabulary. Received: None")
        return self._words

    def get_vocabulary(self) -> list[str]:
        """Returns all words by id, the special ones included."""
        return list(self._ready())

    def vocabulary_size(self) -> int:
        """Returns the number of ids."""
        return len(self._ready())

    def id_to_token(self, id: int) -> str:
        """Returns the word of an id."""
        return self._ready()[id]

    def token_to_id(self, token: str) -> int:
        """Returns the id of a word, special ones included, or that of "<unk>"."""
        self._ready()
        return self._ids.get(token, UNKNOWN_ID)

    def tokenize(self, inputs: Any) -> Any:
        """Returns the ids of a str, or a list of those of each str of a list."""
        texts = check_texts(inputs, "inputs")
        rows = [[self._text_id(word) for word in text.split()] for text in texts]
        return rows[0] if isinstance(inputs, str) else rows

    def _text_id(self, word):
        token_id = self.token_to_id(word)
        if token_id == UNKNOWN_ID and self.lowercase:
            token_id = self.token_to_id(word.lower())
        return UNKNOWN_ID if token_id < len(SPECIAL_WORDS) else token_id

    def detokenize(self, inputs: Any) -> Any:
        """Returns the text of a row of ids, or of each of several rows."""
        words = self._ready()
        single = not len(inputs) or not hasattr(inputs[0], "__len__")
        rows = [inputs] if single else inputs
        texts = [" ".join(words[int(i)] for i in row) for row in rows]
        return texts[0] if single else texts

    def read_vocabulary(self, content: bytes, name: Any = WORDS_FILE) -> None:
        """Sets the vocabulary of a file's content; `name` is what an error calls it.

        Raises:
            ValueError: if the content does not begin with the special words.
        """
        room = len(SPECIAL_WORDS)
        words = content.decode("utf-8").removesuffix("\n").split("\n")
        if tuple(words[:room]) != SPECIAL_WORDS:
            raise ValueError(
                f"{name} must begin with the lines {', '.join(SPECIAL_WORDS)}. "
                f"Received: {words[:room]}"
            )
        self.set_vocabulary(words[room:])


class WordText:
    """The methods of a preprocessor over words that need no tensors.

    Attributes:
        tokenizer: an object with the methods of a `WordVocabulary`.
    """

    tokenizer: Any

    def encode(self, texts: Any) -> list[list[int]]:
        """Returns the word ids of each text, uncut.

        Raises:
            TypeError: for a text that is not a str; the message gives its position.
        """
        return self.tokenizer.tokenize(check_texts(texts))


def lay_out(
    rows: Sequence[Sequence[int]], streams: int, length: int
) -> tuple[np.ndarray, np.ndarray]:
    """Lays out one text, sentence after sentence, as streams that are read in parallel.

    An end token is appended to each row; the streams' length is a multiple of `length`.

    Returns:
        `(inputs, labels)`, int32 `(streams, n)`: the words to read and those that
        follow them, padded with 0.

    Raises:
        ValueError: without rows.
    """
    text = [word for row in rows for word in [*row, END_ID]]
    if not text:
        raise ValueError("There must be a sentence. Received: no rows")
    columns = -(-len(text) // streams)

    def shaped(ids):
        ids = np.array(ids, "int32")
        ids = np.pad(ids, (0, streams * columns - len(ids)), constant_values=PAD_ID)
        return np.pad(ids.reshape(streams, columns), ((0, 0), (0, -columns % length)))

    return shaped([END_ID, *text[:-1]]), shaped(text)


# === Taggers ===


class TaggingText:
    """The methods of a `TaggerPreprocessor` that need no tensors.

    Attributes:
        word_length: maximum characters read of a word.
    """

    word_length: int
    _vocabularies: dict[str, list[str]] | None = None

    def set_vocabularies(
        self, words: Vocabulary, characters: Vocabulary, tags: Vocabulary
    ) -> None:
        """Sets the three vocabularies; see the class."""
        vocabularies = {"words": words, "characters": characters, "tags": tags}
        for name, entries in vocabularies.items():
            strings = isinstance(entries, (list, tuple)) and all(
                isinstance(entry, str) and entry for entry in entries
            )
            if not strings or not entries or len(set(entries)) != len(entries):
                raise ValueError(
                    f"The {name} must be a list of different strings, none of them "
                    f"empty. Received: {str(entries)[:60]}"
                )
        self._vocabularies = {name: list(x) for name, x in vocabularies.items()}
        self.word_ids, self.character_ids = (
            {composed(entry): i for i, entry in enumerate(entries, FIRST_ID)}
            for entries in (words, characters)
        )
        self._tag_ids = {tag: i for i, tag in enumerate(tags)}

    @property
    def empty(self) -> bool:
        """Whether the vocabularies are not set yet."""
        return self._vocabularies is None

    def get_vocabularies(self) -> dict[str, list[str]]:
        """Returns the words, characters and tags.

        Raises:
            ValueError: if they are not set yet.
        """
        if self._vocabularies is None:
            raise ValueError("The preprocessor has no vocabularies. Received: None")
        return self._vocabularies

    def sizes(self) -> dict[str, int]:
        """Returns the arguments of a `BiRNNWords` that the vocabularies determine."""
        vocabularies = self.get_vocabularies()
        return {
            "vocabulary_size": len(vocabularies["words"]) + FIRST_ID,
            "character_size": len(vocabularies["characters"]) + FIRST_ID,
            "output_dim": len(vocabularies["tags"]),
        }

    def split(self, sentences: Sequence[str | Sequence[str]]) -> list[list[str]]:
        """Splits sentences into words.

        Args:
            sentences: each a str, which `split_words` splits, or a list of words.

        Raises:
            TypeError: for anything else; the message gives its position.
        """
        if not isinstance(sentences, (list, tuple)):
            raise TypeError(
                "sentences must be a str or a list of sentences. "
                f"Received: {describe(sentences)}"
            )
        rows = []
        for place, sentence in enumerate(sentences):
            row = split_words(sentence) if isinstance(sentence, str) else sentence
            words = isinstance(row, (list, tuple))
            if not words or not all(isinstance(w, str) and w for w in row):
                raise TypeError(
                    f"sentences[{place}] must be a str or a list of words. "
                    f"Received: {describe(sentence)}"
                )
            rows.append(list(row))
        return rows

    def arrays(self, rows: Words, length: int) -> dict[str, np.ndarray]:
        """Returns int32 `word_ids` (B, length) and `character_ids` (B, length, C)."""
        self.get_vocabularies()
        words = np.zeros((len(rows), length), "int32")
        characters = np.zeros((len(rows), length, self.word_length), "int32")
        for b, row in enumerate(rows):
            for t, word in enumerate(map(composed, row)):
                words[b, t] = self.word_ids.get(word.lower(), UNKNOWN_ID)
                ids = [self.character_ids.get(c, UNKNOWN_ID) for c in self._cut(word)]
                characters[b, t, : len(ids)] = ids
        return {"word_ids": words, "character_ids": characters}

    def _cut(self, word):
        if len(word) <= self.word_length:
            return word
        half = self.word_length // 2
        return word[: self.word_length - half] + word[-half:]

    def decode(self, ids: Iterable[int]) -> list[str]:
        """Returns the tags of a row of ids."""
        tags = self.get_vocabularies()["tags"]
        return [tags[i] for i in ids]

    def read_vocabularies(self, content: bytes, name: Any = TAGGER_FILE) -> None:
        """Sets the vocabularies of a file's content; `name` is what an error calls it.

        Raises:
            ValueError: if it is not one that `TaggerPreprocessor.save_assets` wrote.
        """
        vocabularies = json.loads(content)
        names = {"words", "characters", "tags"}
        if not isinstance(vocabularies, dict) or set(vocabularies) != names:
            raise ValueError(
                f"{name} must hold words, characters and tags. "
                f"Received: {str(vocabularies)[:60]}"
            )
        self.set_vocabularies(**vocabularies)
