"""The papers' architectures, one file each."""

from zoo.models.bahdanau import (
    Bahdanau,
    BahdanauPreprocessor,
    BahdanauTranslator,
    RNNencdec,
    RNNencdecPreprocessor,
    RNNencdecTranslator,
)
from zoo.models.birnn import BiRNN
from zoo.models.cho import (
    RNNEncoderDecoder,
    RNNEncoderDecoderPreprocessor,
    RNNEncoderDecoderTranslator,
)
from zoo.models.language_model import (
    RecurrentCausalLM,
    RecurrentLM,
    RecurrentLMPreprocessor,
)
from zoo.models.lstmn import (
    LSTMNEncoderDecoder,
    LSTMNPreprocessor,
    LSTMNTranslator,
)
from zoo.models.luong import Luong, LuongPreprocessor, LuongTranslator
from zoo.models.sentiment import (
    RecurrentClassifier,
    RecurrentClassifierPreprocessor,
    SentimentClassifier,
)
from zoo.models.seq2seq import Seq2SeqBackbone, Translator
from zoo.models.sutskever import Seq2Seq, Seq2SeqPreprocessor, Seq2SeqTranslator
from zoo.models.tagger import BiRNNTagger, BiRNNWords
from zoo.models.transformer import (
    Transformer,
    TransformerPreprocessor,
    TransformerTranslator,
)
from zoo.models.xu import ShowAttendTell
from zoo.models.xu_tasks import (
    ShowAttendTellCaptioner,
    ShowAttendTellCaptionerPreprocessor,
    ShowAttendTellPreprocessor,
    ShowAttendTellTranslator,
)

__all__ = [
    "Bahdanau",
    "BahdanauPreprocessor",
    "BahdanauTranslator",
    "BiRNN",
    "BiRNNTagger",
    "BiRNNWords",
    "LSTMNEncoderDecoder",
    "LSTMNPreprocessor",
    "LSTMNTranslator",
    "Luong",
    "LuongPreprocessor",
    "LuongTranslator",
    "RNNEncoderDecoder",
    "RNNEncoderDecoderPreprocessor",
    "RNNEncoderDecoderTranslator",
    "RNNencdec",
    "RNNencdecPreprocessor",
    "RNNencdecTranslator",
    "RecurrentCausalLM",
    "RecurrentClassifier",
    "RecurrentClassifierPreprocessor",
    "RecurrentLM",
    "RecurrentLMPreprocessor",
    "Seq2Seq",
    "Seq2SeqBackbone",
    "Seq2SeqPreprocessor",
    "Seq2SeqTranslator",
    "ShowAttendTell",
    "ShowAttendTellCaptioner",
    "ShowAttendTellCaptionerPreprocessor",
    "ShowAttendTellPreprocessor",
    "ShowAttendTellTranslator",
    "Transformer",
    "TransformerPreprocessor",
    "TransformerTranslator",
    "SentimentClassifier",
    "Translator",
]
