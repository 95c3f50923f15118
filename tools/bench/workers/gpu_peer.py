"""Peers of `tools.bench.gpu`, at zoo's sizes.

`plain` is PyTorch as one writes it: `nn.LSTM` and a step with input feeding, or
`nn.Transformer`, whose attention is flash attention. `marian` is the Transformer of
Hugging Face's transformers. Each trains eagerly and compiled (of Luong's model the
step), and the faster counts. Its batch stays on the GPU; zoo's comes from the host.
"""

import functools

import torch
from torch import nn

from tools.bench.core import timed, versions


class PlainLuong(nn.Module):
    """Stacked LSTMs, global attention with the general score, input feeding."""

    def __init__(self, _, vocabulary_size, num_layers, hidden_dim):
        super().__init__()
        self.source = nn.Embedding(vocabulary_size, hidden_dim)
        self.target = nn.Embedding(vocabulary_size, hidden_dim)
        options = {"batch_first": True, "bias": False}
        self.encoder = nn.LSTM(hidden_dim, hidden_dim, num_layers, **options)
        widths = [2 * hidden_dim] + [hidden_dim] * (num_layers - 1)
        cells = [nn.LSTMCell(width, hidden_dim, bias=False) for width in widths]
        self.cells = nn.ModuleList(cells)
        self.score = nn.Linear(hidden_dim, hidden_dim, bias=False)
        self.combine = nn.Linear(2 * hidden_dim, hidden_dim, bias=False)
        self.output = nn.Linear(hidden_dim, vocabulary_size)

    def step(self, word, fed, states, memory, keys):
        x, following = torch.cat([word, fed], -1), []
        for cell, state in zip(self.cells, states, strict=True):
            following.append(cell(x, state))
            x = following[-1][0]
        weights = torch.softmax(keys @ x[..., None], 1)
        context = (weights * memory).sum(1)
        return torch.tanh(self.combine(torch.cat([context, x], -1))), following

    def forward(self, source, target):
        memory, (h, c) = self.encoder(self.source(source))
        keys, states = self.score(memory), list(zip(h, c, strict=True))
        fed, outputs = torch.zeros_like(memory[:, 0]), []
        for word in self.target(target).unbind(1):
            fed, states = self.step(word, fed, states, memory, keys)
            outputs.append(fed)
        return self.output(torch.stack(outputs, 1))


class PlainTransformer(nn.Module):
    """`nn.Transformer` with pre-norm layers, between embeddings and a product."""

    def __init__(
        self, length, vocabulary_size, num_layers, hidden_dim, ff_dim, num_heads
    ):
        super().__init__()
        self.source = nn.Embedding(vocabulary_size, hidden_dim)
        self.target = nn.Embedding(vocabulary_size, hidden_dim)
        self.positions = nn.Parameter(torch.zeros(length, hidden_dim))
        sizes = hidden_dim, num_heads, num_layers, num_layers, ff_dim, 0.0
        self.layers = nn.Transformer(*sizes, batch_first=True, norm_first=True)
        self.output = nn.Linear(hidden_dim, vocabulary_size)

    def forward(self, source, target):
        source = self.source(source) + self.positions[: source.shape[1]]
        target = self.target(target) + self.positions[: target.shape[1]]
        make_mask = self.layers.generate_square_subsequent_mask
        mask = make_mask(target.shape[1], target.device)
        x = self.layers(source, target, tgt_mask=mask, tgt_is_causal=True)
        return self.output(x)


def marian(_, vocabulary_size, num_layers, hidden_dim, ff_dim, num_heads):
    """Hugging Face's Marian as a function of ids, in its own initial weights."""
    from transformers import MarianConfig, MarianMTModel

    class Marian(MarianMTModel):
        def forward(self, source, target):
            return super().forward(source, decoder_input_ids=target).logits

    sizes = {"layers": num_layers, "attention_heads": num_heads, "ffn_dim": ff_dim}
    options = {f"{x}_{k}": v for x in ("encoder", "decoder") for k, v in sizes.items()}
    options |= {"vocab_size": vocabulary_size, "d_model": hidden_dim}
    options |= {"decoder_vocab_size": vocabulary_size, "activation_function": "relu"}
    options |= {"pad_token_id": 0, "decoder_start_token_id": 0, "dropout": 0.0}
    own = ("share_encoder_decoder_embeddings", "tie_word_embeddings", "use_cache")
    return Marian(MarianConfig(**options, **dict.fromkeys(own, False)))


def train(args, sizes, length):
    """Trains a peer on targets of `length` words, the end token one of them. Returns
    target tokens a second.

    Args:
        args: those of `tools.bench.workers.gpu`.
        sizes: of the model, one of its `SIZES`.
    """
    torch.manual_seed(1)
    place = "cuda" if torch.cuda.is_available() else "cpu"
    plain = PlainLuong if args.model == "luong" else PlainTransformer
    make = plain if args.part == "plain" else marian
    model = make(length, **sizes).to(place)
    optimizer = torch.optim.Adam(model.parameters(), fused=True)
    shape = args.batch_size, length
    words = torch.randint(4, sizes["vocabulary_size"], shape, device=place)

    def loss_of(words):
        with torch.autocast(place, torch.bfloat16):
            logits = model(words[:, :-1].flip(1), words).flatten(0, 1)
        return nn.functional.cross_entropy(logits.float(), words.roll(-1, 1).flatten())

    def window(function):
        for _ in range(args.steps):
            loss = function(words)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return loss.item()  # waits for the GPU

    def with_step(words, step):
        model.step = step
        return loss_of(words)

    # A dry run needs no C++ compiler.
    options = {"backend": "eager"} if args.size == "dry" else {}
    eager = model.step if args.model == "luong" else loss_of
    runs = {"eager": eager, "compiled": torch.compile(eager, **options)}
    if args.model == "luong":
        runs = {k: functools.partial(with_step, step=step) for k, step in runs.items()}
    windows = {name: functools.partial(window, run) for name, run in runs.items()}
    for run in windows.values():
        run()
    args.wait()
    found = {
        name: args.steps * words.numel() / min(timed(run)[1] for _ in range(2))
        for name, run in windows.items()
    }
    packages = ["torch"] + ["transformers"] * (args.part == "marian")
    most = max(found.values())
    return {**found, "tokens_per_second": most, "versions": versions(*packages)}
