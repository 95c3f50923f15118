"""Scores, attention, recurrent cells and decoders: pure Keras, usable alone."""

from zoo.layers.attention import (
    AdditiveAttention,
    Attention,
    ConcatAttention,
    LocationAttention,
    MultiplicativeAttention,
)
from zoo.layers.decoder import AttentionCell, AttentionDecoder
from zoo.layers.local_attention import LocalMonotonicAttention, LocalPredictiveAttention
from zoo.layers.recurrent import LSTMCell, RecurrentStack
from zoo.layers.scores import (
    AdditiveScore,
    ConcatScore,
    DotScore,
    GeneralScore,
    ScaledDotScore,
    Score,
)

__all__ = [
    "AdditiveAttention",
    "AdditiveScore",
    "Attention",
    "AttentionCell",
    "AttentionDecoder",
    "ConcatAttention",
    "ConcatScore",
    "DotScore",
    "GeneralScore",
    "LSTMCell",
    "LocalMonotonicAttention",
    "LocalPredictiveAttention",
    "LocationAttention",
    "MultiplicativeAttention",
    "RecurrentStack",
    "ScaledDotScore",
    "Score",
]
