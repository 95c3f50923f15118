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

__all__ = [
    "AdditiveAttention",
    "Attention",
    "AttentionCell",
    "AttentionDecoder",
    "ConcatAttention",
    "LSTMCell",
    "LocalMonotonicAttention",
    "LocalPredictiveAttention",
    "LocationAttention",
    "MultiplicativeAttention",
    "RecurrentStack",
]
