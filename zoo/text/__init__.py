"""Text to ids and back, with SentencePiece over both languages or with whole words.

Each name is loaded on first use, so that the parts that need no Keras run without it.
"""

from typing import TYPE_CHECKING

import lazy_loader

from zoo.strings import check_texts

if TYPE_CHECKING:
    from zoo.text.piece_preprocessors import CaptionPreprocessor, TranslatorPreprocessor
    from zoo.text.tokenizer import Tokenizer, train_tokenizer
    from zoo.text.vocabulary import count_words
    from zoo.text.word_preprocessors import (
        SentimentPreprocessor,
        TaggerPreprocessor,
        WordPreprocessor,
        WordTokenizer,
    )
    from zoo.text.word_splitting import split_words

__getattr__, __dir__, _lazy = lazy_loader.attach(
    __name__,
    submod_attrs={
        "piece_preprocessors": ["CaptionPreprocessor", "TranslatorPreprocessor"],
        "word_preprocessors": [
            "SentimentPreprocessor",
            "TaggerPreprocessor",
            "WordPreprocessor",
            "WordTokenizer",
        ],
        "word_splitting": ["split_words"],
        "tokenizer": ["Tokenizer", "train_tokenizer"],
        "vocabulary": ["count_words"],
    },
)

__all__ = ["check_texts", *_lazy]
