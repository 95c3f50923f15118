"""A peer of `tools.bench.gpu`, of zoo's sizes; the last line printed is JSON.

`plain` is PyTorch as one writes it: `nn.LSTM` and a compiled step with input feeding,
or a compiled `nn.Transformer`, whose attention is flash attention. `marian` is the
Transformer of Hugging Face's transformers.

    python -m tools.bench.workers.gpu_peer plain --model luong --size paper
"""

import argparse
import json

import torch
from torch import nn

from tools.bench.core import repeated, versions
from tools.bench.workers.gpu import LENGTH, SIZES, device, memory, wait
from zoo.layers import sinusoids


class PlainLuong(nn.Module):
    """Stacked LSTMs, global attention with the general score, input feeding."""

    def __init__(self, vocabulary_size, num_layers, hidden_dim):
        super().__init__()
        self.source = nn.Embedding(vocabulary_size, hidden_dim)
        self.target = nn.Embedding(vocabulary_size, hidden_dim)
        self.encoder = nn.LSTM(hidden_dim, hidden_dim, num_layers, batch_first=True)
        widths = [2 * hidden_dim] + [hidden_dim] * (num_layers - 1)
        self.cells = nn.ModuleList(nn.LSTMCell(width, hidden_dim) for width in widths)
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

    def __init__(self, vocabulary_size, num_layers, hidden_dim, ff_dim, num_heads):
        super().__init__()
        self.source = nn.Embedding(vocabulary_size, hidden_dim)
        self.target = nn.Embedding(vocabulary_size, hidden_dim)
        places = torch.as_tensor(sinusoids(torch.arange(LENGTH + 1), hidden_dim))
        self.register_buffer("places", places.detach().clone())
        sizes = hidden_dim, num_heads, num_layers, num_layers, ff_dim, 0.0
        self.layers = nn.Transformer(*sizes, batch_first=True, norm_first=True)
        self.output = nn.Linear(hidden_dim, vocabulary_size)

    def forward(self, source, target):
        source = self.source(source) + self.places[: source.shape[1]]
        target = self.target(target) + self.places[: target.shape[1]]
        mask = self.layers.generate_square_subsequent_mask(
            target.shape[1], target.device, target.dtype
        )
        x = self.layers(source, target, tgt_mask=mask, tgt_is_causal=True)
        return self.output(x)


def marian(vocabulary_size, num_layers, hidden_dim, ff_dim, num_heads):
    """Hugging Face's Marian as a function of ids, in its own initial weights."""
    from transformers import MarianConfig, MarianMTModel

    class Marian(MarianMTModel):
        def forward(self, source, target):
            return super().forward(source, decoder_input_ids=target).logits

    sizes = {"layers": num_layers, "attention_heads": num_heads, "ffn_dim": ff_dim}
    options = {f"{x}_{k}": v for x in ("encoder", "decoder") for k, v in sizes.items()}
    options |= {"vocab_size": vocabulary_size, "d_model": hidden_dim}
    options |= {"activation_function": "relu", "dropout": 0.0}
    return Marian(MarianConfig(**options, pad_token_id=0, decoder_start_token_id=0))


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("peer", choices=("plain", "marian"))
    parser.add_argument("--model", choices=SIZES, default="luong")
    parser.add_argument("--size", choices=("small", "paper", "dry"), default="small")
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--steps", type=int, default=20, help="of a window")
    parser.add_argument("--turn", action="store_true", help="as of workers.gpu")
    args = parser.parse_args(argv)
    torch.manual_seed(1)
    place = "cuda" if torch.cuda.is_available() else "cpu"
    # A dry run needs no C++ compiler.
    options = {"backend": "eager"} if args.size == "dry" else {}
    sizes, plain = SIZES[args.model][args.size], args.peer == "plain"
    if args.model == "luong":
        model = run = PlainLuong(**sizes).to(place)
        model.step = torch.compile(model.step, **options)
    else:
        model = (PlainTransformer if plain else marian)(**sizes).to(place)
        run = torch.compile(model, **options)
    optimizer = torch.optim.Adam(model.parameters(), fused=True)
    shape = args.batch_size, LENGTH + 1
    words = torch.randint(4, sizes["vocabulary_size"], shape, device=place)

    def window():
        for _ in range(args.steps):
            with torch.autocast(place, torch.bfloat16):
                logits = run(words[:, :-1].flip(1), words)
            labels = words.roll(-1, 1)
            loss = nn.functional.cross_entropy(logits.float().mT, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return loss.item()  # when the GPU has ended

    window()
    if args.turn:
        wait()
    _, _, seconds = repeated(window, 3)
    tokens = args.steps * words.numel()
    found = {
        "tokens_per_second": tokens / min(seconds),
        "versions": versions("torch", *[] if plain else ["transformers"]),
        "device": device(),
        **memory(),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
