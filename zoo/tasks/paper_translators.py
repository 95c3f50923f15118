"""The translators of the papers: each a backbone with its preprocessor."""

import keras

from zoo.models.bahdanau import Bahdanau, RNNencdec
from zoo.models.cho import RNNEncoderDecoder
from zoo.models.lstmn import LSTMNEncoderDecoder
from zoo.models.luong import Luong
from zoo.models.sutskever import Seq2Seq
from zoo.models.transformer import Transformer
from zoo.tasks.translator import Translator
from zoo.text import TranslatorPreprocessor


@keras.saving.register_keras_serializable(package="zoo")
class BahdanauPreprocessor(TranslatorPreprocessor):
    """Strings to ids and back for `Bahdanau`."""

    backbone_cls = Bahdanau


@keras.saving.register_keras_serializable(package="zoo")
class BahdanauTranslator(Translator):
    """Translates text with `Bahdanau`; see `zoo.models.Translator`."""

    backbone_cls = Bahdanau
    preprocessor_cls = BahdanauPreprocessor


@keras.saving.register_keras_serializable(package="zoo")
class RNNencdecPreprocessor(TranslatorPreprocessor):
    """Strings to ids and back for `RNNencdec`."""

    backbone_cls = RNNencdec


@keras.saving.register_keras_serializable(package="zoo")
class RNNencdecTranslator(Translator):
    """Translates text with `RNNencdec`; see `zoo.models.Translator`."""

    backbone_cls = RNNencdec
    preprocessor_cls = RNNencdecPreprocessor


@keras.saving.register_keras_serializable(package="zoo")
class RNNEncoderDecoderPreprocessor(TranslatorPreprocessor):
    """Strings to ids and back for `RNNEncoderDecoder`."""

    backbone_cls = RNNEncoderDecoder


@keras.saving.register_keras_serializable(package="zoo")
class RNNEncoderDecoderTranslator(Translator):
    """Translates text with `RNNEncoderDecoder`; see `zoo.models.Translator`."""

    backbone_cls = RNNEncoderDecoder
    preprocessor_cls = RNNEncoderDecoderPreprocessor


@keras.saving.register_keras_serializable(package="zoo")
class LSTMNPreprocessor(TranslatorPreprocessor):
    """Strings to ids and back for `LSTMNEncoderDecoder`."""

    backbone_cls = LSTMNEncoderDecoder


@keras.saving.register_keras_serializable(package="zoo")
class LSTMNTranslator(Translator):
    """Translates text with `LSTMNEncoderDecoder`; see `zoo.models.Translator`."""

    backbone_cls = LSTMNEncoderDecoder
    preprocessor_cls = LSTMNPreprocessor


@keras.saving.register_keras_serializable(package="zoo")
class LuongPreprocessor(TranslatorPreprocessor):
    """Strings to ids and back for `Luong`."""

    backbone_cls = Luong


@keras.saving.register_keras_serializable(package="zoo")
class LuongTranslator(Translator):
    """Translates text with `Luong`; see `zoo.models.Translator`."""

    backbone_cls = Luong
    preprocessor_cls = LuongPreprocessor


@keras.saving.register_keras_serializable(package="zoo")
class Seq2SeqPreprocessor(TranslatorPreprocessor):
    """Strings to ids and back for `Seq2Seq`."""

    backbone_cls = Seq2Seq


@keras.saving.register_keras_serializable(package="zoo")
class Seq2SeqTranslator(Translator):
    """Translates text with `Seq2Seq`; see `zoo.models.Translator`."""

    backbone_cls = Seq2Seq
    preprocessor_cls = Seq2SeqPreprocessor


@keras.saving.register_keras_serializable(package="zoo")
class TransformerPreprocessor(TranslatorPreprocessor):
    """Strings to ids and back for `Transformer`."""

    backbone_cls = Transformer


@keras.saving.register_keras_serializable(package="zoo")
class TransformerTranslator(Translator):
    """Translates text with `Transformer`; see `zoo.models.Translator`."""

    backbone_cls = Transformer
    preprocessor_cls = TransformerPreprocessor
