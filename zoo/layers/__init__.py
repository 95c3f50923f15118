"""Scores, attention, recurrent cells and decoders: pure Keras, usable alone."""

from zoo.layers.attention import (
    AdditiveAttention,
    Attention,
    ConcatAttention,
    LocationAttention,
    MultiplicativeAttention,
)
from zoo.layers.attention_decoder import AttentionCell, AttentionDecoder
from zoo.layers.cells import GRUCell, LSTMCell, SimpleRNNCell, logistic_1, logistic_2
from zoo.layers.configured import PerGate
from zoo.layers.context_decoder import (
    ContextCell,
    ContextDecoder,
    FixedContextDecoder,
    MaxoutReadout,
)
from zoo.layers.hard_attention import HardAttention
from zoo.layers.image_encoder import ImageEncoder
from zoo.layers.local_attention import LocalMonotonicAttention, LocalPredictiveAttention
from zoo.layers.lstmn_cell import LSTMNCell
from zoo.layers.lstmn_stack import LSTMN
from zoo.layers.recurrent import RecurrentStack
from zoo.layers.scores import (
    AdditiveScore,
    ConcatScore,
    DotScore,
    GeneralScore,
    ScaledDotScore,
    Score,
)
from zoo.layers.transformer_layers import (
    MultiHeadAttention,
    TransformerDecoderLayer,
    TransformerEncoderLayer,
    sinusoids,
)

__all__ = [
    "AdditiveAttention",
    "AdditiveScore",
    "Attention",
    "AttentionCell",
    "AttentionDecoder",
    "ConcatAttention",
    "ConcatScore",
    "ContextCell",
    "ContextDecoder",
    "DotScore",
    "FixedContextDecoder",
    "GRUCell",
    "GeneralScore",
    "HardAttention",
    "ImageEncoder",
    "LSTMCell",
    "LSTMN",
    "LSTMNCell",
    "LocalMonotonicAttention",
    "LocalPredictiveAttention",
    "LocationAttention",
    "MaxoutReadout",
    "MultiHeadAttention",
    "MultiplicativeAttention",
    "PerGate",
    "RecurrentStack",
    "ScaledDotScore",
    "Score",
    "SimpleRNNCell",
    "TransformerDecoderLayer",
    "TransformerEncoderLayer",
    "logistic_1",
    "logistic_2",
    "sinusoids",
]
