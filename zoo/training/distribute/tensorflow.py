"""Data parallelism under TensorFlow."""

import contextlib
import json
import os
from typing import Any

import keras
import tensorflow as tf
from keras import ops

from zoo.training.distribute import Distribution, DistributionError


class TensorFlowDistribution(Distribution):
    """One replica per device. All draw the same dropout masks, each for its rows."""

    copies, shards = True, False

    def __init__(self):
        config = json.loads(os.environ.get("TF_CONFIG") or "{}")
        cluster = config.get("cluster", {})
        tasks = [
            (kind, i) for kind in sorted(cluster) for i in range(len(cluster[kind]))
        ]
        if len(tasks) > 1:  # a chief, if there is one, sorts before the workers
            self._strategy = _multi_worker()
            task = config["task"]
            self.process = tasks.index((task["type"], int(task["index"])))
            self.processes = len(tasks)
        else:
            devices = tf.config.list_logical_devices("GPU")
            devices = devices or tf.config.list_logical_devices("CPU")
            self._strategy = tf.distribute.MirroredStrategy([d.name for d in devices])
        self.devices = self._strategy.num_replicas_in_sync

    def scope(self) -> contextlib.AbstractContextManager:
        return self._strategy.scope()

    def mean(self, total: Any, count: Any) -> Any:
        """This share's part of the whole batch's loss; tf.distribute adds them up."""
        replica = tf.distribute.get_replica_context()
        if replica is not None:  # None in Keras's symbolic call
            count = replica.all_reduce(tf.distribute.ReduceOp.SUM, count)
        return total / ops.maximum(count, 1.0)

    def optimizer(self, optimizer: Any) -> Any:
        """Returns an optimizer that clips the whole batch's gradient.

        Keras clips each replica's gradient, then adds them up. Here they are added up
        first; the first replica passes the sum on, and the others pass zeros.
        """
        if keras.config.dtype_policy().name == "mixed_float16":
            raise DistributionError(
                "TensorFlow can't scale the loss on several devices; mixed_bfloat16 "
                f"needs none. Received: mixed_float16, {self.devices} devices"
            )
        if optimizer.gradient_accumulation_steps:
            raise DistributionError(
                "TensorFlow can't accumulate gradients on several devices. Received: "
                f"accumulation={optimizer.gradient_accumulation_steps}, "
                f"{self.devices} devices"
            )
        apply = optimizer.apply

        def apply_whole(gradients, variables=None):
            replica = tf.distribute.get_replica_context()
            first = replica.replica_id_in_sync_group == 0
            # Dense: a row that has two gradients has the norm of their sum.
            dense = [tf.convert_to_tensor(g) for g in gradients if g is not None]
            sums = replica.all_reduce(tf.distribute.ReduceOp.SUM, dense)
            sums = iter([g * tf.cast(first, g.dtype) for g in sums])
            whole = [g if g is None else next(sums) for g in gradients]
            return apply(whole, variables)

        optimizer.apply = apply_whole
        return optimizer

    def _from_main(self, array):
        def one():
            replica = tf.distribute.get_replica_context()
            first = replica.replica_id_in_sync_group == 0
            part = tf.cast(array, "int32") * tf.cast(first, "int32")
            return replica.all_reduce(tf.distribute.ReduceOp.SUM, part)

        sums = self._strategy.run(tf.function(one))
        return self._strategy.experimental_local_results(sums)[0].numpy()


def _multi_worker():
    class MultiWorker(tf.distribute.MultiWorkerMirroredStrategy):
        def reduce(self, reduce_op, value, axis=None):
            """Reduces nested values, and scalars for which an axis is given.

            Keras 3.15 passes both.
            """
            scalars = super()
            return tf.nest.map_structure(
                lambda part: scalars.reduce(reduce_op, part, axis=None), value
            )

    return MultiWorker()
