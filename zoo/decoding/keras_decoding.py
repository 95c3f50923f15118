"""How the tasks of Keras decode: compiled, several batches at a time on CPUs."""

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import keras
from keras import ops

from zoo.backend import Tensor, usable_cores
from zoo.decoding.batch_decoding import BatchDecoder, in_threads
from zoo.decoding.beam import BeamSearch
from zoo.decoding.compiled import compiled

MAX_BATCHES = 8  # in memory at a time


def label_log_probs(logits: Tensor, labels: Tensor) -> Tensor:
    """Returns float32 log-probabilities of labels `(...)` under logits `(..., V)`."""
    logits = ops.cast(logits, "float32")
    gold = ops.take_along_axis(logits, labels[..., None], axis=-1)[..., 0]
    return gold - ops.logsumexp(logits, axis=-1)


def map_batches(function: Callable[..., Any], batches: Iterable[Any]) -> Iterator[Any]:
    """Applies a function to batches as `map` does, on CPUs one a core at a time.

    Most operations of a step are too small for two cores. A batch by itself has all of
    them, and so has each batch on a GPU, with a `keras.distribution` or under
    `torch.autocast`. Of more than one, at most `MAX_BATCHES` are in memory at a time,
    each in a thread: scopes of the caller's thread, as `keras.device`, don't reach
    them.

    As many cores are taken as torch has threads, or `OMP_NUM_THREADS` says. Torch's
    threads are shared out.
    """
    batches = list(batches)
    workers = min(len(batches), _cores())
    if workers < 2:
        yield from map(function, batches)
    elif keras.backend.backend() != "torch":
        yield from in_threads(workers, function, batches)
    else:
        import torch

        threads = torch.get_num_threads()

        def shared(batch):
            # Of this thread, and of those that begin to compute meanwhile.
            torch.set_num_threads(threads // workers)
            return function(batch)

        try:
            yield from list(in_threads(workers, shared, batches))
        finally:
            torch.set_num_threads(threads)


def _cores():
    """The number of batches to read at a time: 1 where there is another device."""
    if keras.backend.backend() == "torch":
        import torch

        if torch.accelerator.is_available() or torch.is_autocast_enabled("cpu"):
            return 1
        return min(MAX_BATCHES, torch.get_num_threads())
    devices = keras.distribution.list_devices()
    if keras.distribution.distribution() or not all("cpu" in name for name in devices):
        return 1
    given = os.environ.get("OMP_NUM_THREADS", "")
    cores = int(given) if given.isdecimal() else MAX_BATCHES
    return min(MAX_BATCHES, usable_cores(), cores)


class KerasDecoder(BatchDecoder):
    """`BatchDecoder` of Keras models, with the contract of their backbone."""

    search_class = BeamSearch
    map_batches = staticmethod(map_batches)

    def encode(self, source_ids: Tensor) -> Any:
        """See `zoo.models.Seq2SeqBackbone.encode`."""
        return self.backbone.encode(source_ids)

    def start(self, memory: Any) -> Any:
        """See `zoo.models.Seq2SeqBackbone.start`."""
        return self.backbone.start(memory)

    def start_for(self, memory: Any, length: int) -> Any:
        """See `zoo.models.Seq2SeqBackbone.start_for`."""
        return self.backbone.start_for(memory, length)

    def step(self, token_ids: Tensor, state: Any, memory: Any) -> Any:
        """See `zoo.models.Seq2SeqBackbone.step`."""
        return self.backbone.step(token_ids, state, memory)

    def label_log_probs(self, source: Any, target_ids: Any, labels: Any) -> Any:
        """Returns `[log-probabilities (B, T)]` of int labels `(B, T)`, arrays all.

        Label t is what follows `target_ids` `(B, T)` up to t.
        """
        backbone = self.backbone

        def function(source, target_ids, labels):
            inputs = {backbone.source_name: source, "target_ids": target_ids}
            return (label_log_probs(backbone(inputs), labels),)

        return compiled(backbone, "force", function)(source, target_ids, labels)

    def target_alignments(self, source: Any, target_ids: Any, labels: Any) -> Any:
        """Returns what `zoo.models.Seq2SeqBackbone.align_details` does, as a list."""
        run = compiled(self.backbone, "align", self.backbone.align_details)
        return run(source, target_ids)
