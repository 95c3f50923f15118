"""Text to a translator's ids and back by SentencePiece alone, without Keras."""

import dataclasses
import functools
from collections.abc import Iterable, Sequence

import sentencepiece

from zoo.strings import replace_surrogates
from zoo.text.translation_arrays import TranslationText
from zoo.text.vocabulary import SpecialIds


class Pieces(SpecialIds):
    """The methods of a `zoo.text.Tokenizer` that translation needs.

    Texts go one by one: for those of a request SentencePiece's batches, which start
    threads, are slower.
    """

    def __init__(self, proto: bytes) -> None:
        try:
            self._model = sentencepiece.SentencePieceProcessor(model_proto=proto)
        except RuntimeError as error:
            raise ValueError(f"no SentencePiece model: {error}") from error

    def vocabulary_size(self) -> int:
        """Returns the number of pieces."""
        return self._model.get_piece_size()

    def tokenize(self, texts: Iterable[str]) -> list[list[int]]:
        """Returns the ids of each text."""
        return [self._model.encode(replace_surrogates(text)) for text in texts]

    def surfaces(self, texts: Iterable[str]) -> list[list[str]]:
        """Returns the pieces of each text; unknown ones are the text's own."""
        encode = functools.partial(self._model.encode, out_type=str)
        return [encode(replace_surrogates(text)) for text in texts]

    def detokenize(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """Returns the text of each row of ids."""
        return [self._model.decode(list(row)) for row in rows]

    def token_to_id(self, token: str) -> int:
        """Returns a piece's id; that of an unknown one is 1."""
        return self._model.piece_to_id(token)

    def id_to_token(self, token_id: int) -> str:
        """Returns an id's piece."""
        return self._model.id_to_piece(token_id)


@dataclasses.dataclass
class PiecesPreprocessor(TranslationText):
    """A `zoo.text.TranslatorPreprocessor` for translation alone."""

    tokenizer: Pieces
    source_length: int
    target_length: int
    source_end: bool
