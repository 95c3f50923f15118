"""Tasks: a backbone and a preprocessor, text in and text out."""

from zoo.tasks.captioner import (
    ShowAttendTellCaptioner,
    ShowAttendTellCaptionerPreprocessor,
)
from zoo.tasks.classifier import RecurrentClassifierPreprocessor, SentimentClassifier
from zoo.tasks.language_model import RecurrentCausalLM, RecurrentLMPreprocessor
from zoo.tasks.tagger import BiRNNTagger
from zoo.tasks.translator import (
    BahdanauPreprocessor,
    BahdanauTranslator,
    LSTMNPreprocessor,
    LSTMNTranslator,
    LuongPreprocessor,
    LuongTranslator,
    RNNencdecPreprocessor,
    RNNencdecTranslator,
    RNNEncoderDecoderPreprocessor,
    RNNEncoderDecoderTranslator,
    Seq2SeqPreprocessor,
    Seq2SeqTranslator,
    TransformerPreprocessor,
    TransformerTranslator,
    Translator,
)

__all__ = [
    "BahdanauPreprocessor",
    "BahdanauTranslator",
    "BiRNNTagger",
    "LSTMNPreprocessor",
    "LSTMNTranslator",
    "LuongPreprocessor",
    "LuongTranslator",
    "RNNEncoderDecoderPreprocessor",
    "RNNEncoderDecoderTranslator",
    "RNNencdecPreprocessor",
    "RNNencdecTranslator",
    "RecurrentCausalLM",
    "RecurrentClassifierPreprocessor",
    "RecurrentLMPreprocessor",
    "SentimentClassifier",
    "Seq2SeqPreprocessor",
    "Seq2SeqTranslator",
    "ShowAttendTellCaptioner",
    "ShowAttendTellCaptionerPreprocessor",
    "TransformerPreprocessor",
    "TransformerTranslator",
    "Translator",
]
