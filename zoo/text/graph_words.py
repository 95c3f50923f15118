"""Texts to words with TensorFlow operations alone, as `WordTokenizer` and
`split_words` do it in Python.

TensorFlow is imported on use: without it, everything else of `zoo.text` works.
"""

from zoo.text.graph import before_end, pad_to_longest, valid_text
from zoo.text.tags import _FIRST, LETTERS, MARKS, SPACE, sign_pattern
from zoo.text.tokenizer import END_ID, UNKNOWN_ID
from zoo.text.words import SPECIAL_WORDS

# Noncharacters of Unicode, which no text may hold: the end of a run of word characters,
# the place before an "n't", and the end of a word found.
_END, _NOT, _CUT = "\ufdd0", "\ufdd1", "\ufdd2"
_OWN = f"{_END}{_NOT}{_CUT}"

# `split_words` in RE2, which can look neither ahead nor back at what it has matched:
# the marks say what follows. A run of one sign comes out as single signs, which are
# joined afterwards; apostrophes apart, since "'s" would begin with the last of them.
_WORDS = "|".join(
    (
        rf"(?:(?i:https?){_END}://|(?i:www){_END}\.)[^{SPACE}]*"
        rf"[{LETTERS}][{MARKS}]*{_END}",
        rf"[{LETTERS}{MARKS}.+\-{_END}{_NOT}]+@[{LETTERS}{MARKS}\-{_END}{_NOT}]+"
        rf"(?:\.[{LETTERS}{MARKS}\-{_END}{_NOT}]+)+",
        rf"(?:[\pL\p{{Nl}}\p{{No}}]{_END}\.){{2,}}",
        rf"\p{{Nd}}+(?:{_END}[.,:]\p{{Nd}}+)+{_END}",
        rf"{_NOT}[nN]{_END}['’][tT]{_END}",
        rf"['’](?i:s|m|d|re|ve|ll){_END}",
        rf"[{LETTERS}][{LETTERS}{MARKS}]*{_END}?",
        "'+|’+",
        sign_pattern(_END + _NOT),
    )
)


def white_space_words(text):
    """`str.split` in a graph: ragged tf.string `(B, None)` for `(B,)`."""
    import tensorflow as tf

    text = tf.strings.regex_replace(valid_text(text), f"[{SPACE}]+", " ")
    return tf.strings.split(text)


def sentence_words(text):
    """`zoo.text.split_words` in a graph: ragged tf.string `(B, None)` for `(B,)`.

    The noncharacters U+FDD0 to U+FDD2 come out as U+FFFD. The letters and digits are
    those of the Unicode version that TensorFlow has, which may not be Python's.
    """
    import tensorflow as tf
    import tensorflow_text

    def replace(text, pattern, rewrite):
        return tf.strings.regex_replace(text, pattern, rewrite)

    text = tensorflow_text.normalize_utf8(valid_text(text), "NFC")
    text = replace(text, f"[{_OWN}]", "\ufffd")
    text = replace(text, f"[{LETTERS}][{LETTERS}{MARKS}]*", rf"\0{_END}")
    text = replace(text, f"([nN])({_END}['’][tT]{_END})", rf"{_NOT}\1\2")
    text = replace(text, f"(?:{_WORDS})", rf"\0{_CUT}")
    # White space stays as parts of its own, so that signs next to it are told from
    # signs next to each other.
    text = replace(text, f"[{SPACE}]+", rf" {_CUT}")
    text = replace(text, f"[{_END}{_NOT}]", "")
    parts = tf.strings.split(text, _CUT)
    parts = tf.ragged.boolean_mask(parts, parts != "")  # behind the last mark
    return _join_signs(parts)


def _join_signs(parts):
    """Ragged words without the spaces; equal signs side by side are one word."""
    import tensorflow as tf

    flat, rows = parts.flat_values, parts.value_rowids()
    # As a pattern that ignores case compares: Ⓐ is ⓐ.
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
    """Strings, or code points, to ids from `first` on, others to `UNKNOWN_ID`."""
    import tensorflow as tf

    ids = tf.range(first, first + len(keys), dtype="int64")
    initializer = tf.lookup.KeyValueTensorInitializer(tf.constant(keys, dtype), ids)
    return tf.lookup.StaticHashTable(initializer, UNKNOWN_ID)


def _look_up(table, rows):
    import tensorflow as tf

    return rows.with_flat_values(tf.cast(table.lookup(rows.flat_values), "int32"))


class WordGraph:
    """A `WordTokenizer` in a graph.

    Args:
        tokenizer: a `WordTokenizer`.

    Attributes:
        resources: what an exported graph must keep.
    """

    def __init__(self, tokenizer):
        self.vocabulary = tokenizer.get_vocabulary()
        self.lowercase = tokenizer.lowercase
        room = len(SPECIAL_WORDS)
        self.table = _table(self.vocabulary[room:], "string", room)
        self.resources = [self.table]

    def tokenize(self, text):
        """int32 ragged `(B, None)` for tf.string `(B,)`."""
        import tensorflow as tf

        if self.lowercase:
            text = tf.strings.lower(valid_text(text), encoding="utf-8")
        return _look_up(self.table, white_space_words(text))

    def detokenize(self, ids):
        """tf.string `(B,)` from ids `(B, T)`, up to each row's first end token."""
        import tensorflow as tf

        keep = (ids >= len(SPECIAL_WORDS)) | (ids == UNKNOWN_ID)
        keep &= before_end(ids, END_ID)
        words = tf.gather(
            tf.constant(self.vocabulary), tf.ragged.boolean_mask(ids, keep)
        )
        return tf.strings.reduce_join(words, axis=1, separator=" ")


class TaggerGraph:
    """A `TaggerPreprocessor` in a graph.

    Args:
        preprocessor: a `TaggerPreprocessor`.

    Attributes:
        resources: what an exported graph must keep.
    """

    def __init__(self, preprocessor):
        found = preprocessor.get_vocabularies()
        self.tags = found["tags"]
        self.word_length = preprocessor.word_length
        self.words = _table(found["words"], "string", _FIRST)
        self.characters = _table([ord(c) for c in found["characters"]], "int64", _FIRST)
        self.resources = [self.words, self.characters]

    def arrays(self, rows):
        """`TaggerPreprocessor.arrays` for ragged words `(B, None)`; at least
        one word wide."""
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
        """Ids `(N, C)` of the characters of words `(N,)`: of a long one the first and
        the last."""
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
