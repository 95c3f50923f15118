import numpy as np
import pytest

from tests.harness import close, compiled, randomize, to_numpy
from tests.layers import reference
from tests.marks import once
from tests.translators import SOURCE, TARGET, VOCABULARY, check_translator
from zoo.models import LSTMNEncoderDecoder, LSTMNTranslator

SMALL = {"hidden_dim": 8, "embedding_dim": 6}


@pytest.mark.parametrize("options", [{}, once({"fusion": "shallow", "num_layers": 2})])
def test_contract(options):
    check_translator(LSTMNTranslator, {**SMALL, **options}, whole=not options)


@pytest.mark.parametrize("fusion", ["deep", once("shallow")])
def test_the_whole_model_is_the_papers(fusion):
    """Against NumPy, sentence by sentence, no padding, no batching, no hoisting."""
    model = randomize(LSTMNEncoderDecoder(VOCABULARY, **SMALL, fusion=fusion), 0.5)
    logits = to_numpy(compiled(model)({"source_ids": SOURCE, "target_ids": TARGET}))
    alignments = to_numpy(compiled(model.align)(SOURCE, TARGET))
    encoder, decoder = (
        reference.named(stack.cells[0]) for stack in (model.encoder, model.decoder)
    )
    output = reference.named(model.output_layer)
    E_x = to_numpy(model.source_embedding.embeddings).astype("float64")
    E_y = to_numpy(model.token_embedding.embeddings).astype("float64")
    for b in range(len(SOURCE)):
        source = [i for i in SOURCE[b].tolist() if i]
        first = np.zeros((2, 8))
        gamma, alpha, _ = reference.lstmn_run(E_x[source], encoder, first)
        if source:
            first = gamma[-1], alpha[-1]
        tapes = np.array(gamma), np.array(alpha)
        hs, _, ps = reference.lstmn_run(E_y[TARGET[b]], decoder, first, tapes, fusion)
        for t, h in enumerate(hs):
            close(logits[b, t], h @ output["kernel"] + output["bias"], atol=2e-5)
            close(alignments[b, t, : len(source)], ps[t])
