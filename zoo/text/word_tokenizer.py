"""Words as tokens: a vocabulary of whole words, for corpora already split."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import keras
import keras_hub

from zoo.text.vocabulary import WORDS_FILE, WordVocabulary


@keras.saving.register_keras_serializable(package="zoo")
class WordTokenizer(WordVocabulary, keras_hub.tokenizers.Tokenizer):
    """Converts strings to ids and back, one id per white-space-separated word.

    The special ids are those of the whole zoo: 0 `pad_token_id`, 1 `unk_token_id`, 2
    `start_token_id`, 3 `end_token_id`. Words that are not in the vocabulary, special
    ones included, are unknown. A preset keeps the vocabulary in `vocabulary.txt`, a
    word a line, the special ones first.

    Args:
        vocabulary: the words after the special ones, as from `count_words`; None if a
            preset provides it later.
        lowercase: whether a word that is not in the vocabulary is read in lower case.
        **kwargs: arguments of `keras_hub.tokenizers.Tokenizer`.

    Raises:
        ValueError: for a vocabulary with an empty, special or repeated word, or one
            with white space.

    Example:
        >>> tokenizer = WordTokenizer(["a", "dog", "runs"])
        >>> tokenizer(["a dog runs", "a cat"])
        [[4, 5, 6], [4, 1]]
        >>> tokenizer.detokenize([[4, 5], [4, 1]])
        ['a dog', 'a <unk>']
    """

    def __init__(
        self,
        vocabulary: Iterable[str] | None = None,
        lowercase: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.lowercase = bool(lowercase)
        self.file_assets = [WORDS_FILE]
        self.set_vocabulary(vocabulary)
        self.built = True  # there are no weights

    def call(self, inputs: Any) -> Any:
        """Calls `tokenize`."""
        return self.tokenize(inputs)

    def save_assets(self, dir_path: str) -> None:
        """Writes the vocabulary into a folder."""
        text = "".join(f"{word}\n" for word in self._ready())
        Path(dir_path, WORDS_FILE).write_text(text, encoding="utf-8")

    def load_assets(self, dir_path: str) -> None:
        """Reads the vocabulary from a folder.

        Raises:
            ValueError: if the file does not begin with the special words.
        """
        path = Path(dir_path, WORDS_FILE)
        self.read_vocabulary(path.read_bytes(), path)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments, without the vocabulary."""
        return {**super().get_config(), "lowercase": self.lowercase}
