"""Words as tokens, for language models, classifiers of sentences and taggers."""

import collections
import json
import reprlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import keras
import keras_hub
import numpy as np

from zoo.backend import Tensor
from zoo.checks import integer
from zoo.ids import END_ID, PAD_ID, START_ID
from zoo.strings import composed, plain_texts, read_texts
from zoo.text.graph import mappable
from zoo.text.rows import cut_rows, framed, pad_rows, python_ids
from zoo.text.vocabulary import (
    TAGGER_FILE,
    WORDS_FILE,
    TaggingText,
    Vocabulary,
    Words,
    WordText,
    WordVocabulary,
)


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
        text = "".join(f"{word}\n" for word in self.get_vocabulary())
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


class _OfWords(keras_hub.models.Preprocessor):
    """A preprocessor with a `WordTokenizer` and a length from `least`."""

    tokenizer_cls = WordTokenizer
    least = 1

    def __init__(
        self, tokenizer: WordTokenizer, sequence_length: int = 64, **kwargs: Any
    ) -> None:
        if not isinstance(tokenizer, WordTokenizer):
            raise TypeError(
                "tokenizer must be a zoo.text.WordTokenizer. "
                f"Received: {type(tokenizer).__name__}"
            )
        length = integer("sequence_length", sequence_length, self.least)
        super().__init__(tokenizer, sequence_length=length, **kwargs)
        self.built = True  # there are no weights

    def build(self, input_shape: Any = None) -> None:
        """Does nothing: there are no weights."""
        self.built = True


@keras.saving.register_keras_serializable(package="zoo")
class WordPreprocessor(_OfWords, WordText, keras_hub.models.CausalLMPreprocessor):
    """Converts strings to ids for a language model, and ids back to strings.

    Called with strings, it returns `(x, y, sample_weight)`, NumPy arrays for `fit`:
    `x["token_ids"]` int32 `(B, T)`, the end token of the previous text and then the
    words; `y` `(B, T)`, the words and the end token; `sample_weight`, 1 where `y` is
    real. They are padded with 0 to `sequence_length`; longer texts are cut, with one
    warning per call.

    Args:
        tokenizer: a `WordTokenizer`.
        sequence_length: T, also the default maximum length of `generate`.
        **kwargs: arguments of `keras_hub.models.CausalLMPreprocessor`.

    Raises:
        TypeError: for another tokenizer.
        ValueError: for a length below 2.

    Example:
        >>> tokenizer = WordTokenizer(["a", "dog"])
        >>> preprocessor = WordPreprocessor(tokenizer, sequence_length=4)
        >>> x, y, weights = preprocessor(["a dog"])
        >>> x["token_ids"].tolist(), y.tolist()
        ([[3, 4, 5, 0]], [[4, 5, 3, 0]])
    """

    least = 2

    def __init__(
        self, tokenizer: WordTokenizer, sequence_length: int = 128, **kwargs: Any
    ) -> None:
        super().__init__(tokenizer, sequence_length, **kwargs)

    @mappable
    def call(self, x: Any, y: None = None, sample_weight: None = None) -> Any:
        """Returns `(x, y, sample_weight)` for `fit`; see the class."""
        texts, single = read_texts(x, "x")
        rows = cut_rows(self.encode(texts), self.sequence_length - 1)
        ids, *labels = framed(rows, END_ID, END_ID, self.sequence_length)
        arrays = {"token_ids": ids}, *labels
        return keras.tree.map_structure(lambda x: x[0], arrays) if single else arrays

    # === KerasHub's generate ===
    def generate_preprocess(
        self, x: Any, sequence_length: int | None = None
    ) -> dict[str, Tensor]:
        """Returns `{"token_ids", "padding_mask"}` of prompts, for `generate_step`.

        The ids are the end token of the previous text and the words, padded to
        `sequence_length`; the mask is true where they are. Longer texts are cut, with
        one warning.

        Raises:
            ValueError: for a length below 2.
        """
        length = self.sequence_length if sequence_length is None else sequence_length
        integer("max_length", length, 2)
        rows = [[END_ID, *row] for row in cut_rows(self.encode(x), length - 1)]
        sizes = np.array([len(row) for row in rows], "int32")
        mask = np.arange(length)[None] < sizes[:, None]
        arrays = {"token_ids": pad_rows(rows, length), "padding_mask": mask}
        return keras.tree.map_structure(keras.ops.convert_to_tensor, arrays)

    def generate_postprocess(self, x: dict[str, Tensor]) -> list[str]:
        """Converts the output of `generate_step` to a list of str.

        Only words where `padding_mask` is true are kept.
        """
        ids, mask = python_ids(x["token_ids"]), python_ids(x["padding_mask"])
        dropped = {PAD_ID, START_ID, END_ID}
        rows = [
            [i for i, real in zip(*row, strict=True) if real and i not in dropped]
            for row in zip(ids, mask, strict=True)
        ]
        return [self.tokenizer.detokenize(row) for row in rows]

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        config = super().get_config()
        # The class fixes these.
        return {k: v for k, v in config.items() if not k.startswith("add_")}


@keras.saving.register_keras_serializable(package="zoo")
class SentimentPreprocessor(
    _OfWords, WordText, keras_hub.models.TextClassifierPreprocessor
):
    """Converts strings to word ids, padded with 0.

    Called with strings, and optionally labels, it returns `{"token_ids"}`, int32
    `(B, sequence_length)`, or `(x, y, sample_weight)` for `fit`. Longer texts are cut,
    with one warning per call.

    Args:
        tokenizer: a `WordTokenizer`.
        sequence_length: maximum words of a text.
        **kwargs: arguments of `keras_hub.models.TextClassifierPreprocessor`.

    Raises:
        TypeError: for another tokenizer.
        ValueError: for a length below 1.

    Example:
        >>> tokenizer = WordTokenizer(["a", "good", "film"])
        >>> preprocessor = SentimentPreprocessor(tokenizer, sequence_length=4)
        >>> preprocessor(["a film"])["token_ids"].tolist()
        [[4, 6, 0, 0]]
    """

    @mappable
    def call(self, x: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Returns inputs, or `(x, y, sample_weight)` for `fit`; see the class."""
        labels = y if isinstance(y, (list, tuple)) else [y]
        if any(isinstance(label, str) for label in labels):
            raise ValueError(
                f"Labels must be class numbers. Received: {reprlib.repr(y)}"
            )
        texts, single = read_texts(x, "x")
        rows = cut_rows(self.encode(texts), self.sequence_length)
        ids = pad_rows(rows, self.sequence_length)
        inputs = {"token_ids": ids[0] if single else ids}
        return keras.utils.pack_x_y_sample_weight(inputs, y, sample_weight)


@keras.saving.register_keras_serializable(package="zoo")
class TaggerPreprocessor(TaggingText, keras_hub.models.Preprocessor):
    """Converts words to the ids that a tagger reads, and ids to tags.

    Called with sentences, it returns `{"word_ids", "character_ids"}`; with their tags,
    `(x, y, sample_weight)` for `fit`. Arrays are as wide as the longest sentence. A
    sentence is a str, which `split_words` splits, or a list of words; its tags are as
    many str.

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

        Raises:
            ValueError: if no word occurs `least` times.
        """
        found = [composed(word) for row in sentences for word in row]
        words = collections.Counter(word.lower() for word in found)
        characters = collections.Counter(c for word in found for c in word)
        known = sorted(word for word, count in words.items() if count >= least)
        if not known:
            raise ValueError(
                f"No word occurs {least} times in the sentences. "
                f"Received: least={least}, {len(words)} different words"
            )
        tag_names = sorted({tag for row in tags for tag in row})
        return cls(known, sorted(characters), tag_names, **options)

    # === Sentences ===
    @mappable
    def call(self, x: Any, y: Any = None, sample_weight: None = None) -> Any:
        """Returns the ids of sentences `x`; with tags `y`, also labels and weights."""
        if sample_weight is not None:
            raise ValueError(
                "sample_weight is made from the tags and must be None. "
                f"Received: {str(sample_weight)[:60]}"
            )
        x = plain_texts(x)
        rows = self.split([x] if isinstance(x, str) else x)
        length = max([1, *map(len, rows)])
        inputs = self.arrays(rows, length)
        if y is None:
            return inputs
        y = [[tag for tag in row if tag] for row in plain_texts(y)]  # tf.data pads
        words, tags = [*map(len, rows)], [*map(len, y)]
        if words != tags:
            raise ValueError(
                "Sentences must have a tag for each word. Received: sentences of "
                f"{reprlib.repr(words)} words and {reprlib.repr(tags)} tags"
            )
        return inputs, *self.labels(y, length)

    def labels(self, tags: Words, length: int) -> tuple[np.ndarray, np.ndarray]:
        """Returns `(B, length)` tag ids and their weights, 1 where a tag is real."""
        known = self._tag_ids
        if unknown := {tag for row in tags for tag in row} - set(known):
            raise ValueError(
                f"A tag must be one of {', '.join(known)}. Received: {unknown.pop()!r}"
            )
        ids = pad_rows([[known[tag] for tag in row] for row in tags], length)
        weights = pad_rows([[1] * len(row) for row in tags], length)
        return ids, weights.astype("float32")

    # === Presets ===
    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments, without the vocabularies."""
        return {**super().get_config(), "word_length": self.word_length}

    def save_to_preset(self, preset_dir: str) -> None:
        """Writes the configuration and the vocabularies into a preset's folder."""
        super().save_to_preset(preset_dir)
        folder = Path(preset_dir, "assets")
        folder.mkdir(parents=True, exist_ok=True)
        self.save_assets(str(folder))

    def load_preset_assets(self, preset: str) -> None:
        """Reads the vocabularies from a preset's folder; see `load_assets`."""
        self.load_assets(str(Path(preset, "assets")))

    def save_assets(self, dir_path: str) -> None:
        """Writes the vocabularies into a folder, as in a `.keras` file."""
        text = json.dumps(self.get_vocabularies(), ensure_ascii=False, indent=0)
        Path(dir_path, TAGGER_FILE).write_text(text, encoding="utf-8")

    def load_assets(self, dir_path: str) -> None:
        """Reads the vocabularies from a folder.

        Raises:
            ValueError: if the file is not one that `save_assets` wrote.
        """
        path = Path(dir_path, TAGGER_FILE)
        self.read_vocabularies(path.read_bytes(), path)
