"""Text to ids and back, with SentencePiece over both languages or with whole words.

Each name is loaded on first use, so that the parts that need no Keras run without it.
"""

from typing import TYPE_CHECKING

import lazy_loader

from zoo.strings import check_texts

if TYPE_CHECKING:
    from zoo.text.generation import WordPreprocessor
    from zoo.text.preprocessor import TranslatorPreprocessor
    from zoo.text.sentiment import SentimentPreprocessor
    from zoo.text.tags import TaggerPreprocessor, split_words
    from zoo.text.tokenizer import Tokenizer, train_tokenizer
    from zoo.text.words import WordTokenizer, count_words

__getattr__, __dir__, _lazy = lazy_loader.attach(
    __name__,
    submod_attrs={
        "generation": ["WordPreprocessor"],
        "preprocessor": ["TranslatorPreprocessor"],
        "sentiment": ["SentimentPreprocessor"],
        "tags": ["TaggerPreprocessor", "split_words"],
        "tokenizer": ["Tokenizer", "train_tokenizer"],
        "words": ["WordTokenizer", "count_words"],
    },
)

__all__ = ["check_texts", *_lazy]
