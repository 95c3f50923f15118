import inspect

import numpy as np
import pytest

from tests.harness import close, compiled, randomize, to_numpy
from tests.layers import reference
from tests.marks import once
from tests.translators import SOURCE, TARGET, VOCABULARY, check_translator
from zoo.models import (
    Bahdanau,
    BahdanauTranslator,
    RNNencdec,
    RNNencdecTranslator,
    RNNEncoderDecoder,
)

SMALL = {"hidden_dim": 8, "embedding_dim": 6, "attention_dim": 7, "maxout_dim": 5}


@pytest.mark.parametrize(
    "options",
    [{}, once({"readout": "current", "use_bias": False, "target_vocabulary_size": 15})],
    ids=str,
)
def test_contract(options):
    whole = options.get("readout") is None
    check_translator(BahdanauTranslator, {**SMALL, **options}, whole)


@pytest.mark.parametrize("readout", ["previous", once("current")])
def test_the_whole_model_is_the_papers(readout):
    """Against NumPy, sentence by sentence, no padding, no batching, no hoisting."""
    model = Bahdanau(VOCABULARY, **SMALL, readout=readout)
    randomize(model, 0.5)
    logits = to_numpy(compiled(model)({"source_ids": SOURCE, "target_ids": TARGET}))
    alignments = to_numpy(compiled(model.align)(SOURCE, TARGET))
    encoder = [reference.named(cell) for cell in model.encoder.cells[0]]
    decoder = reference.named(model.decoder.cell.cell)
    score = reference.named(model.decoder.cell.attention)
    output = reference.named(model.deep_output)
    W_s, W_o = (reference.named(x) for x in (model.start_layer, model.output_layer))
    E_x = to_numpy(model.source_embedding.embeddings).astype("float64")
    E_y = to_numpy(model.token_embedding.embeddings).astype("float64")

    def gru(x, h, weights):
        kernels = weights["kernel"], weights["recurrent_kernel"]
        return reference.gru_step(x, h, *kernels, weights["bias"], keep=False)

    for b in range(len(SOURCE)):
        source = [i for i in SOURCE[b].tolist() if i]
        states = []
        for weights, order in zip(encoder, (1, -1), strict=True):
            h, found = np.zeros(8), []
            for word in source[::order]:
                h = gru(E_x[word], h, weights)
                found.append(h)
            states.append(found[::order])
            final = h
        # (empty for an empty source)
        memory = np.concatenate([np.array(x).reshape(-1, 8) for x in states], axis=1)
        s = np.tanh(final @ W_s["kernel"] + W_s["bias"])
        for t, word in enumerate(TARGET[b].tolist()):
            context, a = np.zeros(16), np.zeros(0)
            if source:
                context, a = reference.attend("additive", s, memory, score)
            close(alignments[b, t, : len(source)], a)
            new = gru(np.concatenate([E_y[word], context]), s, decoder)
            read = s if readout == "previous" else new
            t_i = reference.maxout(read, E_y[word], context, output)
            close(logits[b, t], t_i @ W_o["kernel"] + W_o["bias"], atol=2e-5)
            s = new


@pytest.mark.once
def test_rnnencdec():
    """The authors' code for Cho et al. 2014, of this paper's sizes."""
    sizes = {"hidden_dim": 8, "embedding_dim": 6, "maxout_dim": 5}
    check_translator(RNNencdecTranslator, sizes, False)
    model = randomize(RNNencdec(VOCABULARY, **sizes))
    cho = {"variant": "groundhog", "output_rank": None}
    plain = RNNEncoderDecoder(VOCABULARY, **sizes, **cho)
    plain.set_weights(model.get_weights())
    inputs = {"source_ids": SOURCE, "target_ids": TARGET}
    close(model(inputs), plain(inputs))
    known = inspect.signature(RNNencdec).parameters
    assert known["vocabulary_size"].default == 30000
    assert known["embedding_dim"].default == 620


def test_a_config_of_before():
    config = Bahdanau(VOCABULARY, **SMALL).get_config()
    assert Bahdanau.from_config({**config, "attention": True}).hidden_dim == 8
    with pytest.raises(ValueError, match="attention.: False"):
        Bahdanau.from_config({**config, "attention": False})
