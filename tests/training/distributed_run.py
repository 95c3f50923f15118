"""A tiny recipe for test_distribute.py, which runs it in processes of their own.

    python distributed_run.py DIES ARGUMENTS OF A RECIPE ...

DIES: the step at whose end this process dies; -1 for none.
"""

import dataclasses
import os
import signal
import sys

from tests.training import tiny_run
from zoo.data import reversal_pairs
from zoo.models import LuongTranslator
from zoo.training import Optimizer, translation_recipe
from zoo.training.fit import loop
from zoo.training.recipes import translation_run

SCALE = dataclasses.replace(
    tiny_run.SCALE,
    # Local attention has edges, where a rounding error becomes a large one.
    model={
        "num_layers": 1,
        "hidden_dim": 12,
        "embedding_dim": 8,
        "attention": "global",
        "dropout": 0.0,
        "initializer_range": 1.0,
    },
    # To which it is not all one how large the gradient is, as it is to Adam.
    optimizer=Optimizer("sgd", 1.0, clip=0.5),
    loss={},
    epochs=4,
    batch={"batch_size": 16},
    pairs=70,  # five batches, the last ones of their shapes not full
    max_length=16,
    buckets=2,
)
RECIPE = translation_recipe("tiny", lambda: LuongTranslator, {"tiny": SCALE})


def few_pairs(count, seed):
    """Stands for `reversal_pairs`: little to decode."""
    return reversal_pairs(count, seed) if count < 200 else (["ba de"], ["de ba"])


def main(arguments):
    translation_run.reversal_pairs = few_pairs
    return RECIPE.main(arguments)


if __name__ == "__main__":
    dies, *arguments = sys.argv[1:]
    advance = loop.Progress.on_train_batch_end

    def die(self, batch, logs=None):
        advance(self, batch, logs)
        if batch == int(dies):
            os.kill(os.getpid(), signal.SIGKILL)

    loop.Progress.on_train_batch_end = die
    sys.exit(main(arguments))
