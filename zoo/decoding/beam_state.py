"""One step of beam search, as functions of a `BeamState`. Imports no Keras.

Arrays are of any library: the search's `ops` has its functions.

Shapes: B sentences of K hypotheses each, S source positions, T steps, V words. A
missing hypothesis has the score `LOW`.
"""

from typing import Any, NamedTuple

import numpy as np

from zoo.backend import Tensor
from zoo.decoding.lexical_constraints import (
    LOW,
    advance,
    due_words,
    share_out,
    upcoming,
    within_prefix,
    without_repeats,
)
from zoo.ids import PAD_ID

_UNCOVERED = 1e-10  # minimum attention of a source token


class BeamState(NamedTuple):
    """The hypotheses of a batch after some steps.

    Attributes:
        step: number of steps made, int ().
        state: the model's state, a nested structure of `(B * K, ...)`. Arrays of more
            than two axes, such as caches, have the rows of the hypotheses before the
            last step.
        parents: which of those the live hypotheses extend, int (B, K); () with a beam
            of 1.
        tokens: the last token of each hypothesis, int (B * K,).
        ids: the tokens of the live hypotheses, int (B, K, T).
        live: their log-probabilities, `LOW` if missing, (B, K).
        done_ids: the tokens of the finished hypotheses, in the order in which they
            finished, int (B, K, T).
        done: their scores s(Y, X), `LOW` if missing, (B, K).
        coverage: Σ_j a_ij of the live hypotheses, (B, K, S); () without the penalty.
        met: how many pieces of terms these have met, int (B, K, C); () without terms.
    """

    step: Any
    state: Any
    parents: Any
    tokens: Any
    ids: Any
    live: Any
    done_ids: Any
    done: Any
    coverage: Any
    met: Any = ()


class SearchConstants(NamedTuple):
    """The constants of the search over a batch.

    Attributes:
        memory: the model's memory.
        limits: maximum length of each translation, int (B, 1).
        real: 1 where the source is not padding, (B, 1, S); None without the penalty.
        penalties: of length and coverage, (2,).
        mildest: lp(Y) of a translation at its limit, (B, 1).
        rank: the places of a beam, int (1, K).
        rows: the row of each sentence's first hypothesis, int (B, 1).
        places: the places of a translation, int (1, 1, T).
        prefix: given tokens, 0 where a place is free, int (B, T); or None.
        terms: pieces of terms, see `zoo.decoding.lexical_constraints`; or None.
    """

    memory: Any
    limits: Any
    real: Any
    penalties: Any
    mildest: Any
    rank: Any
    rows: Any
    places: Any
    prefix: Any = None
    terms: Any = None


def step(
    search: Any, model: Any, beam: BeamState, constants: SearchConstants
) -> BeamState:
    """Returns the `BeamState` after one more step of a `BeamSearch`."""
    ops, rows = search.ops, constants.rows
    # Cache rows are gathered here rather than at the end of the last step, so that a
    # compiler can make one pass of it and of the model's writing into the cache.
    state = search.map_structure(
        lambda x: _pick_rows(ops, x, beam.parents, rows) if _is_cache(x) else x,
        beam.state,
    )
    outputs = model.step(beam.tokens, state, constants.memory)
    # Under torch, a search outside `no_grad` would keep every step for gradients.
    logits, state, weights = search.map_structure(
        lambda x: None if x is None else ops.stop_gradient(x), outputs
    )
    scores, words, parents, met = extend(search, logits, beam, constants)
    # Finished hypotheses keep their places, which the beam loses.
    finished = ops.sum(ops.cast(beam.done > LOW / 2, "int32"), axis=1, keepdims=True)
    free = constants.rank < search.beam_size - finished
    if constants.terms is not None:  # of which another sentence may have more
        unused = constants.terms[:, :-1] == PAD_ID
        unused = ops.sum(ops.cast(unused, "int32"), axis=1, keepdims=True)
        free = constants.rank < search.beam_size - unused - finished
    valid = ops.logical_and(free, scores > LOW / 2)
    words = ops.where(valid, words, PAD_ID)
    ends = ops.logical_and(valid, words == search.end_id)
    here = constants.places == beam.step
    ids = ops.where(here, words[..., None], _pick(ops, beam.ids, parents, rows))
    coverage = beam.coverage
    if search.coverage_penalty:
        weights = ops.cast(ops.reshape(weights, ops.shape(coverage)), "float32")
        coverage = _pick(ops, coverage + weights, parents, rows)
    length = ops.cast(beam.step + 1, "float32")
    ranked = score(search, scores, length, coverage, constants)
    done_ids, done = finish(search, beam, ends, ids, ranked, finished, constants)
    alive = ops.logical_and(valid, ops.logical_not(ends))
    live = prune(search, ops.where(alive, scores, LOW), done, constants)
    return BeamState(
        beam.step + 1,
        search.map_structure(
            lambda x: x if _is_cache(x) else _pick_rows(ops, x, parents, rows), state
        ),
        parents,
        ops.reshape(words, (-1,)),
        ids,
        live,
        done_ids,
        done,
        coverage,
        met,
    )


def extend(
    search: Any, logits: Tensor, beam: BeamState, constants: SearchConstants
) -> tuple[Tensor, Tensor, Any, Any]:
    """Extends each hypothesis by each word, and keeps the K best of a sentence.

        log P(y_1 … y_t | X) = log P(y_1 … y_t-1 | X) + log p(y_t | y_1 … y_t-1, X)

    Returns:
        `(scores, words, parents, met)`: log-probabilities, the new words and the
        hypotheses that they extend (() with a beam of 1), each (B, K), best first
        without terms; and the new `met`.
    """
    ops, beams = search.ops, search.beam_size
    batch = ops.shape(beam.live)[0]
    logits = ops.cast(logits, "float32")
    total = ops.logsumexp(logits, axis=-1, keepdims=True)
    begun: Any = None
    pieces: Any = None
    if constants.terms is not None:
        begun, pieces = upcoming(search, beam.met, constants.terms)
    # Other words do not get the probability of words that are ruled out.
    best, words = candidates(search, logits, beam, constants, pieces)
    width = best.shape[-1]
    if beams == 1:  # nothing to choose from
        # In the batch's shape, which a user's model may not keep.
        scores = ops.reshape(best - total, (batch, 1)) + beam.live
        return scores, ops.reshape(words, (batch, 1)), (), ()
    log_probs = ops.reshape(best - total, (batch, beams, width))
    log_probs = log_probs + beam.live[..., None]
    flat = ops.reshape(log_probs, (batch, beams * width))
    words = ops.cast(ops.reshape(words, (batch, beams * width)), "int32")
    met: Any = ()
    if constants.terms is None:
        scores, picks = search.top_k(flat, beams)  # (B, K)
    else:
        met = advance(search, beam.met, begun, pieces, words, constants.terms)
        scores, picks = share_out(search, flat, met)
        met = ops.take_along_axis(met, picks[..., None], axis=1)
    picks = ops.cast(picks, "int32")
    return scores, ops.take_along_axis(words, picks, axis=1), picks // width, met


def candidates(
    search: Any,
    logits: Tensor,
    beam: BeamState,
    constants: SearchConstants,
    pieces: Any = None,
) -> tuple[Tensor, Tensor]:
    """Returns logits and ids `(B * K, k)` of the best allowed words per hypothesis.

    `pieces` are the next ones of terms (see `upcoming`), None without terms.

    A single top-k over beams times vocabulary would be slow under XLA.
    """
    ops, beams, vocabulary = search.ops, search.beam_size, logits.shape[-1]
    words = ops.arange(vocabulary, dtype="int32")[None]
    if constants.terms is not None:
        due, unmet = due_words(search, pieces, words)
        unmet = ops.logical_and(unmet, words == search.end_id)
        logits = ops.where(unmet, LOW, logits)
    free = logits
    if search.banned_ids:
        banned = np.isin(np.arange(vocabulary), search.banned_ids)
        free = ops.where(banned[None], LOW, free)
    if search.min_length:
        early = beam.step + 1 < search.min_length
        free = ops.where(ops.logical_and(words == search.end_id, early), LOW, free)
    if search.no_repeat_ngram_size:
        others = without_repeats(search, free, beam, constants)
        free = others if constants.terms is None else ops.where(due, free, others)
    if constants.prefix is not None:
        free = within_prefix(search, logits, free, words, beam, constants)
    width = min(beams, vocabulary)
    if constants.terms is None:
        best, words = search.top_k(free, width)
    else:  # these words, too
        width = min(beams + beam.met.shape[2], vocabulary)
        words = search.top_k(ops.where(due, -LOW, free), width)[1]
        best = ops.take_along_axis(free, words, axis=1)
    # At its limit a sentence takes the end token.
    full = beam.step + 1 >= constants.limits  # (B, 1)
    if beams > 1:
        full = ops.repeat(full, beams, axis=0)  # (B * K, 1)
    first = ops.arange(width, dtype="int32")[None] == 0
    end = ops.where(first, logits[:, search.end_id : search.end_id + 1], LOW)
    words = ops.where(full, search.end_id, ops.cast(words, "int32"))
    return ops.where(full, end, best), words


def score(
    search: Any,
    log_probs: Tensor,
    length: Tensor,
    coverage: Tensor,
    constants: SearchConstants,
) -> Tensor:
    """Returns s(Y, X) of hypotheses of one length, (B, K).

    s(Y, X) = log P(Y|X) / lp(Y) + cp(X; Y)     (Wu et al. 2016, equation 14)
    """
    ops = search.ops
    ranked = log_probs / length_norm(search, length, constants.penalties[0])
    if search.coverage_penalty:
        # cp(X; Y) = β Σ_i log(min(Σ_j a_ij, 1))
        covered = ops.log(ops.clip(coverage, _UNCOVERED, 1.0)) * constants.real
        ranked = ranked + constants.penalties[1] * ops.sum(covered, axis=-1)
        # Whatever the penalty, a finished hypothesis is not a missing one.
        ranked = ops.maximum(ranked, LOW / 4)
    return ranked


def length_norm(search: Any, length: Tensor, penalty: Tensor) -> Any:
    """Returns lp(Y) = ((5 + |Y|) / 6)^α."""
    if not search.length_penalty:
        return 1.0
    return search.ops.power((5.0 + length) / 6.0, penalty)


def finish(
    search: Any,
    beam: BeamState,
    ends: Tensor,
    ids: Tensor,
    ranked: Tensor,
    finished: Tensor,
    constants: SearchConstants,
) -> tuple[Tensor, Tensor]:
    """Moves hypotheses that ended into the free places after finished ones.

    `ends` (B, K) tells which of the hypotheses ended; `ids` are their tokens, `ranked`
    their scores, and `finished` (B, 1) is how many had finished before the step.

    Returns:
        `(done_ids, done)`.
    """
    ops = search.ops
    if search.beam_size == 1:
        moved, taken = ends, ids
    else:
        place = finished + ops.cumsum(ops.cast(ends, "int32"), axis=1) - 1
        move = ops.logical_and(
            ends[:, None], place[:, None] == constants.rank[..., None]
        )
        moved = ops.any(move, axis=-1)  # (B, K): this place is filled now
        source = ops.cast(ops.argmax(ops.cast(move, "int32"), axis=-1), "int32")
        taken = _pick(ops, ids, source, constants.rows)
        ranked = ops.take_along_axis(ranked, source, axis=1)
    done_ids = ops.where(moved[..., None], taken, beam.done_ids)
    return done_ids, ops.where(moved, ranked, beam.done)


def prune(
    search: Any, live: Tensor, done: Tensor, constants: SearchConstants
) -> Tensor:
    """Drops live hypotheses if none can reach the best `n_best` finished ones.

    Log-probabilities only fall, and the length penalty is mildest at the limit, so no
    live hypothesis of a sentence can end above max log P / lp(limit).
    """
    ops = search.ops
    bound = ops.max(live, axis=1, keepdims=True) / constants.mildest
    if search.n_best == 1:
        settled = ops.max(done, axis=1, keepdims=True)
    else:
        settled = ops.top_k(done, search.n_best)[0][:, -1:]
    return ops.where(bound <= settled, LOW, live)


# === Rows ===


def keep(
    search: Any, chosen: Any, beam: BeamState, constants: SearchConstants
) -> tuple[BeamState, SearchConstants]:
    """Returns the state and the constants of the sentences at some places, int (n,)."""
    ops = search.ops
    rows = ops.take(constants.rows, chosen, axis=0) + constants.rank
    rows = ops.reshape(rows, (-1,))

    def take(values, names, places):
        def taken(x):
            return ops.take(x, places, axis=0) if getattr(x, "shape", ()) else x

        parts = {name: getattr(values, name) for name in names}
        return values._replace(**search.map_structure(taken, parts))

    beam = take(beam, ("state", "tokens"), rows)
    held = "memory", "limits", "prefix", "terms", "real", "mildest"
    constants = take(constants, held, chosen)
    names = "parents", "ids", "live", "done_ids", "done", "coverage", "met"
    left = constants.rows[: len(chosen)]
    return take(beam, names, chosen), constants._replace(rows=left)


def _is_cache(values):
    """Whether an array has more than two axes: its rows are gathered a step later."""
    return values is not None and len(values.shape) > 2


def _pick(ops, values, index, first):
    """Returns values (B, K, n) of the hypotheses `index` (B, K)."""
    if isinstance(index, tuple):
        return values
    rows = ops.reshape(values, (-1, ops.shape(values)[2]))
    return ops.reshape(_pick_rows(ops, rows, index, first), ops.shape(values))


def _pick_rows(ops, values, index, first):
    """Returns values `(B * K, ...)` of the hypotheses `index` (B, K).

    They count from the row `first` (B, 1); an `index` of () keeps all values.
    """
    if isinstance(index, tuple):
        return values
    return ops.take(values, ops.reshape(index + first, (-1,)), axis=0)
