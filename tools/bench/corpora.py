"""Start-up and memory of training on one's own text, as the corpus grows.

    python -m tools.bench.corpora --pairs 10000,100000,1000000,5000000

For each number, pairs of about 15 words a side are generated: words of 20,000 made-up
ones by Zipf's law, target sides with umlauts, one line in a hundred empty. Two fresh
processes then prepare them for training, the second with the cache that the first left.
Both read and clean (`zoo.data.own.read_pairs`, which holds out pairs for validation),
tokenise (`zoo.data.store.tokenise`, 8,000 pieces) and make batches, of which they go
through a whole epoch; the first one also draws the sample for the vocabulary. (Training
the vocabulary takes the same time for every corpus that is larger than the sample, and
is left out.) Printed are seconds of processor time, which other work on the machine
changes least; the most resident memory of the process; and how much of it isn't a
file's, the most at the end of a phase. The libraries alone are the first row.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from tools import ROOT
from tools.bench.core import counts, last_object, module, peak_memory
from tools.markdown import table
from zoo.training.config import cpu

WORDS, PIECES, SAMPLE, BATCH = 20_000, 8000, 200_000, 64
_AT_ONCE = 10_000  # pairs that are generated
PHASES = ("read", "sample", "tokenise", "batches", "epoch")


def lexicon(vowels):
    """`WORDS` words of one to four syllables."""
    syllables = [a + b for a in "bdfgklmnprst" for b in vowels]
    rng = np.random.default_rng(3)
    words = {}
    while len(words) < WORDS:
        chosen = rng.choice(syllables, rng.integers(1, 5))
        words["".join(chosen)] = None
    return np.array(list(words), object)


def write_pairs(folder, count):
    """Writes `count` pairs. Returns the paths of both sides."""
    paths = folder / "my.en", folder / "my.de"
    chances = 1 / np.arange(2, WORDS + 2)
    chances /= chances.sum()
    rng = np.random.default_rng(1)
    words = [lexicon("aeiou"), lexicon("aeiöü")]
    files = [path.open("w", encoding="utf-8") for path in paths]
    for start in range(0, count, _AT_ONCE):
        number = min(_AT_ONCE, count - start)
        lengths = np.clip(rng.normal(15, 5, number), 2, 60).astype(int)
        lengths[rng.random(number) < 0.01] = 0
        ids = rng.choice(WORDS, lengths.sum(), p=chances)
        ends = np.cumsum(lengths)
        for file, side in zip(files, words, strict=True):
            text = side[ids]
            lines = (
                " ".join(text[end - length : end])
                for end, length in zip(ends, lengths, strict=True)
            )
            file.write("\n".join(lines) + "\n")
    for file in files:
        file.close()
    return paths


def prepare(folder, again):
    """Prepares the pairs of a folder in this process.

    Returns:
        The seconds of each phase, and memory in MB.
    """
    from zoo.data.own import read_pairs
    from zoo.data.store import tokenise
    from zoo.text import Tokenizer, TranslatorPreprocessor
    from zoo.training import PairBatches

    proto = (folder / "tokenizer.spm").read_bytes()
    preprocessor = TranslatorPreprocessor(Tokenizer(proto=proto), 200, 200)
    preprocessor.encode(["a"])
    seconds, memory = {}, [resident()]
    results = {"libraries": peak_memory(), "private_before": memory[0]}

    def phase(name, call):
        began = time.process_time()
        result = call()
        seconds[name] = time.process_time() - began
        memory.append(resident())
        return result

    cache = folder / "cache"
    paths = folder / "my.en", folder / "my.de"
    own = phase("read", lambda: read_pairs(paths, cache=cache))
    if not again:
        phase("sample", lambda: len(own.sample(SAMPLE)))
    sides = phase(
        "tokenise",
        lambda: tokenise(
            own.parts,
            preprocessor.encode,
            preprocessor.encode_targets,
            key=own.digest,
            cache=cache,
            keep=lambda s, t: (s > 0) & (s <= 100) & (t > 0) & (t < 100),
            vocabulary_size=PIECES,
        ),
    )
    batches = phase("batches", lambda: PairBatches(*sides, batch_size=BATCH, seed=1))
    phase(
        "epoch", lambda: [None for number in range(len(batches)) if not batches[number]]
    )
    return {
        **results,
        "pairs": own.pairs,
        "seconds": seconds,
        "peak": peak_memory(),
        "private": max(memory),
    }


def resident():
    """Resident memory of this process that is no file's, in MB; on Linux alone."""
    with open("/proc/self/status") as file:
        line = next(line for line in file if line.startswith("RssAnon"))
    return int(line.split()[1]) / 2**10


def train_vocabulary(folder):
    """Trains the tokenizer of all runs, on few pairs."""
    from zoo.data.own import read_pairs
    from zoo.text import train_tokenizer

    write_pairs(folder, 20_000)
    own = read_pairs((folder / "my.en", folder / "my.de"))
    proto = train_tokenizer(own.sample(40_000), PIECES, "nmt_nfkc")
    (folder / "tokenizer.spm").write_bytes(proto)


def run(folder, *flags):
    """Prepares a folder's pairs in a fresh process."""
    done = subprocess.run(
        module("corpora", *flags, folder=folder),
        cwd=ROOT,
        env=os.environ,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return last_object(done.stdout)


def row(count, first, again):
    """A row of the table."""
    took = [f"{first['seconds'][name]:.1f}" for name in PHASES]
    start = sum(again["seconds"][name] for name in ("read", "tokenise", "batches"))
    memory = [
        f"{figures[name]:,.0f}"
        for figures in (first, again)
        for name in ("peak", "private")
    ]
    return [f"{count:,}", *took, f"{start:.1f}", *memory]


HEADS = (
    "pairs",
    "read and clean, s",
    "sample, s",
    "tokenise, s",
    "make batches, s",
    "an epoch of batches, s",
    "second start, s",
    "most memory, MB",
    "of it private",
    "second start, most memory, MB",
    "of it private",
)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=counts, default="10000,100000,1000000,5000000")
    parser.add_argument("--work", type=Path, help="folder for what is generated")
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--again", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.folder:
        print(json.dumps(prepare(args.folder, args.again)))
        return
    rows = []
    with tempfile.TemporaryDirectory(dir=args.work) as folder:
        folder = Path(folder)
        train_vocabulary(folder)
        for count in args.pairs:
            write_pairs(folder, count)
            first, again = run(folder), run(folder, "--again")
            rows.append(row(count, first, again))
            print(f"{count:,} pairs: {first}, {again}", file=sys.stderr, flush=True)
    libraries = [f"{first[name]:,.0f}" for name in ("libraries", "private_before")]
    rows.insert(0, ["0", *["–"] * 6, *libraries, *libraries])
    print(f"{cpu()}, {os.environ.get('KERAS_BACKEND', 'default backend')}")
    print(table(HEADS, rows, numbers_from=0))


if __name__ == "__main__":
    main()
