"""A translator of exported graphs."""

from collections.abc import Callable
from typing import Any

import numpy as np

from zoo.decoding.translating import Engine, Translating
from zoo.serving.export.manifest import TOKENIZER
from zoo.serving.runtime.arrays import ArraySearch, log_sum_exp, trim
from zoo.serving.runtime.denormaliser import Pieces, PiecesPreprocessor
from zoo.serving.runtime.onnx_sessions import Graphs


def scores(model: Any) -> Callable[..., list[np.ndarray]]:
    """See `zoo.decoding.translating.Engine`."""

    def run(source, target_ids, labels):
        found = np.zeros(labels.shape, "float32")
        source, target_ids = _without_padding(source, target_ids)
        labels = labels[: len(source)]
        rows = np.arange(len(source))
        for t, (logits, *_) in enumerate(model.backbone.read(source, target_ids)):
            gold = logits[rows, labels[:, t]]
            found[rows, t] = gold - log_sum_exp(logits)
        return [found]

    return run


def alignments(model: Any) -> Callable[..., list[np.ndarray]]:
    """See `zoo.decoding.translating.Engine`."""
    graphs = model.backbone

    def run(source, target_ids, labels):
        source, target_ids = _without_padding(source, target_ids)
        weights, hidden = [], []
        for _, attention, state in graphs.read(source, target_ids):
            weights.append(attention)
            if graphs.window_state:
                hidden.append(state[graphs.window_state])
        results = [np.stack(weights, axis=1)]
        if graphs.window_state:
            results += graphs.windows(np.stack(hidden, axis=1), source)
        return results

    return run


def _without_padding(source, target_ids):
    """Leaves out what fills a batch up: zeros in ids, further images."""
    source, target_ids = trim(source), trim(target_ids)
    rows = min(len(source), len(target_ids))
    return source[:rows], target_ids[:rows]


class Translator(Translating):
    """A translator without Keras, from `load`.

    It has the text methods of a `zoo.models.Translator`, `translate`, `score`, `align`
    and `perplexity`, with their arguments, defaults and results.

    Args:
        backbone: the graphs.
        preprocessor: the preprocessor.
    """

    task_name = "translate"
    engine = Engine(ArraySearch, scores, alignments)

    def __init__(self, backbone: Graphs, preprocessor: PiecesPreprocessor) -> None:
        self.backbone, self.preprocessor = backbone, preprocessor

    @classmethod
    def of(cls, graphs: Any, files: Any, manifest: Any) -> "Translator":
        """Makes it of a version's graphs, files and manifest."""
        pieces = Pieces(files[TOKENIZER])
        preprocessor = PiecesPreprocessor(pieces, **manifest["settings"])
        return cls(Graphs(graphs, manifest.get("window_state")), preprocessor)
