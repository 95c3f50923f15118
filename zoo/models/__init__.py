"""The papers' architectures, one file each.

The names of `zoo.tasks`, such as `LuongTranslator`, are found here as well.
"""

import importlib
from typing import Any

from zoo.models.bahdanau import Bahdanau, RNNencdec
from zoo.models.birnn import BiRNN, BiRNNWords
from zoo.models.cho import RNNEncoderDecoder
from zoo.models.lstmn import LSTMNEncoderDecoder
from zoo.models.luong import Luong
from zoo.models.recurrent_lm import RecurrentClassifier, RecurrentLM
from zoo.models.seq2seq import Seq2SeqBackbone
from zoo.models.sutskever import Seq2Seq
from zoo.models.transformer import Transformer
from zoo.models.xu import ShowAttendTell

__all__ = [
    "Bahdanau",
    "BiRNN",
    "BiRNNWords",
    "LSTMNEncoderDecoder",
    "Luong",
    "RNNEncoderDecoder",
    "RNNencdec",
    "RecurrentClassifier",
    "RecurrentLM",
    "Seq2Seq",
    "Seq2SeqBackbone",
    "ShowAttendTell",
    "Transformer",
]


def __getattr__(name: str) -> Any:
    tasks = importlib.import_module("zoo.tasks")
    if name in tasks.__all__:
        return getattr(tasks, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *importlib.import_module("zoo.tasks").__all__})
