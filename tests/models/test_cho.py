import numpy as np
import pytest

from tests.harness import close, compiled, randomize, to_numpy
from tests.layers import reference
from tests.marks import once
from tests.translators import SOURCE, TARGET, VOCABULARY, check_translator
from zoo.models import RNNEncoderDecoder, RNNEncoderDecoderTranslator

SMALL = {"hidden_dim": 8, "embedding_dim": 6, "maxout_dim": 5, "output_rank": 4}


@pytest.mark.parametrize(
    "options",
    [
        {},
        once({"variant": "groundhog"}),
        once({"use_bias": False, "output_rank": None}),
    ],
    ids=str,
)
def test_contract(options):
    check_translator(RNNEncoderDecoderTranslator, {**SMALL, **options}, not options)


@pytest.mark.parametrize("variant", ["paper", once("groundhog")])
def test_the_whole_model_is_the_papers(variant):
    """Against NumPy, sentence by sentence, no padding, no batching, no hoisting."""
    paper = variant == "paper"
    model = randomize(RNNEncoderDecoder(VOCABULARY, **SMALL, variant=variant), 0.5)
    logits = to_numpy(compiled(model)({"source_ids": SOURCE, "target_ids": TARGET}))
    encoder = reference.named(model.encoder.cells[0][0])
    decoder = reference.named(model.decoder.cell)
    output = reference.named(model.maxout)
    start, G_l = (reference.named(x) for x in (model.start_layer, model.output_layer))
    G_r = reference.named(model.low_rank)["kernel"]
    E_x = to_numpy(model.source_embedding.embeddings).astype("float64")
    E_y = to_numpy(model.token_embedding.embeddings).astype("float64")
    C = decoder["kernel"][6:].copy()  # of the gates and, last, of the candidate

    def gru(x, h, weights, **options):
        kernels = weights["kernel"], weights["recurrent_kernel"]
        return reference.gru_step(x, h, *kernels, weights["bias"], paper, **options)

    for b in range(len(SOURCE)):
        h = np.zeros(8)
        for word in [i for i in SOURCE[b].tolist() if i]:
            h = gru(E_x[word], h, encoder)
        c = h
        if paper:
            V = reference.named(model.summarize)
            c = np.tanh(h @ V["kernel"] + V["bias"])
        h = np.tanh(c @ start["kernel"] + start["bias"])
        for t, word in enumerate(TARGET[b].tolist()):
            e = E_y[word] if t else np.zeros(6)  # e(y_0) = 0
            if paper:
                own = decoder["kernel"].copy()
                own[6:, 16:] = 0  # C c stands inside the reset gate's bracket
                weights = {**decoder, "kernel": own}
                new = gru(np.concatenate([e, c]), h, weights, after=c @ C[:, 16:])
            else:
                new = gru(np.concatenate([e, c]), h, decoder)
            s = reference.maxout(new if paper else h, e, c, output)
            close(logits[b, t], s @ G_r @ G_l["kernel"] + G_l["bias"], atol=2e-5)
            h = new
