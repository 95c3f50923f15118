"""A tagger's text to words and ids, and ids to tags, without Keras."""

import json
import string
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import regex

from zoo.ids import UNKNOWN_ID
from zoo.strings import composed, describe

FIRST_ID = UNKNOWN_ID + 1  # the ids below are padding and unknown
TAGGER_FILE = "tagger.json"
Vocabulary = Sequence[str]
Words = Sequence[Sequence[str]]

# White space of `str.split`, in a notation that TensorFlow's RE2 reads too (graph.py).
SPACE = "\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_LETTER = r"[\p{L}\p{N}_]"  # a word begins with one
_MARK = "[\\p{M}\u200c\u200d]"  # accents, vowel signs and joiners, inside a word
_INNER = "[\\p{L}\\p{N}_\\p{M}\u200c\u200d]"
_NEGATION = rf"[nN]['’][tT](?!{_INNER})"
_REPEATED = "|".join(f"{regex.escape(x)}+" for x in string.punctuation if x not in "'_")
_WORD = regex.compile(
    rf"(?:(?i:https?)://|(?i:www)\.)[^{SPACE}]*{_LETTER}{_MARK}*"  # addresses
    rf"|(?:{_INNER}|[.+\-])+@(?:{_INNER}|-)+(?:\.(?:{_INNER}|-)+)+"
    r"|(?:[\p{L}\p{Nl}\p{No}]\.){2,}"  # U.S.
    rf"|\p{{Nd}}+(?:[.,:]\p{{Nd}}+)+(?!{_INNER})"  # 3.50, 10:30
    rf"|{_NEGATION}"  # do n't
    rf"|['’](?i:s|m|d|re|ve|ll)(?!{_INNER})"  # it 's
    rf"|{_LETTER}(?:(?!{_NEGATION}){_INNER})*"
    rf"|'+|’+|(?:{_REPEATED}|[^{SPACE}'’]){_MARK}*"
)


def split_words(text: str) -> list[str]:
    """Splits a text into words, approximately like the English treebanks.

    Words are runs of letters and digits, with the marks on them. Separate words are:
    "n't", "'s", "'m", "'d", "'re", "'ve" and "'ll"; signs ("..." is one). Numbers like
    3.50 and 10:30, abbreviations like U.S., and addresses stay whole.

    Returns:
        The words; joined, they are the NFC-normalized text without white space.

    Example:
        >>> split_words("I don't know, it's 3.50...")
        ['I', 'do', "n't", 'know', ',', 'it', "'s", '3.50', '...']
    """
    return _WORD.findall(composed(text))


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
        self._word_ids, self._character_ids = (
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
                words[b, t] = self._word_ids.get(word.lower(), UNKNOWN_ID)
                ids = [self._character_ids.get(c, UNKNOWN_ID) for c in self._cut(word)]
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
