"""Making, storing and loading preprocessors."""

import json

import keras
import keras_hub
import pytest

from zoo.text import Tokenizer, TranslatorPreprocessor

pytestmark = pytest.mark.once


# === Making one ===
@pytest.mark.parametrize(
    "arguments",
    [
        {"source_length": 0},
        {"source_length": 1, "source_end": True},
        {"target_length": 1},
        {"target_length": 8.0},
        {"source_length": None},
        {"source_length": True},
    ],
)
def test_lengths_without_room_are_refused(tokenizer, arguments):
    with pytest.raises(ValueError, match="_length` must be .*integer.* Received: "):
        TranslatorPreprocessor(tokenizer, **arguments)


def test_another_tokenizer_is_refused(proto):
    other = keras_hub.tokenizers.SentencePieceTokenizer(proto=proto)
    for tokenizer in (other, None):
        with pytest.raises(TypeError, match="must be a zoo.text.Tokenizer. Received: "):
            TranslatorPreprocessor(tokenizer)


@pytest.mark.parametrize(
    "settings", [{"add_eos": True}, {"sequence_length": 8}, {"dtype": "string"}]
)
def test_a_tokenizer_that_does_more_is_refused(proto, settings):
    with pytest.raises(ValueError, match="tokenizer must have dtype int32"):
        TranslatorPreprocessor(Tokenizer(proto=proto, **settings))


def test_configuration_round_trip(tokenizer):
    preprocessor = TranslatorPreprocessor(tokenizer, 11, 13, source_end=True)
    config = json.loads(json.dumps(keras.saving.serialize_keras_object(preprocessor)))
    assert config["registered_name"] == "zoo>TranslatorPreprocessor"
    revived = keras.saving.deserialize_keras_object(config)
    assert revived.get_config() == preprocessor.get_config()
    lengths = (revived.source_length, revived.target_length, revived.source_end)
    assert lengths == (11, 13, True)
    assert set(dir(revived)) == set(dir(preprocessor))


@keras.saving.register_keras_serializable(package="zoo_text_tests")
class Embed(keras_hub.models.Backbone):
    def __init__(self, size, dtype=None, **kwargs):
        inputs = keras.Input((None,), dtype="int32", name="source_ids")
        outputs = keras.layers.Embedding(size, 2)(inputs)
        super().__init__(inputs=inputs, outputs=outputs, dtype=dtype, **kwargs)
        self.size = size

    def get_config(self):
        return {**super().get_config(), "size": self.size}


@keras.saving.register_keras_serializable(package="zoo_text_tests")
class EmbedTokenizer(Tokenizer):
    backbone_cls = Embed


@keras.saving.register_keras_serializable(package="zoo_text_tests")
class EmbedPreprocessor(TranslatorPreprocessor):
    backbone_cls = Embed
    tokenizer_cls = EmbedTokenizer


def test_preset_round_trip(proto, tmp_path):
    preprocessor = EmbedPreprocessor(EmbedTokenizer(proto=proto), 11, 13, True)
    Embed(80).save_to_preset(tmp_path)
    preprocessor.save_to_preset(tmp_path)
    stored = tmp_path / "assets" / "tokenizer" / "vocabulary.spm"
    assert stored.read_bytes() == proto

    revived = TranslatorPreprocessor.from_preset(str(tmp_path))
    assert type(revived) is EmbedPreprocessor
    assert revived.get_config() == preprocessor.get_config()
    assert revived.encode("sie rennt.") == preprocessor.encode("sie rennt.")
    tokenizer = keras_hub.tokenizers.Tokenizer.from_preset(str(tmp_path))
    assert type(tokenizer) is EmbedTokenizer
    assert tokenizer.proto == proto


def test_a_preset_without_a_preprocessor_gives_the_defaults(proto, tmp_path):
    Embed(80).save_to_preset(tmp_path)
    EmbedTokenizer(proto=proto).save_to_preset(tmp_path)
    revived = EmbedPreprocessor.from_preset(str(tmp_path))
    assert (revived.source_length, revived.target_length) == (128, 128)
    assert revived.tokenizer.proto == proto
