"""Text to ids and back, with SentencePiece over both languages or with whole words."""

from zoo.strings import check_texts
from zoo.text.generation import WordPreprocessor
from zoo.text.preprocessor import TranslatorPreprocessor
from zoo.text.sentiment import SentimentPreprocessor
from zoo.text.tags import TaggerPreprocessor, split_words
from zoo.text.tokenizer import Tokenizer, train_tokenizer
from zoo.text.words import WordTokenizer, count_words

__all__ = [
    "SentimentPreprocessor",
    "TaggerPreprocessor",
    "Tokenizer",
    "TranslatorPreprocessor",
    "WordPreprocessor",
    "WordTokenizer",
    "check_texts",
    "count_words",
    "split_words",
    "train_tokenizer",
]
