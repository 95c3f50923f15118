"""Translates one corpus with one preset on every backend and compares the lines.

    python tools/compare_backends.py luong_local --data multi30k

Prints, for each pair of backends, the share of equal lines and the largest difference
of the scores of equal lines. Exits with 1 below 99.5 % or above 1e-3.
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

BACKENDS = ("tensorflow", "jax", "torch")
LEAST_EQUAL, MOST_APART = 0.995, 1e-3

_WORKER = """
import json, sys, time
import zoo
preset, name, split, beam, limit, path = sys.argv[1:]
corpus = zoo.data.load(name, split=split)
model = zoo.load(preset)
texts = list(corpus.sources)[: int(limit) or None]
began = time.time()
found = model.translate(texts, beam_size=int(beam), return_details=True)
print(f"{len(texts)} sentences, {time.time() - began:.1f} s", file=sys.stderr)
with open(path, "w") as file:
    json.dump([[record.text, record.score] for record in found], file)
"""


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("preset")
    parser.add_argument("--data", default="multi30k")
    parser.add_argument("--split", default="test_2016_flickr")
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--limit", type=int, default=0, help="0 for all sentences")
    args = parser.parse_args(argv)
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for backend in BACKENDS:
            path = Path(folder) / backend
            print(f"{backend}:", file=sys.stderr, flush=True)
            choice = [args.preset, args.data, args.split, args.beam, args.limit, path]
            subprocess.run(
                [sys.executable, "-c", _WORKER, *map(str, choice)],
                env={**os.environ, "KERAS_BACKEND": backend},
                check=True,
            )
            found[backend] = json.loads(path.read_text())
    good = True
    for one, other in itertools.combinations(BACKENDS, 2):
        pairs = list(zip(found[one], found[other], strict=True))
        same = [(a, b) for a, b in pairs if a[0] == b[0]]
        share = len(same) / len(pairs)
        apart = max((abs(a[1] - b[1]) for a, b in same), default=0.0)
        good = good and share >= LEAST_EQUAL and apart <= MOST_APART
        print(
            f"{one} and {other}: {share:.1%} of {len(pairs)} lines equal, scores of "
            f"those at most {apart:.1e} apart"
        )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
