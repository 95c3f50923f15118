"""Text to a translator's ids and back, and a decoder's target, without Keras."""

import itertools
from collections.abc import Iterable
from typing import Any

from zoo.checks import integer
from zoo.strings import check_texts, warn_caller
from zoo.text.graph import CHARACTERS_PER_PIECE
from zoo.text.rows import python_ids


class TargetText:
    """The methods of a preprocessor for what a decoder writes.

    Attributes:
        tokenizer: an object with the methods of a `zoo.text.Tokenizer`.
        target_length: maximum pieces of a target, its start or end token included.
    """

    tokenizer: Any
    target_length: int

    def encode_targets(self, texts: Any, length: int | None = None) -> list[list[int]]:
        """Returns the target pieces of each text, without start and end tokens.

        Args:
            texts: a str, or a list of str.
            length: one more than the maximum pieces, leaving room for the start or end
                token. Default: `target_length`.

        Raises:
            TypeError: for a text that is not a str; the message gives its position.
            ValueError: for a length without room for a piece.
        """
        length = self.target_length if length is None else length
        integer("length", length, 2)
        return self._cut(check_texts(texts), length - 1)

    def decode(self, ids: Any) -> list[str]:
        """Converts target ids to strings.

        Args:
            ids: rows of ids: lists of int, or a `(B, T)` array or tensor. Padding,
                start tokens and all that follows a row's first end token are ignored.

        Returns:
            B strings, without spaces before the first word. The unknown piece reads
            " ⁇ ".

        Raises:
            ValueError: for an id that is not in the vocabulary.
        """
        end, size = self.tokenizer.end_token_id, self.tokenizer.vocabulary_size()
        ignored = (self.tokenizer.pad_token_id, self.tokenizer.start_token_id)
        space = {self.tokenizer.token_to_id("▁")} - {self.tokenizer.unk_token_id}
        rows = []
        for position, row in enumerate(python_ids(ids)):
            row = row[: row.index(end)] if end in row else row
            if wrong := [token_id for token_id in row if not 0 <= token_id < size]:
                raise ValueError(
                    f"ids[{position}] must hold ids from 0 to {size - 1}. "
                    f"Received: {wrong[0]}"
                )
            row = [token_id for token_id in row if token_id not in ignored]
            # As tensorflow-text, which drops leading spaces.
            rows.append(list(itertools.dropwhile(space.__contains__, row)))
        return self.tokenizer.detokenize(rows) if rows else []

    def pieces(self, ids: Any) -> list[str]:
        """Returns the piece of each id of one row, special ones included."""
        return [self.tokenizer.id_to_token(token_id) for token_id in python_ids(ids)]

    def surfaces(self, texts: Iterable[str]) -> list[list[str]]:
        """Returns the text's own pieces, where `encode` gives ids."""
        return self.tokenizer.surfaces(text.strip() for text in texts)

    def _cut(self, texts, limit, end=()):
        """Splits stripped texts into at most `limit` pieces, with one warning.

        The ids of `end` count, and follow each text that is not blank.
        """
        limit -= len(end)
        characters = limit * CHARACTERS_PER_PIECE
        texts = [text.strip() for text in texts]
        rows = self.tokenizer.tokenize([text[:characters] for text in texts])
        cut = [
            position
            for position, (text, row) in enumerate(zip(texts, rows, strict=True))
            if len(row) > limit or len(text) > characters
        ]
        if cut:
            warn_caller(
                f"{len(cut)} of {len(texts)} texts have more than {limit} pieces and "
                f"were cut. The first is texts[{cut[0]}], of {len(texts[cut[0]])} "
                "characters"
            )
        return [[*row[:limit], *end] if row else [] for row in rows]


class TranslationText(TargetText):
    """The methods of a translator's preprocessor that need no tensors.

    Attributes:
        tokenizer, target_length: see `TargetText`.
        source_length: maximum pieces of a source, its end token included.
        source_end: whether the source gets an end token.
    """

    source_length: int
    source_end: bool

    def encode(self, texts: Any, length: int | None = None) -> list[list[int]]:
        """Returns the source pieces of each text, unpadded.

        Args:
            texts: a str, or a list of str.
            length: maximum pieces of a text, its end token included. Default:
                `source_length`.

        Raises:
            TypeError: for a text that is not a str; the message gives its position.
            ValueError: for a length without room for a piece.
        """
        length = self.source_length if length is None else length
        integer("length", length, 1 + bool(self.source_end))
        end = [self.tokenizer.end_token_id] if self.source_end else []
        return self._cut(check_texts(texts), length, end)


def needed_preprocessor(task: Any, use: str) -> Any:
    """Returns a task's preprocessor; the error of one without begins with `use`."""
    if task.preprocessor is None:
        raise ValueError(
            f"{use} needs a preprocessor. "
            f"Received: {type(task).__name__} with preprocessor=None"
        )
    return task.preprocessor
