"""A tiny recipe for test_engines.py, which runs it in processes of their own.

    python distributed_run.py DEVICES DIES ARGUMENTS OF A RECIPE ...

DEVICES: how many devices TensorFlow makes of the CPU; no variable of the environment
can tell it. DIES: the step at whose end this process dies; -1 for none.
"""

import os
import signal
import sys

from zoo.data import reversal_pairs
from zoo.training import Optimizer, Scale, run_recipe, translation_recipe
from zoo.training.fit import progress
from zoo.training.recipes import translation_data


def translator():
    from zoo.models import LuongTranslator

    return LuongTranslator


RECIPE = translation_recipe(
    "tiny",
    translator,
    {
        "tiny": Scale(
            model={
                "num_layers": 1,
                "hidden_dim": 12,
                "embedding_dim": 8,
                # Local attention has edges, where a rounding error becomes a large one.
                "attention": "global",
                "dropout": 0.0,
                "initializer_range": 1.0,
            },
            # To which it is not all one how large the gradient is, as it is to Adam.
            optimizer=Optimizer("sgd", 1.0, clip=0.5),
            epochs=4,
            vocabulary_size=30,
            batch={"batch_size": 16},
            pairs=70,  # five batches, the last ones of their shapes not full
            max_length=16,
            buckets=2,
        )
    },
)


def few_pairs(count, seed):
    """Stands for `reversal_pairs`: little to decode."""
    return reversal_pairs(count, seed) if count < 200 else (["ba de"], ["de ba"])


def main(arguments):
    translation_data.reversal_pairs = few_pairs
    return run_recipe(RECIPE, arguments)


if __name__ == "__main__":
    devices, dies, *arguments = sys.argv[1:]
    if int(devices) > 1:
        import tensorflow as tf

        cpu = tf.config.list_physical_devices("CPU")[0]
        parts = [tf.config.LogicalDeviceConfiguration()] * int(devices)
        tf.config.set_logical_device_configuration(cpu, parts)
    advance = progress.Progress.on_train_batch_end

    def die(self, batch, logs=None):
        advance(self, batch, logs)
        if batch == int(dies):
            os.kill(os.getpid(), signal.SIGKILL)

    progress.Progress.on_train_batch_end = die
    sys.exit(main(arguments))
