"""Text to ids and back: one SentencePiece model over both languages."""

from zoo.text.preprocessor import TranslatorPreprocessor
from zoo.text.tags import TaggerPreprocessor, split_words
from zoo.text.tokenizer import Tokenizer, check_texts, train_tokenizer

__all__ = [
    "TaggerPreprocessor",
    "Tokenizer",
    "TranslatorPreprocessor",
    "check_texts",
    "split_words",
    "train_tokenizer",
]
