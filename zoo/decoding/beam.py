"""Batched beam search over the four-method contract, on three backends."""

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
from keras import ops, tree

from zoo.backend import Tensor
from zoo.checks import integer, one_of, positive, zero_or_above
from zoo.decoding.beam_state import (
    LOW,
    BeamState,
    Sentences,
    first_of_beam,
    length_norm,
    step,
)
from zoo.decoding.ties import top_k
from zoo.layers.functional import values_of
from zoo.text.tokenizer import END_ID, PAD_ID, START_ID

# Arguments of a compiled program.
_SETTINGS = "length_penalty", "coverage_penalty", "min_length"


def longest_translation(length: Any) -> Any:
    """Returns the default maximum length of a translation, end token included.

    Args:
        length: pieces of the source, an int or a tensor.
    """
    return 2 * length + 10


@keras.saving.register_keras_serializable(package="zoo")
class BeamSearch:
    """Beam search in the sense of Sutskever et al. (2014, section 3.2).

    Each step extends every live hypothesis by every word and keeps the best by total
    log-probability. A hypothesis that takes the end token is finished: it leaves the
    beam with its score frozen, and the beam has one place fewer, so that `beam_size`
    hypotheses come out in all and beam 1 is greedy search under every penalty. Finished
    hypotheses are ranked by Wu et al. 2016, equation 14:

        s(Y, X) = log P(Y|X) / lp(Y) + cp(X; Y)
        lp(Y) = ((5 + |Y|) / 6)^α,   |Y| counts the end token
        cp(X; Y) = β Σ_i log(min(Σ_j a_ij, 1))

    or with the plain lp(Y) = |Y|^α. A source token without any attention, whose
    logarithm would be -inf, counts as one with 1e-10; in a model without attention all
    do, which does not change the order of its hypotheses.

    A sentence is done when it has no live hypothesis left, or none can reach the best
    `n_best` finished ones any more. A hypothesis that reaches the length limit ends
    there with the end token, whose log-probability counts. Among equal extensions, that
    of the better hypothesis comes first, then the lower word id; among equal finished
    hypotheses, the one that finished first.

    A search is also a sampler for `zoo.models.Translator.compile`: after
    `model.compile(sampler=BeamSearch(5))`, `model.generate(texts)` equals
    `model.translate(texts, beam_size=5)`.

    Args:
        beam_size: places in the beam.
        length_penalty: α ≥ 0; 0 ranks by log-probability alone.
        coverage_penalty: β ≥ 0.
        n_best: how many finished hypotheses must be settled before a sentence is done.
        length_normalization: lp: "gnmt" (Wu et al. 2016) or "plain".
        min_length: minimum tokens of a hypothesis, the end token included; a lower
            length limit takes precedence.
        banned_ids: ids that are never taken, except in a prefix.
        start_id: the start token's id.
        end_id: the end token's id.

    Raises:
        ValueError: for values out of range, before any computation.

    Example:
        >>> from zoo.models import Luong
        >>> model = Luong(20, num_layers=1, hidden_dim=8, embedding_dim=8)
        >>> search = BeamSearch(beam_size=3, length_penalty=0.6)
        >>> ids, scores = search(model, np.array([[4, 5, 6], [7, 8, 0]]))
        >>> ids.shape, scores.shape  # the width is the longest translation's
        ((2, 3, 16), (2, 3))
    """

    variables = ()  # required of a KerasHub sampler; nothing here is random

    def __init__(
        self,
        beam_size: int = 5,
        length_penalty: float = 1.0,
        coverage_penalty: float = 0.0,
        n_best: int = 1,
        length_normalization: str = "gnmt",
        min_length: int = 0,
        banned_ids: Sequence[int] | None = (),
        start_id: int = START_ID,
        end_id: int = END_ID,
    ) -> None:
        self.beam_size = positive("beam_size", beam_size)
        self.length_penalty = float(zero_or_above("length_penalty", length_penalty))
        self.coverage_penalty = float(
            zero_or_above("coverage_penalty", coverage_penalty)
        )
        self.n_best = positive("n_best", n_best)
        if n_best > beam_size:
            raise ValueError(
                "`n_best` must not exceed `beam_size`. "
                f"Received: n_best={n_best}, beam_size={beam_size}"
            )
        self.length_normalization = one_of(
            "length_normalization", length_normalization, ("gnmt", "plain")
        )
        self.min_length = integer("min_length", min_length, 0)
        self.start_id = integer("start_id", start_id, 0)
        self.end_id = integer("end_id", end_id, 0)
        self.banned_ids = tuple(integer("banned_ids", x, 0) for x in banned_ids or ())
        if self.end_id in self.banned_ids:
            raise ValueError(
                f"`banned_ids` must not hold that of the end token, {end_id}; "
                f"`min_length` puts the end off. Received: banned_ids={banned_ids}"
            )

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        names = (
            *("beam_size", "length_penalty", "coverage_penalty", "n_best"),
            *("length_normalization", "min_length", "banned_ids"),
            *("start_id", "end_id"),
        )
        return {name: getattr(self, name) for name in names}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "BeamSearch":
        """Creates a search from the result of `get_config`."""
        return cls(**config)

    def key(self) -> tuple[Any, ...]:
        """Returns what two searches must share to run the same compiled program.

        Only whether each penalty, the minimum length and banned ids are set is part of
        it; their values are arguments of the program.
        """
        names = *_SETTINGS, "banned_ids"
        given = {name: bool(getattr(self, name)) for name in names}
        return tuple({**self.get_config(), **given}.values())

    def settings(self) -> np.ndarray:
        """Returns the penalties and the minimum length, an argument of a program."""
        return np.array([getattr(self, name) for name in _SETTINGS], "float32")

    def banned(self) -> np.ndarray:
        """Returns `banned_ids` as int32, padded with -1 to one of few lengths."""
        width = 1 << max(len(self.banned_ids) - 1, 0).bit_length()
        return np.pad(
            np.array(self.banned_ids, "int32"),
            (0, width - len(self.banned_ids)),
            constant_values=-1,
        )

    def __call__(
        self,
        model: Any,
        source_ids: Tensor,
        limits: Tensor | None = None,
        steps: int | None = None,
        prefix: Tensor | None = None,
        banned: Tensor | None = None,
        settings: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Searches for the best translations of a batch.

        Args:
            model: any object with the contract's `encode`, `start` and `step` (see
                `zoo.models.Seq2SeqBackbone`); if it has `start_for`, that is called
                with `steps` instead of `start`.
            source_ids: int `(B, S)`, padded with 0.
            limits: int `(B,)`, the maximum length of each translation, end token
                included. Default: twice its pieces plus 10, or `min_length` if higher.
            steps: the width of the result, at least every limit. Default: the highest
                limit, given or possible for S pieces.
            prefix: int `(B, steps)`: tokens that every hypothesis has in their places,
                0 where it is free. Their log-probabilities count. At the limit the end
                token is taken anyway.
            banned: int `(n,)`: replaces the search's `banned_ids`; -1 for none.
            settings: float `(3,)`: replaces the search's `settings()`; its zeros stay.

        Returns:
            `(ids, scores)`: int `(B, K, steps)`, best first, padded with 0 after the
            end token, and float32 `(B, K)`; a missing hypothesis scores -1e9. They have
            no gradient.

        Raises:
            ValueError: without `steps` if a graph is traced for unknown lengths.
        """
        source_ids = ops.convert_to_tensor(source_ids)
        if limits is None:
            limits = self._limits(source_ids)
            if steps is None and source_ids.shape[1] is not None:
                steps = self._most_steps(source_ids.shape[1])
        elif steps is None and values_of(limits) is not None:
            steps = int(values_of(limits).max(initial=1))
        if steps is None:
            raise ValueError(
                "`steps` must be given where the lengths are not known. Received: "
                f"source_ids {tuple(source_ids.shape)}, steps=None"
            )
        beams = self.beam_size
        batch = ops.shape(source_ids)[0]
        memory = model.encode(source_ids)
        if hasattr(model, "start_for"):
            state = model.start_for(memory, steps)
        else:
            state = model.start(memory)
        # Only the state has a row per hypothesis; the memory is not copied.
        state = tree.map_structure(lambda x: ops.repeat(x, beams, axis=0), state)
        if banned is None and self.banned_ids:
            banned = self.banned()
        if settings is None:
            settings = self.settings()
        settings = ops.convert_to_tensor(settings, dtype="float32")
        limits = ops.cast(limits, "int32")[:, None]
        sentences = Sentences(
            memory,
            limits,
            prefix,
            None if banned is None else ops.cast(banned, "int32"),
            ops.cast(ops.not_equal(source_ids, PAD_ID), "float32")[:, None],
            settings[0],
            settings[1],
            settings[2],
            length_norm(self, ops.cast(limits, "float32"), settings[0]),
            ops.arange(beams, dtype="int32")[None],
            ops.arange(batch, dtype="int32")[:, None] * beams,
            ops.arange(steps, dtype="int32")[None, None],
        )
        initial = BeamState(
            step=ops.zeros((), dtype="int32"),
            state=state,
            tokens=ops.full((batch * beams,), self.start_id, dtype="int32"),
            ids=ops.zeros((batch, beams, steps), dtype="int32"),
            live=first_of_beam(batch, beams),
            done_ids=ops.zeros((batch, beams, steps), dtype="int32"),
            done=ops.full((batch, beams), LOW, dtype="float32"),
            coverage=ops.zeros((batch, beams, ops.shape(source_ids)[1]), "float32")
            if self.coverage_penalty
            else (),
        )

        def unfinished(*values):
            beam = BeamState(*values)
            return ops.logical_and(beam.step < steps, ops.any(beam.live > LOW / 2))

        def advance(*values):
            return tuple(step(self, model, BeamState(*values), sentences))

        beam = BeamState(*ops.while_loop(unfinished, advance, tuple(initial)))
        scores, order = top_k(beam.done, beams, LOW / 2)
        ids = ops.take_along_axis(beam.done_ids, order[..., None], axis=1)
        return ids, scores

    def _limits(self, source_ids):
        """Returns each sentence's default maximum length, int32 `(B,)`."""
        real = ops.cast(ops.not_equal(source_ids, PAD_ID), "int32")
        return ops.maximum(longest_translation(ops.sum(real, axis=1)), self.min_length)

    def _most_steps(self, length):
        """Returns the default maximum length for a source of `length` pieces."""
        return max(longest_translation(length), self.min_length)

    def generate(
        self,
        model: Any,
        inputs: dict[str, Tensor],
        stop_token_ids: Sequence[int] | None = None,
    ) -> Tensor:
        """Returns the best translation of each source, for a Translator's `generate`.

        Args:
            model: see `__call__`.
            inputs: `source_ids` int (B, S) and, for a given length, `target_ids` (B,
                T): the start token, a prefix if any, then 0. By default a translation
                may be as long as in `translate`.
            stop_token_ids: None, or just the end token's id.

        Returns:
            int (B, T): the start token, then the translation, padded with 0; without a
            translation if the source is empty.

        Raises:
            ValueError: if T has no room for `min_length`, or for other stop tokens.
        """
        if stop_token_ids is not None and list(stop_token_ids) != [self.end_id]:
            raise ValueError(
                f"A beam search stops at the end token alone, {self.end_id}. "
                f"Received: stop_token_ids={stop_token_ids}"
            )
        source_ids = ops.cast(inputs["source_ids"], "int32")
        real = ops.any(ops.not_equal(source_ids, PAD_ID), axis=1)
        if inputs.get("target_ids") is None:
            prefix = None
            limits = self._limits(source_ids)
            steps = self._most_steps(source_ids.shape[1])
        else:
            prefix = ops.cast(inputs["target_ids"], "int32")[:, 1:]
            steps = prefix.shape[1]
            limits = ops.full(ops.shape(real), steps, dtype="int32")
        if self.min_length > steps:
            raise ValueError(
                "`max_length` must leave room for `min_length` and the start token. "
                f"Received: max_length={steps + 1}, min_length={self.min_length}"
            )
        if not steps:
            return ops.cast(inputs["target_ids"], "int32")
        # A row without a source ends at once, like a full one.
        limits = ops.where(real, limits, 1)
        ids, _ = self(model, source_ids, limits, steps, prefix)
        nothing = 0 if prefix is None else prefix
        ids = ops.where(real[:, None], ids[:, 0], nothing)
        return ops.pad(ids, [(0, 0), (1, 0)], constant_values=self.start_id)
