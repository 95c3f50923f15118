"""Beam search on Keras's three backends, and the base of the tasks that use it."""

import functools
import math
from typing import Any

import keras
import numpy as np
from keras import ops, tree

from zoo.backend import Tensor
from zoo.decoding.batch_decoding import BatchDecoder
from zoo.decoding.beam_state import LOW, BeamState, step
from zoo.decoding.compiled import (
    can_trace,
    compiled,
    label_log_probs,
    map_batches,
    traced,
)
from zoo.decoding.search import Search
from zoo.layers.functional import log_sum_exp, maxima

_SMALL = 2**15  # values of which torch finds the largest sooner without blocks


def top_k(values: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """`ops.top_k` of finite float32 values, the lower index first among equals.

    TensorFlow and JAX guarantee that; torch does not. The k largest values are in the k
    blocks with the largest maxima, and a plain reduction finds maxima faster than a
    sort of many values.
    """
    torch = keras.backend.backend() == "torch"
    # XLA finds maxima of 48 values three times as fast as of 32 or 34, torch of 64
    # seven times as fast as of 48.
    largest_of, block = (_torch_top_k, 64) if torch else (ops.top_k, 48)
    size = int(values.shape[-1])  # a tensor while torch traces a step
    width = block * math.ceil(math.isqrt(size // k) / block)
    small = torch and math.prod(map(int, values.shape)) <= _SMALL
    if small or size < 4 * k * width:
        return largest_of(values, k)
    count = size // width
    shape, rows = ops.shape(values)[:-1], ops.reshape(values, (-1, size))
    blocks = ops.reshape(rows[:, : count * width], (-1, count, width))
    _, chosen = largest_of(maxima(blocks)[..., 0], k)
    # In the order of their indices, so that the first of equals stays the first.
    chosen = ops.sort(ops.cast(chosen, "int32"), axis=-1)
    first = ops.arange(ops.shape(rows)[0], dtype="int32")[:, None] * count
    found = ops.take(ops.reshape(blocks, (-1, width)), first + chosen, axis=0)
    # What is left over after whole blocks is one more, the last.
    found = [ops.reshape(found, (-1, k * width)), rows[:, count * width :]]
    chosen = ops.pad(chosen, ((0, 0), (0, 1)), constant_values=count)
    largest, places = largest_of(ops.concatenate(found, axis=-1), k)
    places = ops.cast(places, "int32")
    indices = ops.take_along_axis(chosen, places // width, axis=-1) * width
    indices = indices + places % width
    return ops.reshape(largest, (*shape, k)), ops.reshape(indices, (*shape, k))


def _torch_top_k(values, k):
    """`top_k` without blocks. Apple's GPUs, which have no float64, sort."""
    import torch

    if k == 1:
        indices = values.argmax(-1, keepdim=True)  # the first of equals
    elif values.device.type == "mps":
        indices = values.sort(dim=-1, descending=True, stable=True).indices[..., :k]
    else:
        # Each is lowered by its index, by less than half the distance of two float32s.
        exact = values.double()
        options = {"dtype": exact.dtype, "device": exact.device}
        place = torch.arange(1, values.shape[-1] + 1, **options) * 2.0**-50
        exact = torch.addcmul(exact, exact.abs() + 1e-285, place, value=-1.0)
        indices = exact.topk(k).indices
    return values.gather(-1, indices), indices


class BeamSearch(Search):
    """Beam search in the sense of Sutskever et al. (2014, section 3.2).

    Each step extends every live hypothesis by every word and keeps the best by total
    log-probability. A hypothesis that takes the end token is finished: it leaves the
    beam with its score frozen, and the beam has one place fewer, so that `beam_size`
    hypotheses come out in all and beam 1 is greedy search under every penalty. Finished
    hypotheses are ranked by Wu et al. 2016, equation 14:

        s(Y, X) = log P(Y|X) / lp(Y) + cp(X; Y)
        lp(Y) = ((5 + |Y|) / 6)^α,   |Y| counts the end token
        cp(X; Y) = β Σ_i log(min(Σ_j a_ij, 1))

    A source token without any attention, whose logarithm would be -inf, counts as one
    with 1e-10; in a model without attention all do, which does not change the order of
    its hypotheses.

    A sentence is done when it has no live hypothesis left, or none can reach the best
    `n_best` finished ones any more. A hypothesis that reaches the length limit ends
    there with the end token, whose log-probability counts. Among equal extensions, that
    of the better hypothesis comes first, then the lower word id; among equal finished
    hypotheses, the one that finished first.

    Args:
        beam_size: places in the beam.
        length_penalty: α ≥ 0; 0 ranks by log-probability alone.
        coverage_penalty: β ≥ 0.
        n_best: how many finished hypotheses must be settled before a sentence is done.
        min_length: minimum tokens of a hypothesis, the end token included; a lower
            length limit takes precedence.
        banned_ids: ids that are never taken, except in a prefix.
        start_id: the start token's id.
        end_id: the end token's id.
        no_repeat_ngram_size: n for which no hypothesis has the same n ids in a row
            twice, unless a prefix asks for it; 0 disables it.

    Raises:
        ValueError: for values out of range, before any computation.

    Example:
        >>> import numpy as np
        >>> from zoo.models import Luong
        >>> model = Luong(20, num_layers=1, hidden_dim=8, embedding_dim=8)
        >>> search = BeamSearch(beam_size=3, length_penalty=0.6)
        >>> ids, scores = search(model, np.array([[4, 5, 6], [7, 8, 0]]))
        >>> ids.shape, scores.shape  # the width is the longest translation's
        ((2, 3, 16), (2, 3))
    """

    ops = ops
    top_k = staticmethod(top_k)
    log_sum_exp = staticmethod(log_sum_exp)
    map_structure = staticmethod(tree.map_structure)

    def find(
        self,
        model: Any,
        source: np.ndarray,
        limits: np.ndarray,
        steps: int,
        prefix: np.ndarray | None = None,
    ) -> list[np.ndarray]:
        """See `Search.find`; the programs are compiled and kept with the model.

        The penalties are arguments of a program: others need no other one.
        """
        padding = 0, len(source) - len(limits)
        limits = np.pad(limits, padding, constant_values=1)  # they end at once
        penalties = np.array([self.length_penalty, self.coverage_penalty], "float32")
        given = {"penalties": penalties}
        if prefix is not None:
            given["prefix"] = prefix
        search = functools.partial(self.__call__, model, steps=steps)
        program = compiled(model, (*self.key, steps, *given), search)
        return program(source, limits, **given)

    def _run(self, model, beam, constants, steps):
        if keras.backend.backend() == "torch":
            return self._run_under_torch(model, beam, constants, steps)

        def advance(*values):
            return tuple(step(self, model, BeamState(*values), constants))

        def run(beam, end):
            def unfinished(*values):
                beam = BeamState(*values)
                return ops.logical_and(beam.step < end, ops.any(beam.live > LOW / 2))

            return BeamState(*ops.while_loop(unfinished, advance, tuple(beam)))

        if self._with_room(model, beam, constants, steps):
            beam = run(beam, self._room(0, steps))
            beam = self._with_room(model, beam, constants, steps)
        return run(beam, steps)

    def _room(self, before, steps):
        if keras.backend.backend() == "torch":
            return super()._room(before, steps)
        # Two compiled loops; most translations end within the first.
        short = isinstance(steps, int) and steps <= 32
        return steps if before or short else (steps + 1) // 2

    def _run_under_torch(self, model, beam, constants, steps):
        """Sentences leave when a quarter is left: there are few shapes to trace."""
        import torch

        count = len(beam.live)
        can_leave = all(
            isinstance(x, torch.Tensor) and x.ndim and len(x) == count
            for x in tree.flatten(constants.memory)
        )

        def height(live, rows):
            return rows // 4 if can_leave and live <= rows // 4 else rows

        with torch.no_grad():
            return self._run_shrinking(model, beam, constants, steps, height)

    def _stepper(self, model, beam, constants):
        if not can_trace(model):
            return super()._stepper(model, beam, constants)
        function = functools.partial(step, self, model)
        return traced(model, ("step", self.key), function, beam, constants)


class KerasDecoder(BatchDecoder):
    """`BatchDecoder` of Keras models, with the contract of their backbone."""

    search_class = BeamSearch
    map_batches = staticmethod(map_batches)

    def label_log_probs(self, source: Any, target_ids: Any, labels: Any) -> Any:
        """Returns `[log-probabilities (B, T)]` of labels, which follow `target_ids`."""
        backbone = self.backbone

        def function(source, target_ids, labels):
            inputs = {backbone.source_name: source, "target_ids": target_ids}
            return (label_log_probs(backbone(inputs), labels),)

        return compiled(backbone, "force", function)(source, target_ids, labels)

    def target_alignments(self, source: Any, target_ids: Any, labels: Any) -> Any:
        """Returns what `zoo.models.Seq2SeqBackbone.align_details` does, as a list."""
        run = compiled(self.backbone, "align", self.backbone.align_details)
        return run(source, target_ids)
