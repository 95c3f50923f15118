"""How the tasks of Keras decode: compiled, several batches at a time on CPUs."""

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import keras
from keras import ops

from zoo.backend import Tensor, usable_cores
from zoo.decoding.batch_decoding import BatchDecoder
from zoo.decoding.batches import in_threads
from zoo.decoding.beam import BeamSearch
from zoo.decoding.compiled import compiled

MAX_BATCHES = 8  # in memory at a time
_sharing = threading.Lock()


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
    threads are shared out, and callers in several threads take turns.
    """
    batches = list(batches)
    if len(batches) < 2:
        yield from map(function, batches)
        return
    workers = min(len(batches), _cores())
    torch = keras.backend.backend() == "torch"
    apply = _in_shared_threads if torch and workers > 1 else in_threads
    yield from apply(workers, function, batches)


def _in_shared_threads(workers, function, batches):
    """The results of all batches, among which torch's threads are shared out."""
    import torch

    with _sharing:
        threads = torch.get_num_threads()

        def shared(batch):
            # Of this thread, and of those that begin to compute meanwhile.
            torch.set_num_threads(threads // workers)
            return function(batch)

        try:
            return list(in_threads(workers, shared, batches))
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
    return min(
        MAX_BATCHES, usable_cores(), int(given) if given.isdecimal() else MAX_BATCHES
    )


class KerasDecoder(BatchDecoder):
    """`BatchDecoder` of Keras models."""

    search_class = BeamSearch
    map_batches = staticmethod(map_batches)

    def label_log_probs(self, source: Any, target_ids: Any, labels: Any) -> Any:
        """See `BatchDecoder.label_log_probs`."""
        name = self.backbone.source_name  # "images", of a captioner

        def function(source, target_ids, labels):
            inputs = {name: source, "target_ids": target_ids}
            return (label_log_probs(self.backbone(inputs), labels),)

        return compiled(self, "force", function)(source, target_ids, labels)

    def target_alignments(self, source: Any, target_ids: Any, labels: Any) -> Any:
        """See `BatchDecoder.target_alignments`."""

        def function(source_ids, target_ids, labels):
            return self.backbone.align_details(source_ids, target_ids)

        return compiled(self, "align_details", function)(source, target_ids, labels)
