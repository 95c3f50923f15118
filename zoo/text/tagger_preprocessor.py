"""Preprocessing for taggers: sentences of words to ids, and ids to tags."""

import collections
import json
import reprlib
from pathlib import Path
from typing import Any

import keras
import keras_hub
import numpy as np

from zoo.checks import integer
from zoo.strings import composed, plain_texts
from zoo.text.graph import mappable
from zoo.text.rows import pad_rows
from zoo.text.word_splitting import TAGGER_FILE, TaggingText, Vocabulary, Words

_FOLDER = "assets"


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
        return cls(
            known,
            sorted(characters),
            sorted({tag for row in tags for tag in row}),
            **options,
        )

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
        """Returns tag ids and weights `(B, length)`; weights are 1 where a tag is real.

        Raises:
            ValueError: for a tag that is not in the vocabulary.
        """
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
        folder = Path(preset_dir, _FOLDER)
        folder.mkdir(parents=True, exist_ok=True)
        self.save_assets(str(folder))

    def load_preset_assets(self, preset: str) -> None:
        """Reads the vocabularies from a preset's folder; see `load_assets`."""
        self.load_assets(str(Path(preset, _FOLDER)))

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
