"""The engines of `zoo.training.distribute`: one class for each backend."""

import contextlib
import datetime
import json
import os

import keras
import numpy as np
from keras import ops

from zoo.training.distribute import Distribution, DistributionError


class ShardLoss(keras.losses.Loss):
    """A loss with `sums`, divided by what the whole batch's shares count together."""

    def __init__(self, loss, mean):
        super().__init__(name=loss.name, reduction="sum")
        self.loss, self.mean = loss, mean

    def __call__(self, y_true, y_pred, sample_weight=None):
        return self.mean(*self.loss.sums(y_true, y_pred, sample_weight))

    def projected(self, *arguments):
        """See `SmoothedCrossEntropy.projected`."""
        return self.mean(*self.loss.projected_sums(*arguments))


# === JAX ===


class Jax(Distribution):
    """One program over all devices. Seen from the model a batch is whole, so that loss,
    clipping and dropout are those of one device."""

    copies = True
    LAUNCHERS = ("OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS")

    def __init__(self):
        import jax

        asked = "KERAS_DISTRIBUTION_JOB_ADDRESSES", "JAX_COORDINATOR_ADDRESS"
        launched = any(os.environ.get(name) for name in asked) or any(
            int(os.environ.get(name, 1)) > 1 for name in self.LAUNCHERS
        )
        if launched and not jax.distributed.is_initialized():
            _join_jax()
        self.process, self.processes = jax.process_index(), jax.process_count()
        self.devices = jax.device_count()
        if self.devices > 1:
            engine = keras.distribution.DataParallel(auto_shard_dataset=False)
            keras.distribution.set_distribution(engine)

    @contextlib.contextmanager
    def alone(self):
        engine = keras.distribution.distribution()
        keras.distribution.set_distribution(None)
        try:
            yield
        finally:
            keras.distribution.set_distribution(engine)

    def _from_main(self, array):
        from jax.experimental import multihost_utils

        return np.asarray(multihost_utils.broadcast_one_to_all(array))

    def stop(self):
        import jax

        keras.distribution.set_distribution(None)
        if self.processes > 1:
            self.wait()
            jax.distributed.shutdown()


def _join_jax():
    """`keras.distribution.initialize`, by its variables of the environment, except that
    a process whose peer died doesn't wait for it for minutes before it ends."""
    import jax

    names = ("NUM_PROCESSES", "PROCESS_ID")
    numbers = [os.environ.get(f"KERAS_DISTRIBUTION_{name}") for name in names]
    addresses = os.environ.get("KERAS_DISTRIBUTION_JOB_ADDRESSES")
    # Between CPUs JAX takes gloo by itself.
    jax.distributed.initialize(
        addresses and addresses.split(",")[0],
        *(number and int(number) for number in numbers),
        shutdown_timeout_seconds=10,
    )


# === PyTorch ===


class Torch(Distribution):
    """One process per device. Each draws its own dropout masks: process 0 from the
    run's generator, the others' are seeded by the run's seed, epoch, step, process."""

    # Process 0 validates while the others wait: that may take long. A process that died
    # is noticed at once, by its closed connection or by torchrun.
    HOURS = 12

    def __init__(self):
        import torch
        import torch.distributed as dist

        self.processes = self.devices = int(os.environ.get("WORLD_SIZE", 1))
        self._group = None
        if self.processes == 1:
            return
        gpu = torch.cuda.is_available()
        if gpu:
            torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        if not dist.is_initialized():
            dist.init_process_group("cpu:gloo,cuda:nccl" if gpu else "gloo")
        self.process = dist.get_rank()
        wait = datetime.timedelta(hours=self.HOURS)
        self._group = dist.new_group(backend="gloo", timeout=wait)

    def model(self, model):
        return _torch_replica(model)

    def loss(self, loss):
        return ShardLoss(loss, self._mean)

    def _mean(self, total, count):
        """The whole batch's loss; the gradient is this share's, times the number of
        processes: DDP averages."""
        import torch
        import torch.distributed as dist

        sums = torch.stack([total.detach(), count])
        if sums.device.type != "meta":  # Keras's symbolic call has no peers
            dist.all_reduce(sums)
        count = ops.maximum(sums[1], 1.0)
        share = total * self.processes / count
        return share + (sums[0] / count - share).detach()

    def seed(self, seed, epoch, step):
        import torch

        if not self.main:
            state = np.random.SeedSequence((seed, epoch, step, self.process))
            torch.manual_seed(int(state.generate_state(1)[0]))

    def _from_main(self, array):
        import torch
        import torch.distributed as dist

        tensor = torch.from_numpy(array.copy())
        dist.broadcast(tensor, src=0, group=self._group)
        return tensor.numpy()

    def stop(self):
        import torch.distributed as dist

        if self.processes > 1:
            self.wait()
            dist.destroy_process_group()


def _torch_replica(model):
    """A Keras model that calls `model` through DDP where gradients are wanted."""
    import torch

    # In a closure: as an attribute it would be a layer, with all weights once more.
    parallel = torch.nn.parallel.DistributedDataParallel(model)

    class Replica(keras.Model):
        def __init__(self):
            super().__init__(name=model.name)
            self.model = model
            self.built = True

        def call(self, inputs, training=False):
            if training and torch.is_grad_enabled():
                return parallel(inputs, training=True)
            return self.model(inputs, training=training)

    return Replica()


# === TensorFlow ===


class TensorFlow(Distribution):
    """One replica per device. All draw the same dropout masks, each for its rows."""

    copies = True

    def __init__(self):
        import tensorflow as tf

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
            found = tf.config.list_logical_devices("GPU")
            found = found or tf.config.list_logical_devices("CPU")
            self._strategy = tf.distribute.MirroredStrategy([d.name for d in found])
        self.devices = self._strategy.num_replicas_in_sync

    def shard(self, batches):
        """Rows are added where needed; tf.distribute itself shards the batches."""
        try:
            batches.shard(multiple=self.devices)
        except ValueError as error:
            raise DistributionError(str(error)) from error

    def scope(self):
        return self._strategy.scope()

    def loss(self, loss):
        return ShardLoss(loss, self._mean)

    def _mean(self, total, count):
        """This share's part of the whole batch's loss: tf.distribute adds them up."""
        import tensorflow as tf

        replica = tf.distribute.get_replica_context()
        if replica is not None:  # None in Keras's symbolic call
            count = replica.all_reduce(tf.distribute.ReduceOp.SUM, count)
        return total / ops.maximum(count, 1.0)

    def optimizer(self, optimizer):
        """Keras clips each replica's gradient, then adds them up. Here they are added
        up before; the first replica hands the sum on, and the others hand on zeros."""
        import tensorflow as tf

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
            whole = [g if g is None else tf.convert_to_tensor(g) for g in gradients]
            found = [g for g in whole if g is not None]
            found = iter(replica.all_reduce(tf.distribute.ReduceOp.SUM, found))
            whole = [
                g if g is None else g * tf.cast(first, g.dtype)
                for g in (g if g is None else next(found) for g in whole)
            ]
            return apply(whole, variables)

        optimizer.apply = apply_whole
        return optimizer

    def _from_main(self, array):
        import tensorflow as tf

        def one():
            replica = tf.distribute.get_replica_context()
            first = replica.replica_id_in_sync_group == 0
            mine = tf.cast(array, "int32") * tf.cast(first, "int32")
            return replica.all_reduce(tf.distribute.ReduceOp.SUM, mine)

        found = self._strategy.run(tf.function(one))
        return self._strategy.experimental_local_results(found)[0].numpy()

    def stop(self):
        if self.processes > 1:
            self.wait()


def _multi_worker():
    import tensorflow as tf

    class MultiWorker(tf.distribute.MultiWorkerMirroredStrategy):
        def reduce(self, reduce_op, value, axis=None):
            """Nested values too, which Keras 3.15 reduces by one call, and scalars,
            for which it gives an axis."""
            scalars = super()
            return tf.nest.map_structure(
                lambda part: scalars.reduce(reduce_op, part, axis=None), value
            )

    return MultiWorker()


ENGINES = {
    "jax": (Jax, "several GPUs, or KERAS_DISTRIBUTION_* for several processes"),
    "torch": (Torch, "torchrun --nproc-per-node=DEVICES"),
    "tensorflow": (TensorFlow, "several GPUs, or TF_CONFIG for several workers"),
}
