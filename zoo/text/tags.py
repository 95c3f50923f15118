"""Preprocessing for taggers: sentences of words to ids, and ids to tags."""

import collections
import json
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import keras
import keras_hub
import numpy as np
import regex

from zoo.checks import integer
from zoo.strings import describe
from zoo.text import graph
from zoo.text.tokenizer import UNKNOWN_ID, read_texts

FIRST_ID = UNKNOWN_ID + 1  # the ids below are padding and unknown
_FOLDER, _FILE = "assets", "tagger.json"
Vocabulary = Sequence[str]
Words = Sequence[Sequence[str]]

# Character sets in a notation that TensorFlow's RE2 reads too (graph_words.py).
SPACE = "\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
LETTERS = r"\p{L}\p{N}_"  # a word begins with one
MARKS = "\\p{M}\u200c\u200d"  # accents, vowel signs and joiners, inside a word
_SIGNS = f"^{LETTERS}{SPACE}'’"  # all but letters and apostrophes
_ON_SIGNS = "\\p{M}\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f"  # skin tones, tags


def sign_pattern(excluded: str = "") -> str:
    """Returns the pattern of a sign as a reader perceives it.

    A sign is one character with its marks, skin tone or tag, and characters joined to
    it; a flag is two characters.

    Args:
        excluded: further characters that are not signs.
    """
    one = f"[{_SIGNS}{excluded}][{_ON_SIGNS}]*"
    return f"(?:[\U0001f1e6-\U0001f1ff]{{2}}|{one}(?:\u200d{one})*)"


_WORDS = regex.compile(
    rf"""
      (?:https?://|www\.)[^{SPACE}]*[{LETTERS}][{MARKS}]*      # addresses
    | [{LETTERS}{MARKS}.+-]+@[{LETTERS}{MARKS}-]+(?:\.[{LETTERS}{MARKS}-]+)+
    | (?:[\p{{L}}\p{{Nl}}\p{{No}}]\.){{2,}}                     # U.S.
    | \d+(?:[.,:]\d+)+(?![{LETTERS}{MARKS}])                   # 3.50, 10:30
    | [{LETTERS}][{LETTERS}{MARKS}]*?(?=n['’]t(?![{LETTERS}{MARKS}]))
    | n['’]t(?![{LETTERS}{MARKS}])                             # do n't
    | ['’](?:s|m|d|re|ve|ll)(?![{LETTERS}{MARKS}])             # it 's
    | [{LETTERS}][{LETTERS}{MARKS}]*
    | (['’])\1*
    # punctuation, repeated
    | ({sign_pattern()})(?:\2(?![{_ON_SIGNS}]|\u200d[{_SIGNS}]))*
    """,
    regex.VERBOSE | regex.IGNORECASE,
)


def split_words(text: str) -> list[str]:
    """Splits a text into words, approximately like the English treebanks.

    Words are runs of letters and digits, with the marks on them. Separate words are:
    "n't", "'s", "'m", "'d", "'re", "'ve" and "'ll"; signs ("..." is one, as is an emoji
    of several characters). Numbers like 3.50 and 10:30, abbreviations like U.S., and
    addresses stay whole.

    Returns:
        The words; joined, they are the NFC-normalized text without white space.

    Example:
        >>> split_words("I don't know, it's 3.50...")
        ['I', 'do', "n't", 'know', ',', 'it', "'s", '3.50', '...']
    """
    return [match[0] for match in _WORDS.finditer(_composed(text))]


def _composed(text):
    """Returns text in normal form C: an accent is one character with its letter."""
    return unicodedata.normalize("NFC", text)


@keras.saving.register_keras_serializable(package="zoo")
class TaggerPreprocessor(keras_hub.models.Preprocessor):
    """Converts words to the ids that a tagger reads, and ids to tags.

    Called with sentences, it returns `{"word_ids", "character_ids"}`; with their tags,
    `(x, y, sample_weight)` for `fit`. Arrays are as wide as the longest sentence. A
    sentence is a str, which `split_words` splits, or a list of words; its tags are as
    many str. Inside a `tf.data` map, sentences are strings `(B,)` and tags are strings
    `(B, T)`, with empty ones at the end of short rows.

    A word has the id of its lower-case form, 1 if unknown, and the ids of its
    characters as they are; of a long word, those of its beginning and end. Padding is
    0. A preset keeps the vocabularies in `assets/tagger.json`.

    Args:
        words: lower-case words; their ids begin at 2.
        characters: characters; their ids begin at 2.
        tags: tags; their ids begin at 0. All three are None if a preset provides them
            later.
        word_length: maximum characters read of a word.
        **kwargs: arguments of `keras_hub.models.Preprocessor`.

    Raises:
        ValueError: for vocabularies that are not lists of distinct strings, or a
            length below 2.

    Example:
        >>> preprocessor = TaggerPreprocessor.of([["A", "dog"]], [["DET", "NOUN"]])
        >>> inputs = preprocessor([["a", "cat"]])
        >>> inputs["word_ids"].tolist(), inputs["character_ids"].shape
        ([[2, 1]], (1, 2, 16))
        >>> preprocessor.decode([0, 1])
        ['DET', 'NOUN']
    """

    def __init__(
        self,
        words: Vocabulary | None = None,
        characters: Vocabulary | None = None,
        tags: Vocabulary | None = None,
        word_length: int = 16,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.word_length = integer("word_length", word_length, 2)
        self._vocabularies: dict[str, list[str]] | None = None
        if (words, characters, tags) != (None, None, None):
            self.set_vocabularies(words, characters, tags)  # type: ignore[arg-type]
        self.built = True  # there are no weights

    @classmethod
    def of(
        cls, sentences: Words, tags: Words, least: int = 1, **options: Any
    ) -> "TaggerPreprocessor":
        """Creates a preprocessor with the vocabularies of tagged sentences.

        Args:
            sentences: the words of each sentence.
            tags: the tags of each sentence.
            least: minimum count of a word.
            **options: arguments of the class.
        """
        composed = [_composed(word) for row in sentences for word in row]
        words = collections.Counter(word.lower() for word in composed)
        characters = collections.Counter(c for word in composed for c in word)
        return cls(
            sorted(word for word, count in words.items() if count >= least),
            sorted(characters),
            sorted({tag for row in tags for tag in row}),
            **options,
        )

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
        self._vocabularies = {
            name: list(entries) for name, entries in vocabularies.items()
        }
        self._word_ids, self._character_ids = (
            {
                _composed(x): place
                for place, x in enumerate(vocabularies[name], start=FIRST_ID)
            }
            for name in ("words", "characters")
        )
        self._tag_ids = {tag: place for place, tag in enumerate(tags)}

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

    # === Sentences ===
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

    def call(self, x: Any, y: Any = None, sample_weight: None = None) -> Any:
        """Returns the ids of sentences `x`; with tags `y`, also labels and weights."""
        if sample_weight is not None:
            raise ValueError(
                "sample_weight is made from the tags and must be None. "
                f"Received: {str(sample_weight)[:60]}"
            )
        if graph.in_graph():
            return self._in_graph(x, y)
        return self._arrays(x, y)

    def _arrays(self, x, y=None):
        if not isinstance(x, (str, list, tuple)):
            x, _ = read_texts(x, "x")
        rows = self.split([x] if isinstance(x, str) else x)
        length = max([1, *map(len, rows)])
        inputs = self.arrays(rows, length)
        if y is None:
            return inputs
        if hasattr(y, "shape"):  # strings (B, T), as a tensor or an array
            flat, _ = read_texts(np.reshape(np.asarray(y), -1), "y")
            width = y.shape[-1]
            y = [flat[i : i + width] for i in range(0, len(flat), width)]
            y = [[tag for tag in row if tag] for row in y]
        if len(rows) != len(y):
            raise ValueError(
                "There must be one list of tags for each sentence. Received: "
                f"{len(rows)} sentences, {len(y)} lists of tags"
            )
        for place, (row, tags) in enumerate(zip(rows, y, strict=True)):
            if len(row) != len(tags):
                raise ValueError(
                    "A sentence must have a tag for each word. Received: sentence "
                    f"{place} of {len(row)} words, {len(tags)} tags"
                )
        return inputs, *self.labels(y, length)

    def _in_graph(self, x, y):
        import tensorflow as tf

        words, letters, weights = (
            tf.TensorSpec(shape, dtype)
            for shape, dtype in (
                ([None, None], "int32"),
                ([None, None, self.word_length], "int32"),
                ([None, None], "float32"),
            )
        )
        shapes = {"word_ids": words, "character_ids": letters}
        shapes = shapes if y is None else (shapes, words, weights)
        single = x.shape.rank == 0
        given = [None if v is None else v[None] if single else v for v in (x, y)]
        outputs = graph.by_python(self._arrays, given, shapes)
        if single:
            return tf.nest.map_structure(lambda batch: batch[0], outputs)
        return outputs

    def arrays(self, rows: Words, length: int) -> dict[str, np.ndarray]:
        """Returns int32 `word_ids` (B, length) and `character_ids` (B, length, C)."""
        self.get_vocabularies()
        words = np.zeros((len(rows), length), "int32")
        characters = np.zeros((len(rows), length, self.word_length), "int32")
        for b, row in enumerate(rows):
            for t, word in enumerate(map(_composed, row)):
                words[b, t] = self._word_ids.get(word.lower(), UNKNOWN_ID)
                ids = [self._character_ids.get(c, UNKNOWN_ID) for c in self._cut(word)]
                characters[b, t, : len(ids)] = ids
        return {"word_ids": words, "character_ids": characters}

    def _cut(self, word):
        if len(word) <= self.word_length:
            return word
        half = self.word_length // 2
        return word[: self.word_length - half] + word[-half:]

    def labels(self, tags: Words, length: int) -> tuple[np.ndarray, np.ndarray]:
        """Returns tag ids and weights `(B, length)`; weights are 1 where a tag is real.

        Raises:
            ValueError: for a tag that is not in the vocabulary.
        """
        ids = np.zeros((len(tags), length), "int32")
        weights = np.zeros((len(tags), length), "float32")
        for b, row in enumerate(tags):
            for t, tag in enumerate(row):
                if tag not in self._tag_ids:
                    raise ValueError(
                        f"A tag must be one of {', '.join(self._tag_ids)}. "
                        f"Received: {tag!r}"
                    )
                ids[b, t], weights[b, t] = self._tag_ids[tag], 1
        return ids, weights

    def decode(self, ids: Iterable[int]) -> list[str]:
        """Returns the tags of a row of ids."""
        tags = self.get_vocabularies()["tags"]
        return [tags[i] for i in ids]

    # === Presets ===
    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments, without the vocabularies."""
        return {**super().get_config(), "word_length": self.word_length}

    def save_to_preset(self, preset_dir: str) -> None:
        """Writes the configuration and the vocabularies into a preset's folder."""
        super().save_to_preset(preset_dir)
        folder = Path(preset_dir, _FOLDER)
        folder.mkdir(parents=True, exist_ok=True)
        self.save_assets(str(folder))

    def load_preset_assets(self, preset: str) -> None:
        """Reads the vocabularies from a preset's folder; see `load_assets`."""
        self.load_assets(str(Path(preset, _FOLDER)))

    def save_assets(self, dir_path: str) -> None:
        """Writes the vocabularies into a folder, as in a `.keras` file."""
        text = json.dumps(self.get_vocabularies(), ensure_ascii=False, indent=0)
        Path(dir_path, _FILE).write_text(text, encoding="utf-8")

    def load_assets(self, dir_path: str) -> None:
        """Reads the vocabularies from a folder.

        Raises:
            ValueError: if the file is not one that `save_assets` wrote.
        """
        path = Path(dir_path, _FILE)
        vocabularies = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(vocabularies, dict) or set(vocabularies) != {
            "words",
            "characters",
            "tags",
        }:
            raise ValueError(
                f"{path} must hold words, characters and tags. "
                f"Received: {str(vocabularies)[:60]}"
            )
        self.set_vocabularies(**vocabularies)
