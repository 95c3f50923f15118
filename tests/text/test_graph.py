"""The preprocessor inside TensorFlow graphs: it must give what it gives without them."""

import random
import warnings

import keras
import numpy as np
import pytest

from zoo.text import TranslatorPreprocessor

pytest.importorskip("tensorflow_text")
import tensorflow as tf  # noqa: E402
