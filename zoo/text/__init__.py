"""Text to ids and back, with SentencePiece over both languages or with whole words.

Each name is loaded on first use, so that the parts that need no Keras run without it.
"""

from typing import TYPE_CHECKING

import lazy_loader

from zoo.strings import check_texts

if TYPE_CHECKING:
    from zoo.text.captions import CaptionPreprocessor
    from zoo.text.generation import WordPreprocessor
    from zoo.text.preprocessor import TranslatorPreprocessor
    from zoo.text.sentiment import SentimentPreprocessor
    from zoo.text.subword_regularization import SubwordRegularization
    from zoo.text.tagging import split_words
    from zoo.text.tags import TaggerPreprocessor
    from zoo.text.tokenizer import Tokenizer, train_tokenizer
    from zoo.text.vocabulary import count_words
    from zoo.text.words import WordTokenizer

__getattr__, __dir__, _lazy = lazy_loader.attach(
    __name__,
    submod_attrs={
        "captions": ["CaptionPreprocessor"],
        "generation": ["WordPreprocessor"],
        "preprocessor": ["TranslatorPreprocessor"],
        "sentiment": ["SentimentPreprocessor"],
        "subword_regularization": ["SubwordRegularization"],
        "tagging": ["split_words"],
        "tags": ["TaggerPreprocessor"],
        "tokenizer": ["Tokenizer", "train_tokenizer"],
        "vocabulary": ["count_words"],
        "words": ["WordTokenizer"],
    },
)

__all__ = ["check_texts", *_lazy]
