import numpy as np
import pytest

from tests.harness import close, compiled, randomize, to_numpy
from tests.layers import reference
from tests.marks import once
from tests.translators import SOURCE, TARGET, VOCABULARY, check_translator
from zoo.models import Seq2Seq, Seq2SeqTranslator

SMALL = {"num_layers": 2, "hidden_dim": 8, "embedding_dim": 6}


@pytest.mark.parametrize(
    "options", [{}, once({"use_bias": True, "reverse_source": False})]
)
def test_contract(options):
    check_translator(Seq2SeqTranslator, {**SMALL, **options}, whole=not options)


@pytest.mark.parametrize("reverse", [True, once(False)])
def test_the_whole_model_is_the_papers(reverse):
    """Against NumPy, sentence by sentence, no padding, no batching, no hoisting."""
    model = Seq2Seq(VOCABULARY, **SMALL, use_bias=True, reverse_source=reverse)
    randomize(model, 0.5)
    logits = to_numpy(compiled(model)({"source_ids": SOURCE, "target_ids": TARGET}))
    encoder, decoder = (
        [reference.named(cells[0]) for cells in stack.cells]
        for stack in (model.encoder, model.decoder)
    )
    output = reference.named(model.output_layer)
    E_x = to_numpy(model.source_embedding.embeddings).astype("float64")
    E_y = to_numpy(model.token_embedding.embeddings).astype("float64")
    for b in range(len(SOURCE)):
        h, c = [np.zeros(8)] * 2, [np.zeros(8)] * 2
        source = [i for i in SOURCE[b].tolist() if i]
        for word in source[::-1] if reverse else source:
            reference.lstm_stack(encoder, E_x[word], h, c)
        for t, word in enumerate(TARGET[b].tolist()):
            x = reference.lstm_stack(decoder, E_y[word], h, c)
            close(logits[b, t], x @ output["kernel"] + output["bias"], atol=2e-5)
