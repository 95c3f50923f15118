"""Words as tokens: a vocabulary of whole words, for corpora that are split already."""

import collections
import os

import keras
import keras_hub

from zoo.strings import check_texts
from zoo.text.tokenizer import END_ID, PAD_ID, START_ID, UNKNOWN_ID
from zoo.warn import warn_caller

SPECIAL_WORDS = ("<pad>", "<unk>", "<s>", "</s>")  # ids 0 to 3
_FILE = "vocabulary.txt"


def count_words(texts, vocabulary_size=None, least=1):
    """The vocabulary of a corpus for `WordTokenizer`, the most frequent word first.

    Args:
        texts: iterable of str, words separated by white space.
        vocabulary_size: ids at most, the four special ones included; None for all.
        least: how often a word must stand there.

    Returns:
        A list of str without the special words; words that are equally frequent in the
        order of the alphabet.

    Raises:
        TypeError: for texts that aren't strings.
        ValueError: for a vocabulary size without room for a word.

    Example:

    >>> count_words(["a dog and a cat", "a dog"], vocabulary_size=6)
    ['a', 'dog']
    """
    room = len(SPECIAL_WORDS)
    if vocabulary_size is not None and vocabulary_size <= room:
        raise ValueError(
            f"vocabulary_size must be above {room}. Received: {vocabulary_size!r}"
        )
    counts = collections.Counter(w for text in check_texts(texts) for w in text.split())
    for word in SPECIAL_WORDS:
        counts.pop(word, None)
    words = sorted(counts, key=lambda word: (-counts[word], word))
    words = [word for word in words if counts[word] >= least]
    return words if vocabulary_size is None else words[: vocabulary_size - room]


def check_words(tokenizer):
    """Refuses what is no `WordTokenizer` with a `TypeError`."""
    if not isinstance(tokenizer, WordTokenizer):
        raise TypeError(
            "tokenizer must be a zoo.text.WordTokenizer. "
            f"Received: {type(tokenizer).__name__}"
        )


def cut_rows(rows, limit, unit="words"):
    """Rows of words or other units, of which longer ones are cut, with one warning."""
    if cut := sum(len(row) > limit for row in rows):
        warn_caller(
            f"{cut} of {len(rows)} texts have more than {limit} {unit} and were cut"
        )
    return [row[:limit] for row in rows]


@keras.saving.register_keras_serializable(package="zoo")
class WordTokenizer(keras_hub.tokenizers.Tokenizer):
    """Strings to ids and back, a word an id; words stand between white space.

    The special ids are those of the whole zoo: 0 `pad_token_id`, 1 `unk_token_id`, 2
    `start_token_id`, 3 `end_token_id`. A word that is not in the vocabulary, a special
    one included, is unknown. A preset keeps the vocabulary in `vocabulary.txt`, a word
    a line, the special ones first.

    Args:
        vocabulary: list of str, the words behind the special ones, as `count_words`
            gives; None, the default: a preset brings it later.
        lowercase: whether texts are read in lower case.
        **kwargs: arguments of `keras_hub.tokenizers.Tokenizer`.

    Raises:
        ValueError: for a vocabulary with an empty or special word, white space in a
            word, or a word twice.

    Example:

    >>> tokenizer = WordTokenizer(["a", "dog", "runs"])
    >>> tokenizer(["a dog runs", "a cat"])
    [[4, 5, 6], [4, 1]]
    >>> tokenizer.detokenize([[4, 5], [4, 1]])
    ['a dog', 'a <unk>']
    """

    pad_token_id = PAD_ID
    unk_token_id = UNKNOWN_ID
    start_token_id = START_ID
    end_token_id = END_ID

    def __init__(self, vocabulary=None, lowercase=False, **kwargs):
        super().__init__(**kwargs)
        self.lowercase = bool(lowercase)
        self.file_assets = [_FILE]
        self.set_vocabulary(vocabulary)
        self.built = True  # there are no weights

    @property
    def special_tokens(self):
        """The words of `special_token_ids`."""
        return list(SPECIAL_WORDS)

    @property
    def special_token_ids(self):
        """The ids that stand for no word of text: 0 to 3."""
        return [PAD_ID, UNKNOWN_ID, START_ID, END_ID]

    def set_vocabulary(self, vocabulary):
        """Sets the words behind the special ones, or None."""
        self._words = self._ids = None
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
    def empty(self):
        """Whether there is no vocabulary yet."""
        return self._words is None

    def _ready(self):
        if self._words is None:
            raise ValueError("The tokenizer has no vocabulary. Received: None")
        return self._words

    def get_vocabulary(self):
        """All words by id, the special ones included: a list of str."""
        return list(self._ready())

    def vocabulary_size(self):
        """How many ids there are."""
        return len(self._ready())

    def id_to_token(self, id):
        """The word of an id."""
        return self._ready()[id]

    def token_to_id(self, token):
        """The id of a word, special ones included; of another that of "<unk>"."""
        self._ready()
        return self._ids.get(token, UNKNOWN_ID)

    def tokenize(self, inputs):
        """Ids of a str, a list, or of each str of a list: a list of lists."""
        texts = check_texts(inputs, "inputs")
        if self.lowercase:
            texts = [text.lower() for text in texts]
        rows = [[self._text_id(word) for word in text.split()] for text in texts]
        return rows[0] if isinstance(inputs, str) else rows

    def _text_id(self, word):
        found = self.token_to_id(word)
        return UNKNOWN_ID if found < len(SPECIAL_WORDS) else found

    def detokenize(self, inputs):
        """Text of a row of ids, or of each of several rows."""
        words = self._ready()
        single = not len(inputs) or not hasattr(inputs[0], "__len__")
        rows = [inputs] if single else inputs
        texts = [" ".join(words[int(i)] for i in row) for row in rows]
        return texts[0] if single else texts

    def call(self, inputs):
        return self.tokenize(inputs)

    def save_assets(self, dir_path):
        with open(os.path.join(dir_path, _FILE), "w", encoding="utf-8") as file:
            file.writelines(f"{word}\n" for word in self._ready())

    def load_assets(self, dir_path):
        path, room = os.path.join(dir_path, _FILE), len(SPECIAL_WORDS)
        with open(path, encoding="utf-8", newline="\n") as file:
            words = file.read().removesuffix("\n").split("\n")
        if tuple(words[:room]) != SPECIAL_WORDS:
            raise ValueError(
                f"{path} must begin with the lines {', '.join(SPECIAL_WORDS)}. "
                f"Received: {words[:room]}"
            )
        self.set_vocabulary(words[room:])

    def get_config(self):
        return {**super().get_config(), "lowercase": self.lowercase}
