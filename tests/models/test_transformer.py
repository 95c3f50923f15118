import numpy as np
import pytest

from tests.harness import close, compiled, randomize, to_numpy
from tests.layers.test_transformer_layers import copy_layer, copy_norm
from tests.marks import once
from tests.translators import SOURCE, TARGET, VOCABULARY, check_translator
from zoo.models import Transformer, TransformerTranslator

SMALL = {"num_layers": 2, "hidden_dim": 8, "ff_dim": 12, "num_heads": 2, "dropout": 0.0}


@pytest.mark.parametrize(
    "options",
    [
        {"num_layers": 1},
        once({"norm": "pre", "tie_embeddings": None}),
        once({"tie_embeddings": "target"}),
    ],
    ids=str,
)
def test_contract(options):
    whole = options.get("num_layers") == 1
    check_translator(TransformerTranslator, {**SMALL, **options}, whole)


@pytest.mark.parametrize("norm", ["post", once("pre")])
def test_the_whole_model_is_torchs(norm):
    """Against `torch.nn.Transformer` in float64 with the same weights."""
    import torch

    model = randomize(Transformer(VOCABULARY, **SMALL, norm=norm))
    logits = to_numpy(compiled(model)({"source_ids": SOURCE, "target_ids": TARGET}))
    peer = torch.nn.Transformer(
        8, 2, 2, 2, 12, 0.0, "relu", layer_norm_eps=1e-6, batch_first=True,
        norm_first=norm == "pre", dtype=torch.float64,
    )  # fmt: skip
    E = to_numpy(model.token_embedding.embeddings).astype("float64")
    for own, other in (
        (model.encoder_layers, peer.encoder),
        (model.decoder_layers, peer.decoder),
    ):
        for layer, its in zip(own, other.layers, strict=True):
            copy_layer(layer, its)
    with torch.no_grad():
        if norm == "pre":
            copy_norm(model.encoder_norm, peer.encoder.norm)
            copy_norm(model.decoder_norm, peer.decoder.norm)
        else:  # the paper has no norm behind the stacks
            peer.encoder.norm = peer.decoder.norm = None
    positions = np.arange(20)[:, None] / 10000 ** (2 * np.arange(4) / 8)
    PE = np.stack([np.sin(positions), np.cos(positions)], -1).reshape(20, 8)

    def embed(ids):
        return torch.tensor(E[ids] * np.sqrt(8) + PE[: ids.shape[1]])

    rows = SOURCE.any(1)  # torch gives NaN for an empty source
    source, target = SOURCE[rows], TARGET[rows]
    future = torch.triu(torch.ones((7, 7), dtype=torch.bool), diagonal=1)
    with torch.no_grad():
        wanted = peer(
            embed(source),
            embed(target),
            tgt_mask=future,
            src_key_padding_mask=torch.tensor(source == 0),
            memory_key_padding_mask=torch.tensor(source == 0),
        )
    close(logits[rows], wanted.numpy() @ E.T, atol=1e-4)


def test_a_step_beyond_the_room_says_so():
    model = Transformer(VOCABULARY, **SMALL)
    memory, step = compiled(model.encode)(SOURCE), compiled(model.step)
    state = model.start_for(memory, 2)
    finite = []
    for t in range(3):
        logits, state, _ = step(TARGET[:, t], state, memory)
        finite.append(np.isfinite(to_numpy(logits)))
    assert finite[0].all() and finite[1].all() and not finite[2].any()
