"""Fine-tunes a preset on a narrow text, all of its weights or by LoRA.

    KERAS_BACKEND=jax python -m tools.bench.fine_tuning luong_local full
    KERAS_BACKEND=jax python -m tools.bench.fine_tuning luong_local lora

The text is 400 pairs of Tatoeba that address somebody formally in German, which a
preset doesn't know from the English "you". Prints BLEU before and after, of such pairs
that were not trained on and of the first 200 captions of Multi30k's test, and the size
of the file that is saved.
"""

import argparse
import re
import tempfile
from pathlib import Path

import keras
import numpy as np

import zoo
from zoo.evaluation import corpus_scores

YOU = re.compile(r"\b[Yy]ou(r|rs)?\b")
# Not at the beginning of a sentence, where "Sie" may be "she" or "they".
FORMAL = re.compile(r"(?<!^)(?<![.?!] )\b(Sie|Ihnen|Ihre?[nmrs]?)\b")
PAIRS, EPOCHS, BATCH_SIZE, RANK = 400, 8, 32, 8
RATES = {"full": 1e-3, "lora": 5e-3}


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("preset")
    parser.add_argument("mode", choices=list(RATES))
    arguments = parser.parse_args(argv)
    train = formal("train")
    order = np.random.default_rng(1).permutation(len(train))[:PAIRS]
    captions = zoo.data.load("multi30k", "en", "de", "test")
    tests = {
        "new": formal("valid") + formal("test"),
        "old": list(captions)[:200],
    }
    keras.utils.set_random_seed(1)
    task = zoo.load(arguments.preset)
    before = {name: bleu(task, pairs) for name, pairs in tests.items()}
    if arguments.mode == "lora":
        task.backbone.enable_lora(RANK)
    task.compile(keras.optimizers.Adam(RATES[arguments.mode]))
    pairs = [train[row] for row in order]
    task.fit(pairs, epochs=EPOCHS, batch_size=BATCH_SIZE, verbose=0)
    for name, pairs in tests.items():
        print(f"{name}: BLEU {before[name]:.1f}, then {bleu(task, pairs):.1f}")
    print(f"saved: {saved_bytes(task.backbone, arguments.mode):,} bytes")


def formal(split):
    """The pairs of a split of Tatoeba that address somebody formally."""
    data = zoo.data.load("tatoeba", "en", "de", split)
    found = []
    for source, references in zip(data.sources, data.references, strict=True):
        references = [text for text in references if FORMAL.search(text)]
        if YOU.search(source) and references:
            found.append((source, references[0]))
    return found


def bleu(task, pairs):
    sources, targets = zip(*pairs, strict=True)
    texts = task.translate(list(sources))
    return corpus_scores(texts, [[target] for target in targets])["bleu"]["score"]


def saved_bytes(backbone, mode):
    with tempfile.TemporaryDirectory() as folder:
        if mode == "lora":
            path = Path(folder, "x.lora.h5")
            backbone.save_lora_weights(str(path))
        else:
            path = Path(folder, "x.weights.h5")
            backbone.save_weights(path)
        return path.stat().st_size


if __name__ == "__main__":
    main()
