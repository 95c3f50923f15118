"""A tiny recipe for test_engines.py, which runs it in processes of their own.

    python tests/training/distributed_run.py DEVICES ARGUMENTS OF A RECIPE ...

DEVICES: how many devices TensorFlow is to make of the CPU, which no variable of the
environment can tell it.
"""

import sys

from zoo.training import Recipe, Scale, run


def translator():
    from zoo.models import LuongTranslator

    return LuongTranslator


def optimizer(steps, epochs):
    import keras

    # Not Adam, to which it would be all one how large the gradient is.
    return keras.optimizers.SGD(1.0, global_clipnorm=0.5)


RECIPE = Recipe(
    "tiny",
    translator,
    {
        "tiny": Scale(
            model={
                "num_layers": 1,
                "hidden_dim": 12,
                "embedding_dim": 8,
                "window": 2,
                "dropout": 0.0,
                "initializer_range": 1.0,
            },
            optimizer=optimizer,
            epochs=4,
            vocabulary_size=30,
            batch={"batch_size": 16},
            pairs=68,
            max_length=16,
            buckets=2,
        )
    },
)

if __name__ == "__main__":
    devices, *arguments = sys.argv[1:]
    if int(devices) > 1:
        import tensorflow as tf

        cpu = tf.config.list_physical_devices("CPU")[0]
        parts = [tf.config.LogicalDeviceConfiguration()] * int(devices)
        tf.config.set_logical_device_configuration(cpu, parts)
    sys.exit(run(RECIPE, arguments))
