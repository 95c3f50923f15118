"""Words of texts with TensorFlow operations only, equal to the Python versions.

The Python versions are `WordTokenizer` and `split_words`. TensorFlow is imported on
use; the rest of `zoo.text` works without it.
"""

from typing import Any

from zoo.backend import Tensor
from zoo.ids import END_ID, UNKNOWN_ID
from zoo.text.graph import before_end, pad_to_longest, valid_text
from zoo.text.tagger_preprocessor import TaggerPreprocessor
from zoo.text.vocabulary import SPECIAL_WORDS
from zoo.text.word_preprocessors import WordTokenizer
from zoo.text.word_splitting import FIRST_ID, SPACE, sign_pattern, splitting_rules

# Unicode noncharacters, which valid text does not contain.
_MARKS = "\ufdd0\ufdd1\ufdd2"


def white_space_words(text: Tensor) -> Any:
    """Splits tf.string `(B,)` like `str.split`: ragged tf.string `(B, None)`."""
    import tensorflow as tf

    text = tf.strings.regex_replace(valid_text(text), f"[{SPACE}]+", " ")
    return tf.strings.split(text)


def sentence_words(text: Tensor) -> Tensor:
    """Splits tf.string `(B,)` like `zoo.text.split_words`: ragged `(B, None)`.

    The noncharacters U+FDD0 to U+FDD2 become U+FFFD. Letters and digits are those of
    TensorFlow's Unicode version, which may differ from Python's.
    """
    import tensorflow as tf
    import tensorflow_text

    text = tensorflow_text.normalize_utf8(valid_text(text), "NFC")
    text = tf.strings.regex_replace(text, f"[{_MARKS}]", "\ufffd")
    for rule, by in splitting_rules(*_MARKS):
        text = tf.strings.regex_replace(text, rule, by)
    parts = tf.strings.split(text, _MARKS[-1])
    parts = tf.ragged.boolean_mask(parts, parts != "")  # after the last mark
    return _join_signs(parts)


def _join_signs(parts):
    """Drops the spaces of ragged words and joins adjacent equal signs."""
    import tensorflow as tf

    flat, rows = parts.flat_values, parts.value_rowids()
    # Compared without case, as the pattern does: Ⓐ is ⓐ.
    sign = tf.strings.regex_full_match(flat, sign_pattern())
    lower = tf.strings.lower(flat, encoding="utf-8")
    same = (lower[1:] == lower[:-1]) & sign[1:] & sign[:-1] & (rows[1:] == rows[:-1])
    first = tf.concat([tf.ones_like(sign[:1]), ~same], axis=0)
    place = tf.cumsum(tf.cast(first, "int64")) - 1
    joined = tf.strings.unsorted_segment_join(flat, place, tf.math.count_nonzero(first))
    rows = tf.boolean_mask(rows, first)
    words = tf.RaggedTensor.from_value_rowids(joined, rows, nrows=parts.nrows())
    return tf.ragged.boolean_mask(words, words != " ")


def _table(keys, dtype, first):
    """Maps strings or code points to ids from `first` on, others to `UNKNOWN_ID`."""
    import tensorflow as tf

    ids = tf.range(first, first + len(keys), dtype="int64")
    initializer = tf.lookup.KeyValueTensorInitializer(tf.constant(keys, dtype), ids)
    return tf.lookup.StaticHashTable(initializer, UNKNOWN_ID)


def _look_up(table, rows):
    import tensorflow as tf

    return rows.with_flat_values(tf.cast(table.lookup(rows.flat_values), "int32"))


class WordGraph:
    """A `WordTokenizer` in a graph; an export has to track its `resources`."""

    def __init__(self, tokenizer: WordTokenizer) -> None:
        self.vocabulary = tokenizer.get_vocabulary()
        self.lowercase = tokenizer.lowercase
        room = len(SPECIAL_WORDS)
        self.table = _table(self.vocabulary[room:], "string", room)
        self.resources = [self.table]

    def tokenize(self, text: Tensor) -> Tensor:
        """Returns int32 ragged ids `(B, None)` for tf.string `(B,)`."""
        import tensorflow as tf

        words = white_space_words(text)
        ids = _look_up(self.table, words)
        if not self.lowercase:
            return ids
        lower = tf.strings.lower(words.flat_values, encoding="utf-8")
        lower = _look_up(self.table, words.with_flat_values(lower)).flat_values
        flat = ids.flat_values
        return ids.with_flat_values(tf.where(flat == UNKNOWN_ID, lower, flat))

    def detokenize(self, ids: Tensor) -> Tensor:
        """Converts ids `(B, T)` to tf.string `(B,)`, up to each first end token."""
        import tensorflow as tf

        keep = (ids >= len(SPECIAL_WORDS)) | (ids == UNKNOWN_ID)
        keep &= before_end(ids, END_ID)
        words = tf.gather(
            tf.constant(self.vocabulary), tf.ragged.boolean_mask(ids, keep)
        )
        return tf.strings.reduce_join(words, axis=1, separator=" ")


class TaggerGraph:
    """A `TaggerPreprocessor` in a graph; an export has to track its `resources`."""

    def __init__(self, preprocessor: TaggerPreprocessor) -> None:
        vocabularies = preprocessor.get_vocabularies()
        self.tags = vocabularies["tags"]
        self.word_length = preprocessor.word_length
        self.words = _table(vocabularies["words"], "string", FIRST_ID)
        self.characters = _table(
            [ord(c) for c in vocabularies["characters"]], "int64", FIRST_ID
        )
        self.resources = [self.words, self.characters]

    def arrays(self, rows: Any) -> dict[str, Tensor]:
        """Like `TaggerPreprocessor.arrays`, for ragged words; at least one wide."""
        import tensorflow as tf

        lower = rows.with_flat_values(
            tf.strings.lower(rows.flat_values, encoding="utf-8")
        )
        characters = rows.with_flat_values(self._spell(rows.flat_values))
        return {
            "word_ids": pad_to_longest(_look_up(self.words, lower)),
            "character_ids": pad_to_longest(characters),
        }

    def _spell(self, words):
        """Returns character ids `(N, C)` of words `(N,)`, cut in the middle."""
        import tensorflow as tf

        letters = tf.strings.unicode_decode(words, "UTF-8")
        size = letters.row_lengths()[:, None]
        place = tf.range(self.word_length, dtype="int64")[None]
        first = self.word_length - self.word_length // 2
        source = tf.where(
            place < first, place, place + tf.maximum(size - self.word_length, 0)
        )
        real = place < size
        source = tf.where(real, source + letters.row_starts()[:, None], 0)
        flat = tf.concat([letters.flat_values, [0]], axis=0)  # there may be none
        ids = self.characters.lookup(tf.cast(flat, "int64"))
        ids = tf.cast(tf.where(real, tf.gather(ids, source), 0), "int32")
        return tf.ensure_shape(ids, [None, self.word_length])
