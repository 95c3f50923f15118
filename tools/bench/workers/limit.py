"""The matrix-product limit of `tools.bench.train`'s work on this machine.

    python -m tools.bench.workers.limit --source 13.1 --target 13.4

A training step must at least do its matrix products, forward and backward. Counted at
the mean sentence lengths S and T (real tokens, the target's end token included), batch
B, embeddings E, cells H, vocabulary V, an (m, k) by (k, n) product as 2 m k n
operations, the forward pass does

    encoder, words        (B S, E) by (E, 4 H/2), two directions
    encoder, recurrent    S times (B, H/2) by (H/2, 4 H/2), two directions
    attention, keys       (B S, H) by (H, H)
    decoder, words        (B T, E) by (E, 4 H)
    decoder, recurrent    T times (B, 2 H) by (2 H, 4 H): fed attention and state
    attention, scores     T B times (1, H) by (H, S), and (1, S) by (S, H)
    attention, output     T times (B, 2 H) by (2 H, H)
    vocabulary            (B T, H) by (H, V)

and the backward pass two products of the same size for each. The limit is the target
tokens of a batch, divided by the time that these operations take at the rate of a large
float32 product (2048 by 2048 by 2048, PyTorch, its own choice of threads).
"""

import argparse
import json
import statistics
import time


def products(batch, source, target, vocabulary=6000, embedding=256, hidden=256):
    """The forward matrix products of one batch: (name, times, m, k, n) of each."""
    half = hidden // 2
    return [
        ("encoder, words", 2, batch * source, embedding, 4 * half),
        ("encoder, recurrent", 2 * source, batch, half, 4 * half),
        ("attention, keys", 1, batch * source, hidden, hidden),
        ("decoder, words", 1, batch * target, embedding, 4 * hidden),
        ("decoder, recurrent", target, batch, 2 * hidden, 4 * hidden),
        ("attention, scores", 2 * target * batch, 1, hidden, source),
        ("attention, output", target, batch, 2 * hidden, hidden),
        ("vocabulary", 1, batch * target, hidden, vocabulary),
    ]


def training_operations(batch, source, target, **sizes):
    """Operations of a training step: those of the forward pass three times."""
    return 3 * sum(
        2 * times * m * k * n
        for _, times, m, k, n in products(batch, source, target, **sizes)
    )


def limit(rate, batch, source, target, **sizes):
    """Target tokens per second if a step were its products at `rate` operations/s."""
    return rate * batch * target / training_operations(batch, source, target, **sizes)


def measure(m, k, n, seconds=1.0, count=1):
    """Rates (operations/s) of (m, k) by (k, n), `count` of them at a time: for each of
    five spans of time."""
    import torch

    a, b = torch.rand(count, m, k), torch.rand(count, k, n)
    if count == 1:
        a, b = a[0], b[0]
    out = torch.matmul(a, b)
    rates = []
    for _ in range(5):
        done, began = 0, time.perf_counter()
        while (taken := time.perf_counter() - began) < seconds / 5 or not done:
            torch.matmul(a, b, out=out)
            done += 1
        rates.append(2 * count * m * k * n * done / taken)
    return rates


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--source", type=float, required=True, help="mean length")
    parser.add_argument("--target", type=float, required=True, help="mean length")
    parser.add_argument("--seconds", type=float, default=1.0, help="for each product")
    args = parser.parse_args(argv)
    import torch

    large = measure(2048, 2048, 2048, 5 * args.seconds)
    shape = args.batch, args.source, args.target
    rate = statistics.median(large)
    own, spent = {}, 0.0
    for name, times, m, k, n in products(args.batch, *map(round, shape[1:])):
        count = args.batch if name == "attention, scores" else 1
        times = times / count  # batched products
        for sizes in ((m, k, n), (m, n, k), (k, m, n)):
            found = statistics.median(measure(*sizes, args.seconds / 3, count))
            own.setdefault(name, []).append(found)
            spent += times * 2 * count * m * k * n / found
    found = {
        "large": large,
        "operations_per_token": training_operations(*shape)
        / (args.batch * args.target),
        "limit": limit(rate, *shape),
        "own": own,
        "limit_at_own_shapes": args.batch * round(args.target) / spent,
        "threads": torch.get_num_threads(),
        "versions": {"torch": torch.__version__},
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
