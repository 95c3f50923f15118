"""Exports a Transformer for CTranslate2, which runs it without Keras."""

from pathlib import Path
from typing import Any

import numpy as np
from keras import ops

from zoo.decoding.search import longest_translation
from zoo.files import StrPath
from zoo.ids import END_ID
from zoo.layers import sinusoids
from zoo.models import Transformer
from zoo.serving.export.manifest import (
    check_export,
    check_weights,
    translator_settings,
    write_export,
)
from zoo.text.rows import LONGEST


def export_ctranslate2(
    task: Any, path: StrPath, quantize: str | None = None, preset: str | None = None
) -> Path:
    """Writes the next version of a Transformer for CTranslate2.

    The folder `path/N` has a CTranslate2 model, whose vocabulary has the pieces in the
    order of their ids, the SentencePiece model, and `manifest.json`.

    Args:
        task: a `zoo.models.TransformerTranslator` with its preprocessor, float32, under
            any backend.
        path: the model's folder.
        quantize: "int8" for the weights of products and word vectors.
        preset: as in `zoo.serving.export_savedmodel`.

    Returns:
        The version's folder.

    Raises:
        TypeError: for another task.
        ValueError: for another precision or quantization, or without a preprocessor.
        ImportError: without ctranslate2.
    """
    check_export(task, "ctranslate2")
    if type(task.backbone) is not Transformer:
        raise TypeError(
            "CTranslate2 runs the Transformer of zoo.models; ONNX graphs can be of any "
            f"translator. Received: {type(task.backbone).__name__}"
        )
    check_weights(task, quantize)
    settings, vocabulary = translator_settings(task), task.preprocessor.tokenizer
    positions = longest_translation(max(settings["source_length"], LONGEST))
    spec = _spec(task.backbone, positions)
    pieces = [vocabulary.id_to_token(i) for i in range(vocabulary.vocabulary_size())]
    spec.register_source_vocabulary(pieces)
    spec.register_target_vocabulary(pieces)
    config = spec.config
    _, config.unk_token, config.bos_token, config.eos_token = pieces[: END_ID + 1]
    config.decoder_start_token = config.bos_token
    spec.validate()
    spec.optimize(quantization=quantize)

    def write(part):
        spec.save(str(part))
        vocabulary.save_assets(str(part))
        return {"quantize": quantize, "settings": settings, "positions": positions}

    return write_export(task, "ctranslate2", path, preset, write)


def _spec(backbone, positions):
    """Returns CTranslate2's specification of a Transformer, with its weights."""
    from ctranslate2.specs import TransformerSpec

    spec = TransformerSpec.from_config(
        backbone.num_layers,
        backbone.num_heads,
        pre_norm=backbone.norm == "pre",
        alignment_heads=backbone.num_heads,  # the mean of the last layer's
    )
    spec.config.layer_norm_epsilon = 1e-6
    encoder, decoder, output = spec.encoder, spec.decoder, backbone.output_layer
    encodings = _array(sinusoids(np.arange(positions), backbone.hidden_dim))
    for side, last, layers in (
        (encoder, backbone.encoder_norm, backbone.encoder_layers),
        (decoder, backbone.decoder_norm, backbone.decoder_layers),
    ):
        side.position_encodings.encodings = encodings
        if last is not None:
            _set_norm(side, last)
        for part, layer in zip(side.layer, layers, strict=True):
            _set_layer(part, layer)
    encoder.embeddings[0].weight = _array(backbone.source_embedding.embeddings)
    decoder.embeddings.weight = _array(backbone.token_embedding.embeddings)
    words = decoder.embeddings.weight if output is None else _array(output.kernel).T
    decoder.projection.weight = words
    return spec


def _set_layer(part, layer):
    """Sets the weights of a layer of the specification."""
    own = layer.self_attention
    _set_norm(part.self_attention, layer.self_attention_norm)
    _set_products(part.self_attention.linear, [own.W_Q, own.W_K, own.W_V], [own.W_O])
    if hasattr(part, "attention"):
        read = layer.memory_attention
        _set_norm(part.attention, layer.memory_attention_norm)
        products = [read.W_Q], [read.W_K, read.W_V], [read.W_O]
        _set_products(part.attention.linear, *products)
    _set_norm(part.ffn, layer.feed_forward_norm)
    linear = part.ffn.linear_0, part.ffn.linear_1
    _set_products(linear, [layer.inner], [layer.outer])


def _set_products(parts, *products):
    """Sets the weights of products, each of Dense layers side by side."""
    for part, layers in zip(parts, products, strict=True):
        part.weight = np.concatenate([_array(layer.kernel).T for layer in layers])
        if layers[0].use_bias:
            part.bias = np.concatenate([_array(layer.bias) for layer in layers])


def _set_norm(part, layer):
    part.layer_norm.gamma = _array(layer.gamma)
    part.layer_norm.beta = _array(layer.beta)


def _array(values):
    return np.array(ops.convert_to_numpy(values), "float32")
