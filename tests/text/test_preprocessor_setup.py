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
