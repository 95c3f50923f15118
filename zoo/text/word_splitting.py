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

# Character sets in a notation that TensorFlow's RE2 reads too; this is `str.split`'s
# white space.
SPACE = "\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
LETTER = r"\p{L}\p{N}_"  # a word begins with one
INNER = LETTER + "\\p{M}\u200c\u200d"  # and accents, vowel signs and joiners
_MARK = "[\\p{M}\u200c\u200d]*"
_REPEATED = "|".join(f"{regex.escape(x)}+" for x in string.punctuation if x not in "'_")


def word_pattern(end: str, negation: str = "", inside: str = "", own: str = "") -> str:
    """Returns the pattern of a word, also for RE2, which has no lookaround.

    Args:
        end: pattern of the end of a run of word characters.
        negation: that of the place before an "n't".
        inside: that of a place before a word's character which is in no "n't".
        own: characters that the patterns above have put into the text.
    """
    return (
        rf"(?:(?i:https?){end}://|(?i:www){end}\.)[^{SPACE}]*[{LETTER}]{_MARK}{end}"
        rf"|[{INNER}.+\-{own}]+@[{INNER}\-{own}]+(?:\.[{INNER}\-{own}]+)+"
        rf"|(?:[\p{{L}}\p{{Nl}}\p{{No}}]{end}\.){{2,}}"  # U.S.
        rf"|\p{{Nd}}+(?:{end}[.,:]\p{{Nd}}+)+{end}"  # 3.50, 10:30
        rf"|{negation}[nN]{end}['’][tT]{end}"  # do n't
        rf"|['’](?i:s|m|d|re|ve|ll){end}"  # it 's
        rf"|[{LETTER}](?:{inside}[{INNER}])*(?:{end}|)"
        rf"|'+|’+|(?:{_REPEATED}|[^{SPACE}'’{own}]){_MARK}"
    )


_END = f"(?![{INNER}])"
_WORD = regex.compile(word_pattern(_END, inside=f"(?![nN]['’][tT]{_END})"))


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
