"""The `Engine` of Keras models."""

from collections.abc import Callable
from typing import Any

from keras import ops

from zoo.backend import Tensor
from zoo.decoding.beam import BeamSearch
from zoo.decoding.compiled import compiled
from zoo.decoding.translating import Engine


def label_log_probs(logits: Tensor, labels: Tensor) -> Tensor:
    """Returns float32 log-probabilities of labels `(...)` under logits `(..., V)`."""
    logits = ops.cast(logits, "float32")
    gold = ops.take_along_axis(logits, labels[..., None], axis=-1)[..., 0]
    return gold - ops.logsumexp(logits, axis=-1)


def _scores(model: Any) -> Callable[..., list[Any]]:
    name = model.backbone.source_name  # "images", of a captioner

    def function(source, target_ids, labels):
        inputs = {name: source, "target_ids": target_ids}
        return (label_log_probs(model.backbone(inputs), labels),)

    return compiled(model, "force", function)


def _alignments(model: Any) -> Callable[..., list[Any]]:
    def function(source_ids, target_ids, labels):
        return model.backbone.align_details(source_ids, target_ids)

    return compiled(model, "align_details", function)


KERAS = Engine(BeamSearch, _scores, _alignments)
