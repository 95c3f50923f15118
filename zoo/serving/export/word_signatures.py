"""The signatures of taggers, classifiers and language models, in a TensorFlow graph."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf
import tensorflow_text

from zoo.backend import Tensor
from zoo.checks import integer
from zoo.ids import END_ID, PAD_ID, UNKNOWN_ID
from zoo.serving.protocol import SIGNATURES
from zoo.text.graph import before_end, frame, pad_to_longest, valid_text
from zoo.text.rows import LONGEST
from zoo.text.vocabulary import SPECIAL_WORDS
from zoo.text.word_splitting import INNER, LETTER, SPACE, word_pattern

FEW = 16  # words whose logits are in memory at once
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


class _WordSignatures:
    """Signatures over words; see `SearchSignatures` for the attributes."""

    takes: tuple[str, ...] = ()

    def __init__(self, task: Any) -> None:
        self.model = task

    def functions(self) -> dict[str, Callable[..., dict[str, Tensor]]]:
        """Returns the signatures of `zoo.serving.protocol.SIGNATURES` by name."""
        return {name: getattr(self, name) for name in SIGNATURES[self.model.task_name]}


class TaggerSignatures(_WordSignatures):
    """The signature of a `zoo.models.BiRNNTagger`."""

    def __init__(self, task: Any) -> None:
        super().__init__(task)
        preprocessor = task.preprocessor
        self.tags = preprocessor.get_vocabularies()["tags"]
        self.word_length = preprocessor.word_length
        self.words = _id_table(preprocessor.word_ids)
        self.characters = _id_table(preprocessor.character_ids)
        self.resources = [self.words, self.characters]

    def tag(self, text: Tensor) -> dict[str, Tensor]:
        """Returns `words` and `tags` `(B, T)`, padded with the empty string."""
        words = pad_to_longest(sentence_words(text)[:, :LONGEST])
        real, ids = words != "", _look_up(self.words, _lower(words))
        inputs = {
            "word_ids": tf.where(real, ids, PAD_ID),
            "character_ids": self._spell(words),
        }
        best = tf.argmax(self.model.backbone(inputs), axis=-1)
        tags = tf.where(real, tf.gather(tf.constant(self.tags), best), "")
        return {"words": words, "tags": tags}

    def _spell(self, words):
        """Returns the character ids `(B, T, C)` of words, cut in the middle."""
        letters, half = tf.strings.unicode_split(words, "UTF-8"), self.word_length // 2
        first = self.word_length - half
        parts = letters[:, :, :first], letters[:, :, first:][:, :, -half:]
        ids = _look_up(self.characters, tf.concat(parts, axis=2))
        return ids.to_tensor(shape=[None, None, self.word_length])


class _VocabularySignatures(_WordSignatures):
    """Signatures over the words of a `WordTokenizer`."""

    def __init__(self, task: Any) -> None:
        super().__init__(task)
        self.tokenizer = task.preprocessor.tokenizer
        words = enumerate(self.tokenizer.get_vocabulary())
        special = len(SPECIAL_WORDS)
        self.table = _id_table({word: i for i, word in words if i >= special})
        self.resources = [self.table]

    def _ids(self, text):
        """Returns the ids of each text's words, ragged `(B, None)`."""
        words = white_space_words(text)
        ids = _look_up(self.table, words)
        if self.tokenizer.lowercase:
            ids = tf.where(ids == UNKNOWN_ID, _look_up(self.table, _lower(words)), ids)
        return ids


class ClassifierSignatures(_VocabularySignatures):
    """The signature of a `zoo.models.SentimentClassifier`."""

    def classify(self, text: Tensor) -> dict[str, Tensor]:
        """Returns `class`, the most probable, and `probabilities` `(B, classes)`."""
        backbone, ids = self.model.backbone, self._ids(text)[:, :LONGEST]
        logits = tf.cast(backbone({"token_ids": pad_to_longest(ids)}), "float32")
        names = tf.constant(backbone.classes)
        return {
            "class": tf.gather(names, tf.argmax(logits, axis=-1)),
            "probabilities": tf.nn.softmax(logits),
        }


class LanguageModelSignatures(_VocabularySignatures):
    """The signatures of a `zoo.models.RecurrentCausalLM`, greedy.

    Args:
        task: the task with a preprocessor, under the TensorFlow backend.
        max_length: see `export_savedmodel`.
    """

    takes = ("max_length",)

    def __init__(self, task: Any, max_length: int | None = None) -> None:
        super().__init__(task)
        if max_length is not None:
            integer("max_length", max_length, 2)
        self.length = max_length or task.preprocessor.sequence_length

    def generate(self, text: Tensor) -> dict[str, Tensor]:
        """Returns `text`, each prompt with its continuation."""
        # They follow the end of the previous text.
        inputs, _ = frame(self._ids(text)[:, : self.length - 1], END_ID, END_ID)
        ids = self._continue(inputs.to_tensor(shape=[None, self.length]))[:, 1:]
        ids = tf.ragged.boolean_mask(ids, before_end(ids, END_ID))
        words = tf.gather(tf.constant(self.tokenizer.get_vocabulary()), ids)
        return {"text": tf.strings.reduce_join(words, axis=1, separator=" ")}

    def _continue(self, ids):
        """Continues prompts `(B, T)`, without the XLA operation of KerasHub's loop."""
        free = ids == PAD_ID

        def unfinished(index, ids, states):
            ended = tf.reduce_any((ids == END_ID) & free, axis=1)
            return (index < self.length) & ~tf.reduce_all(ended)

        def body(index, ids, states):
            logits, states = self.model.next_word(ids[:, index - 1], states)
            word = tf.argmax(logits, axis=-1, output_type="int32")[:, None]
            here = (tf.range(self.length) == index) & free
            return index + 1, tf.where(here, word, ids), states

        states = self.model.backbone.start(tf.shape(ids)[0], self.length)
        return tf.while_loop(unfinished, body, (tf.constant(1), ids, states))[1]

    def score(self, text: Tensor) -> dict[str, Tensor]:
        """Returns `log_probability` of each text, its end token included."""
        inputs, labels = map(pad_to_longest, frame(self._ids(text), END_ID, END_ID))
        rows, width = tf.unstack(tf.shape(inputs))
        # An LSTMN's tapes start anew with each part, as in the model's own `score`.
        size = LONGEST if self.model.backbone.cell == "lstmn" else FEW

        def body(start, total, states):
            part = slice(start, start + size)
            sums, states = self.model.label_sums(
                inputs[:, part], labels[:, part], states
            )
            return start + size, total + sums, states

        states = self.model.backbone.initial_states(rows)
        start = tf.constant(0), tf.zeros(rows[None]), states
        total = tf.while_loop(lambda start, *_: start < width, body, start)[1]
        return {"log_probability": total}


# === Words of texts ===
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


def _lower(words):
    return tf.ragged.map_flat_values(tf.strings.lower, words, encoding="utf-8")


def _id_table(ids):
    """Returns a table of ids, for an export to track; other strings are unknown."""
    keys, values = tf.constant([*ids], "string"), tf.constant([*ids.values()], "int64")
    initializer = tf.lookup.KeyValueTensorInitializer(keys, values)
    return tf.lookup.StaticHashTable(initializer, UNKNOWN_ID)


def _look_up(table, words):
    """Returns the int32 ids of words, ragged or not."""
    return tf.cast(tf.ragged.map_flat_values(table.lookup, words), "int32")
