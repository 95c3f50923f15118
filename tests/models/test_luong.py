import numpy as np
import pytest

from tests.harness import close, compiled, randomize, to_numpy
from tests.layers import reference
from tests.marks import once
from tests.translators import SOURCE, TARGET, VOCABULARY, check_translator
from zoo.models import Luong, LuongTranslator

SMALL = {"num_layers": 2, "hidden_dim": 8, "embedding_dim": 6, "window": 2}


@pytest.mark.parametrize(
    "options",
    [
        {"attention": "local_p", "score": "general"},
        once({"attention": "local_p", "score": "dot", "input_feeding": False}),
        once({"attention": "local_m", "score": "concat", "bidirectional": True}),
        once({"attention": "global", "score": "concat", "input_feeding": False}),
        once({"attention": "global", "score": "dot", "reverse_source": False}),
        once({"attention": "location", "max_source_length": 5}),
    ],
    ids=lambda options: "-".join(str(value) for value in options.values()),
)
def test_contract(options):
    # The two ways to run the decoder get the whole list.
    whole = options["attention"] == "local_p"
    check_translator(LuongTranslator, {**SMALL, **options}, whole)


@pytest.mark.once
@pytest.mark.parametrize("tie", ["target", "all"])
def test_contract_of_tied_embeddings(tie):
    options = {**SMALL, "embedding_dim": 8, "tie_embeddings": tie}
    whole = tie == "all"
    model = check_translator(LuongTranslator, options, whole)
    free = Luong(VOCABULARY, **{**options, "tie_embeddings": None})
    matrices = {"target": 1, "all": 2}[tie] * VOCABULARY * 8
    assert free.count_params() - model.count_params() == matrices
    assert len(model.weights) == len({v.path for v in model.weights})
    inputs = {"source_ids": SOURCE, "target_ids": TARGET}
    # The same numbers in a model with matrices of its own.
    table = to_numpy(model.token_embedding.embeddings)
    free.token_embedding.embeddings.assign(table)
    free.output_layer.kernel.assign(table.T)
    sources = to_numpy(model.source_embedding.embeddings)
    free.source_embedding.embeddings.assign(sources)

    def others(model):
        names = ("embedding", "W_s")
        return [v for v in model.weights if not any(n in v.path for n in names)]

    for mine, own in zip(others(free), others(model), strict=True):
        mine.assign(own)
    close(free(inputs), model(inputs))


@pytest.mark.parametrize("feeding", [True, once(False)])
def test_the_whole_model_is_the_papers(feeding):
    """Against NumPy, sentence by sentence, no padding, no batching, no hoisting."""
    model = Luong(VOCABULARY, **SMALL, input_feeding=feeding)
    randomize(model, 0.5)
    logits = to_numpy(compiled(model)({"source_ids": SOURCE, "target_ids": TARGET}))
    cell = model.decoder.cell
    encoder = [reference.named(cells[0]) for cells in model.encoder.cells]
    decoder = [reference.named(c) for c in cell.cells]
    attention = reference.named(cell.attention)
    W_c, W_s = (
        to_numpy(w).astype("float64") for w in (cell.W_c, model.output_layer.kernel)
    )
    E_x = to_numpy(model.source_embedding.embeddings).astype("float64")
    E_y = to_numpy(model.token_embedding.embeddings).astype("float64")
    for b in range(len(SOURCE)):
        source = [i for i in SOURCE[b].tolist() if i]
        h, c = [np.zeros(8)] * 2, [np.zeros(8)] * 2
        memory = np.zeros((len(source), 8))
        for s in reversed(range(len(source))):  # the source is read backwards
            memory[s] = reference.lstm_stack(encoder, E_x[source[s]], h, c)
        fed = np.zeros(8)
        for t, word in enumerate(TARGET[b].tolist()):
            x = np.concatenate([E_y[word], fed]) if feeding else E_y[word]
            x = reference.lstm_stack(decoder, x, h, c)
            if source:
                focus = reference.predicted_focus(x, len(source), attention)
                centre = min(int(focus), len(source) - 1)
                context, _ = reference.local(
                    "general", x, memory, attention, centre, 2, focus
                )
            else:
                context = np.zeros(8)
            fed = np.tanh(np.concatenate([context, x]) @ W_c)
            close(logits[b, t], fed @ W_s, atol=2e-5)


@pytest.mark.parametrize(
    "options",
    [
        {"attention": "local_p"},
        once({"attention": "local_m"}),
        once({"attention": "local_p", "input_feeding": False}),
        once({"attention": "local_p", "num_layers": 3}),
    ],
)
def test_look_is_align_and_the_windows_in_source_order(options):
    model = randomize(Luong(VOCABULARY, **{**SMALL, **options}))
    weights, focus, windows = to_numpy(compiled(model.align_details)(SOURCE, TARGET))
    close(weights, compiled(model.align)(SOURCE, TARGET))
    lengths = (SOURCE != 0).sum(1)
    for b, length in enumerate(lengths):
        for t in range(TARGET.shape[1]):
            if options["attention"] == "local_m":
                assert focus[b, t] == max(min(t, length - 1), 0)
            centre = max(min(int(focus[b, t]), length - 1), 0)
            ends = [max(centre - 2, 0), max(min(centre + 2, length - 1), 0)]
            assert windows[b, t].tolist() == ends
            seen = np.nonzero(weights[b, t])[0]
            assert length == 0 or (seen.min() >= ends[0] and seen.max() <= ends[1])
