"""The papers' architectures, one file each."""

from zoo.models.luong import Luong, LuongPreprocessor, LuongTranslator
from zoo.models.seq2seq import Seq2SeqBackbone, Translator

__all__ = [
    "Luong",
    "LuongPreprocessor",
    "LuongTranslator",
    "Seq2SeqBackbone",
    "Translator",
]
