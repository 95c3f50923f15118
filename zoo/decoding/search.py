"""Batched beam search over the four-method contract. Imports no Keras."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from zoo.backend import Tensor
from zoo.checks import integer, zero_or_above
from zoo.decoding.beam_state import (
    LOW,
    BeamState,
    SearchConstants,
    keep,
    length_norm,
    step,
)
from zoo.ids import END_ID, PAD_ID, START_ID


def longest_translation(length: Any) -> Any:
    """Returns the default maximum length of a translation, given the source's."""
    return 2 * length + 10


class Search:
    """Beam search over any library of arrays, whose operations a subclass names.

    `BeamSearch` documents the search and its arguments. `find` is `__call__` of NumPy
    arrays, `(model, source, limits, steps, prefix=None)`, in the fewest programs; rows
    of the source after the last limit only pad the batch. `_run`, of `(model, beam,
    constants, steps)`, returns the beam when all sentences are done, after `steps` at
    most. `key` is what two searches must share to run the same compiled
    program; of each penalty, only whether it is set.
    """

    ops: Any  # the library's functions, with the names and arguments of `keras.ops`
    top_k: Callable[[Tensor, int], tuple[Tensor, Tensor]]  # see `beam.top_k`
    log_sum_exp: Callable[[Tensor], Tensor]  # along the last axis, which is kept as 1
    # Applies a function to the arrays of a model's state, or of several.
    map_structure: Callable[..., Any]
    find: Callable[..., Any]
    _run: Callable[..., BeamState]

    def __init__(
        self,
        beam_size: int = 5,
        length_penalty: float = 1.0,
        coverage_penalty: float = 0.0,
        n_best: int = 1,
        min_length: int = 0,
        banned_ids: Sequence[int] = (),
        start_id: int = START_ID,
        end_id: int = END_ID,
        no_repeat_ngram_size: int = 0,
    ) -> None:
        self.beam_size = integer("beam_size", beam_size, 1)
        self.length_penalty = zero_or_above("length_penalty", length_penalty)
        self.coverage_penalty = zero_or_above("coverage_penalty", coverage_penalty)
        self.n_best = integer("n_best", n_best, 1)
        if n_best > beam_size:
            raise ValueError(
                "`n_best` must not exceed `beam_size`. "
                f"Received: n_best={n_best}, beam_size={beam_size}"
            )
        self.min_length = integer("min_length", min_length, 0)
        self.start_id = integer("start_id", start_id, 0)
        self.end_id = integer("end_id", end_id, 0)
        self.no_repeat_ngram_size = integer(
            "no_repeat_ngram_size", no_repeat_ngram_size, 0
        )
        self.banned_ids = tuple(integer("banned_ids", x, 0) for x in banned_ids)
        if self.end_id in self.banned_ids:
            raise ValueError(
                f"`banned_ids` must not hold the end token's, {end_id}. "
                f"Received: banned_ids={banned_ids}"
            )
        penalties = {"length_penalty", "coverage_penalty"}
        self.key = tuple(
            bool(x) if n in penalties else x for n, x in vars(self).items()
        )

    def __call__(
        self,
        model: Any,
        source_ids: Tensor,
        limits: Tensor | None = None,
        steps: int | None = None,
        prefix: Tensor | None = None,
        penalties: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Searches for the best translations of a batch.

        Args:
            model: any object with the contract's `encode`, `start` and `step` (see
                `zoo.models.Seq2SeqBackbone`); if it has `start_for`, its state has
                room for some of the steps, and is padded with zeros for more.
            source_ids: int `(B, S)`, padded with 0.
            limits: int `(B,)`, the maximum length of each translation, end token
                included. Default: twice its pieces plus 10, or `min_length` if higher.
            steps: the width of the result, at least every limit. Default: the highest
                limit, given or possible for S pieces.
            prefix: int `(B, steps)`: tokens that every hypothesis has in their places,
                0 where it is free. Their log-probabilities count. At the limit the end
                token is taken anyway.
            penalties: float `(2,)`: replaces the penalties of length and coverage that
                are not 0.

        Returns:
            `(ids, scores)`: int `(B, K, steps)`, best first, padded with 0 after the
            end token, and float32 `(B, K)`; a missing hypothesis scores -1e9, as all of
            a sentence do whose logits are NaN. They have no gradient.

        Raises:
            ValueError: without `steps` if a graph is traced for unknown lengths.
        """
        ops = self.ops
        source_ids = ops.convert_to_tensor(source_ids)
        if steps is None:
            steps = self._steps(source_ids, limits)
        if limits is None:
            real = ops.cast(ops.not_equal(source_ids, PAD_ID), "int32")
            limits = longest_translation(ops.sum(real, axis=1))
            limits = ops.maximum(limits, self.min_length)
        memory = model.encode(source_ids)
        if hasattr(model, "start_for"):
            state = model.start_for(memory, self._room(0, steps))
        else:
            state = model.start(memory)
        if prefix is not None:
            prefix = ops.cast(prefix, "int32")
        constants = self._constants(source_ids, limits, steps, penalties)
        constants = constants._replace(memory=memory, prefix=prefix)
        beam = self._run(model, self._initial(state, constants), constants, steps)
        scores, order = self.top_k(beam.done, self.beam_size)
        ids = ops.take_along_axis(beam.done_ids, order[..., None], axis=1)
        return ids, scores

    def _steps(self, source_ids, limits):
        """Returns the width of the result."""
        try:
            if limits is not None:
                return max(int(self.ops.max(limits)), 1)
            return max(longest_translation(source_ids.shape[1]), self.min_length)
        except TypeError as error:  # a graph is traced, of whatever sizes or values
            raise ValueError(
                "`steps` must be given where the lengths are not known. Received: "
                f"source_ids {tuple(source_ids.shape)}, steps=None"
            ) from error

    def _constants(self, source_ids, limits, steps, penalties):
        """Returns the `SearchConstants` without memory and prefix."""
        ops, batch = self.ops, self.ops.shape(source_ids)[0]
        if penalties is None:
            penalties = (self.length_penalty, self.coverage_penalty)
        penalties = ops.convert_to_tensor(penalties, dtype="float32")
        limits = ops.cast(limits, "int32")[:, None]
        real = None
        if self.coverage_penalty:  # which alone asks for it, and only of text
            real = ops.cast(ops.not_equal(source_ids, PAD_ID), "float32")[:, None]
        return SearchConstants(
            limits=limits,
            real=real,
            penalties=penalties,
            mildest=length_norm(self, ops.cast(limits, "float32"), penalties[0]),
            rank=ops.arange(self.beam_size, dtype="int32")[None],
            rows=ops.arange(batch, dtype="int32")[:, None] * self.beam_size,
            places=ops.arange(steps, dtype="int32")[None, None],
        )

    def _initial(self, state, constants):
        """Returns the beam before the first step, from a model's first state."""
        ops, beams = self.ops, self.beam_size
        batch, steps = ops.shape(constants.rows)[0], ops.shape(constants.places)[-1]
        coverage: Any = ()
        if self.coverage_penalty:
            shape = batch, beams, ops.shape(constants.real)[-1]
            coverage = ops.zeros(shape, "float32")
        first = ops.cast(ops.where(constants.rank == 0, 0.0, LOW), "float32")
        return BeamState(
            step=ops.zeros((), dtype="int32"),
            # Only the state has a row per hypothesis; the memory is not copied.
            state=self.map_structure(lambda x: ops.repeat(x, beams, axis=0), state),
            # Each is its own.
            parents=ops.tile(constants.rank, (batch, 1)) if beams > 1 else (),
            tokens=ops.full((batch * beams,), self.start_id, dtype="int32"),
            ids=ops.zeros((batch, beams, steps), dtype="int32"),
            live=ops.tile(first, (batch, 1)),  # of one hypothesis
            done_ids=ops.zeros((batch, beams, steps), dtype="int32"),
            done=ops.full((batch, beams), LOW, dtype="float32"),
            coverage=coverage,
        )

    def _run_shrinking(self, model, beam, constants, steps, height):
        """`_run` whose state grows and from which done sentences leave.

        `height(live, all)` of them stay.
        """
        places = np.arange(len(beam.live))  # of the batch's sentences among all
        done_ids, done = beam.done_ids + 0, beam.done + 0  # copies
        advance, room = None, self._room(0, steps)
        for number in range(steps):
            live = np.array(self.ops.max(beam.live, axis=1).tolist()) > LOW / 2
            if not live.any():
                break
            kept = height(int(live.sum()), len(live))
            if kept < len(live):
                done_ids[places], done[places] = beam.done_ids, beam.done
                chosen = np.argsort(~live, kind="stable")[:kept]
                beam, constants = keep(self, chosen, beam, constants)
                places, advance = places[chosen], None
            if number == room:
                room = self._room(room, steps)
                if wider := self._with_room(model, beam, constants, room):
                    beam, advance = wider, None
            advance = advance or self._stepper(model, beam, constants)
            beam = advance(beam)
        done_ids[places], done[places] = beam.done_ids, beam.done
        return beam._replace(done_ids=done_ids, done=done)

    def _room(self, before, steps):
        """The steps that a growing state (caches, tapes) has room for after `before`.

        It starts small: a step takes longer the wider its state is.
        """
        return min(max(16, 2 * before), steps)

    def _with_room(self, model, beam, constants, room):
        """The beam, its state padded with zeros to `room` steps; None if none grows."""
        if not hasattr(model, "start_for"):
            return None
        padded = []

        def pad(values, wanted):
            old, new = (self.ops.shape(x)[1:] for x in (values, wanted))
            more = [after - before for before, after in zip(old, new, strict=True)]
            # In a graph a size may be a tensor.
            if all(isinstance(n, int) and n <= 0 for n in more):
                return values
            padded.append(self.ops.pad(values, [(0, 0), *((0, n) for n in more)]))
            return padded[-1]

        wanted = model.start_for(constants.memory, room)
        state = self.map_structure(pad, beam.state, wanted)
        return beam._replace(state=state) if padded else None

    def _stepper(self, model, beam, constants):
        """Returns the function that takes one step from a beam like this one."""
        return lambda beam: step(self, model, beam, constants)

    def best_rows(
        self, ids: np.ndarray, scores: np.ndarray
    ) -> list[tuple[list[int], float]]:
        """Returns at most `n_best` pairs of a row's ids before the end, and score."""
        rows = [ids[k].tolist() for k in range(self.n_best) if scores[k] > LOW / 2]
        end = self.end_id
        rows = [row[: row.index(end)] if end in row else row for row in rows]
        return list(zip(rows, scores.tolist(), strict=False))
