"""The words of texts by operations of TensorFlow, for graphs."""

from collections.abc import Mapping
from typing import Any

import tensorflow as tf
import tensorflow_text

from zoo.backend import Tensor
from zoo.ids import UNKNOWN_ID
from zoo.text.graph import valid_text
from zoo.text.word_splitting import INNER, LETTER, SPACE, word_pattern

# Put into texts: Unicode's noncharacters, which are for such a use.
_END, _NEGATION, _CUT = "\ufdd0\ufdd1\ufdd2"
_WORD = word_pattern(_END, _NEGATION, own=_END + _NEGATION)
_RULES = (
    (f"([{LETTER}][{INNER}]*)", rf"\1{_END}"),
    (f"([nN])({_END}['’][tT]{_END})", rf"{_NEGATION}\1\2"),
    (f"({_WORD})", rf"\1{_CUT}"),
    (f"[{SPACE}]+", _CUT),
    (f"[{_END}{_NEGATION}]", ""),
)


def sentence_words(text: Tensor) -> Any:
    """Splits tf.string `(B,)` as `zoo.text.split_words` does: ragged `(B, None)`.

    RE2 has no lookaround, so characters that are put into the text show where words end
    and where an "n't" begins. Two things differ: U+FDD0 to U+FDD2 become U+FFFD, and
    letters newer than TensorFlow's version of Unicode are signs.
    """
    text = tensorflow_text.normalize_utf8(valid_text(text), "NFC")
    text = tf.strings.regex_replace(text, f"[{_END}{_NEGATION}{_CUT}]", "\ufffd")
    for rule, by in _RULES:
        text = tf.strings.regex_replace(text, rule, by)
    words = tf.strings.split(text, _CUT)
    return tf.ragged.boolean_mask(words, words != "")


def white_space_words(text: Tensor) -> Any:
    """Splits tf.string `(B,)` as `str.split` does: ragged `(B, None)`."""
    text = tf.strings.regex_replace(valid_text(text), f"[{SPACE}]+", " ")
    return tf.strings.split(text)


def lower(words: Any) -> Any:
    """Returns words, ragged or not, in lower case."""
    return tf.ragged.map_flat_values(tf.strings.lower, words, encoding="utf-8")


def id_table(ids: Mapping[str, int]) -> Any:
    """Returns a table of ids, for an export to track; other strings are unknown."""
    keys, values = tf.constant([*ids], "string"), tf.constant([*ids.values()], "int64")
    initializer = tf.lookup.KeyValueTensorInitializer(keys, values)
    return tf.lookup.StaticHashTable(initializer, UNKNOWN_ID)


def look_up(table: Any, words: Any) -> Any:
    """Returns the int32 ids of words, ragged or not."""
    return tf.cast(tf.ragged.map_flat_values(table.lookup, words), "int32")
