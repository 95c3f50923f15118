"""Prefixes, terms and repeats of a translation in a search. Imports no Keras.

Terms follow Post & Vilar 2018 (arXiv 1804.06609), dynamic beam allocation: each
hypothesis knows which tokens of its sentence's terms it has met, and only one that has
met all may end. At each step hypotheses are also extended by the next tokens of their
terms, and the places of the beam are shared out among the numbers of tokens met. The
beam has one more place for each token of a sentence's terms, so that every number has
one.

Shapes: B sentences of K hypotheses, N extensions of them, C tokens of terms, V words.
`met` (B, K, C) tells which tokens of terms a hypothesis has met, `logits` (B * K, V)
are the model's, and `free` are those with `LOW` for words that are ruled out.
"""

from typing import Any, NamedTuple

from zoo.backend import Tensor
from zoo.ids import PAD_ID

LOW = -1e9  # the score of a missing hypothesis


class Terms(NamedTuple):
    """The tokens of the terms of a batch, one term after the other, and what follows.

    Attributes:
        ids: int (B, C), 0 where there are no more.
        first: which are the first of their term, (B, 1, C).
        of_one_term: which two are of the same term, (B, 1, C, C).
        earlier: which two are equal, the second before the first, (B, 1, C, C).
    """

    ids: Any
    first: Any
    of_one_term: Any
    earlier: Any


def make_terms(ops: Any, ids: Tensor, firsts: Tensor) -> Terms:
    """Returns the `Terms` of ids and of the place of each one's first, int (B, C)."""
    order = ops.arange(ids.shape[1], dtype="int32")
    equal = ids[:, :, None] == ids[:, None]
    return Terms(
        ids,
        (firsts == order)[:, None],
        (firsts[:, :, None] == firsts[:, None])[:, None],
        ops.logical_and(equal, order[:, None] > order[None])[:, None],
    )


def within_prefix(
    search: Any,
    logits: Tensor,
    free: Tensor,
    words: Tensor,
    beam: Any,
    constants: Any,
) -> Tensor:
    """Returns `free` (B * K, V) with `LOW` for words that the prefix rules out.

    A hypothesis has the prefix's tokens one after another, or in the place of its last
    ones a completion ("▁Zwei" in the place of "▁Z", "w"). What follows is free, but for
    the word after a prefix that only some may follow.
    """
    ops, prefix, places = search.ops, constants.prefix[:, None], constants.places
    written = places < beam.step  # (1, 1, T)
    same = ops.logical_or(beam.ids == prefix, ops.logical_not(written))  # (B, K, T)
    given = ops.take(prefix, ops.reshape(beam.step, (1,)), axis=2)  # (B, 1, 1)
    left = ops.logical_and(prefix != PAD_ID, ops.logical_not(written))
    left = ops.sum(ops.cast(left, "int32"), axis=2)  # from this one on (B, 1)
    # A word of more tokens than an int has bits is completed at its end alone.
    bits = ops.right_shift(constants.completions, ops.clip(left, 0, 31))
    completes = (bits % 2 == 1)[:, None]  # (B, 1, V)
    ruled = ops.logical_or(left > 0, ops.any(completes, axis=2))
    inside = ops.logical_and(ops.all(same, axis=2), ruled)  # (B, K)
    given = ops.logical_and(words == given, left[..., None] > 0)  # (B, 1, V)
    shape = (*ops.shape(beam.live), logits.shape[-1])
    logits, free = ops.reshape(logits, shape), ops.reshape(free, shape)
    allowed = ops.where(given, logits, ops.where(completes, free, LOW))
    return ops.reshape(ops.where(inside[..., None], allowed, free), (-1, shape[-1]))


def without_repeats(search: Any, free: Tensor, beam: Any, constants: Any) -> Tensor:
    """Returns `free` (B * K, V) with `LOW` for words that would repeat an n-gram.

    The end token, padding and the next tokens of terms may always be taken.
    """
    ops, ids, places = search.ops, beam.ids, constants.places
    before, vocabulary = search.no_repeat_ngram_size - 1, free.shape[-1]
    repeats = ops.logical_and(places >= before, places < beam.step)  # (1, 1, T)
    kept = ops.logical_or(ids == PAD_ID, ids == search.end_id)
    repeats = ops.logical_and(repeats, ops.logical_not(kept))  # (B, K, T)
    for back in range(1, min(before, places.shape[-1]) + 1):
        shifted = ops.pad(ids, [(0, 0), (0, 0), (back, 0)])[..., :-back]
        last = ops.reshape(ops.maximum(beam.step - back, 0), (1,))
        repeats = ops.logical_and(repeats, shifted == ops.take(ids, last, axis=2))
    if constants.terms is not None:
        wanted = ops.logical_or(*upcoming(search, beam.met, constants))[:, :, None]
        same = ids[..., None] == constants.terms.ids[:, None, None]
        wanted = ops.logical_and(wanted, same)  # (B, K, T, C)
        repeats = ops.logical_and(repeats, ops.logical_not(ops.any(wanted, axis=-1)))
    index = (constants.rows + constants.rank)[..., None] * vocabulary + ids
    counts = ops.segment_sum(
        ops.reshape(ops.cast(repeats, "int32"), (-1,)),
        ops.reshape(index, (-1,)),
        ops.shape(free)[0] * vocabulary,
    )
    return ops.where(ops.reshape(counts, (-1, vocabulary)) > 0, LOW, free)


def upcoming(search: Any, met: Tensor, constants: Any) -> tuple[Tensor, Tensor]:
    """Returns which tokens come next: of a term that has begun, and of others.

    Returns:
        Two bool tensors (B, K, C).
    """
    ops = search.ops
    first = constants.terms.first
    real = constants.terms.ids[:, None] != PAD_ID
    missing = ops.logical_and(ops.logical_not(met), real)
    before = ops.pad(met[..., :-1], [(0, 0), (0, 0), (1, 0)])  # the one before is met
    begun = ops.logical_and(before, ops.logical_not(first))
    return ops.logical_and(missing, begun), ops.logical_and(missing, first)


def advance(search: Any, met: Tensor, words: Tensor, constants: Any) -> Tensor:
    """Returns the tokens that extensions have met, bool (B, N, C).

    A term that has begun and does not go on has met nothing; the word may then begin
    another, or the same again.
    """
    ops = search.ops
    begun, _ = upcoming(search, met, constants)
    terms = constants.terms
    begun_term = ops.any(ops.logical_and(terms.of_one_term, begun[:, :, None]), axis=-1)
    count = words.shape[1] // met.shape[1]
    met, begun, begun_term = (
        ops.repeat(x, count, axis=1) for x in (met, begun, begun_term)
    )
    same = words[..., None] == terms.ids[:, None]  # (B, N, C)
    goes_on = ops.logical_and(same, begun)
    broken = ops.logical_not(ops.any(goes_on, axis=-1, keepdims=True))
    lost = ops.logical_and(broken, begun_term)
    kept = ops.logical_and(met, ops.logical_not(lost))
    starts = ops.logical_and(same, terms.first)
    starts = ops.logical_and(starts, ops.logical_and(broken, ops.logical_not(kept)))
    # Of terms with the same first token, one begins.
    number = ops.cumsum(ops.cast(starts, "int32"), axis=-1)
    starts = ops.logical_and(starts, number == 1)
    return ops.logical_or(kept, ops.logical_or(goes_on, starts))


def all_met(search: Any, met: Tensor, constants: Any) -> Tensor:
    """Returns which hypotheses have met all terms, bool (B * K, 1)."""
    ops = search.ops
    done = ops.all(ops.logical_or(met, constants.terms.ids[:, None] == PAD_ID), axis=-1)
    return ops.reshape(done, (-1, 1))


def with_terms(
    search: Any, free: Tensor, best: Tensor, words: Tensor, met: Tensor, constants: Any
) -> tuple[Tensor, Tensor]:
    """Returns logits and words (B * K, n + C): the best, then the terms' next ones."""
    ops, (beams, count) = search.ops, met.shape[1:]
    begun, others = upcoming(search, met, constants)
    upcoming_now = ops.logical_or(begun, others)  # (B, K, C)
    # Each word is one extension: not again if it is among the best, or earlier.
    earlier = constants.terms.earlier
    again = ops.any(ops.logical_and(earlier, upcoming_now[:, :, None]), axis=-1)
    given = ops.logical_and(upcoming_now, ops.logical_not(again))
    given = ops.reshape(given, (-1, count))
    terms = ops.repeat(constants.terms.ids, beams, axis=0)  # (B * K, C)
    among = ops.logical_and(terms[..., None] == words[:, None], best[:, None] > LOW / 2)
    given = ops.logical_and(given, ops.logical_not(ops.any(among, axis=-1)))
    logits = ops.where(given, ops.take_along_axis(free, terms, axis=1), LOW)
    return (
        ops.concatenate([best, logits], axis=1),
        ops.concatenate([words, terms], axis=1),
    )


def share_out(search: Any, scores: Tensor, met: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the K extensions that the beam takes: scores and places in N, (B, K).

    First come the best extensions of each number of tokens met, then the second best of
    each, and so on.
    """
    ops = search.ops
    order = ops.arange(scores.shape[1], dtype="int32")
    number = ops.sum(ops.cast(met, "int32"), axis=-1)
    mine, other = scores[:, :, None], scores[:, None]
    tie = ops.logical_and(mine == other, order[:, None] > order[None])
    better = ops.logical_or(other > mine, tie)  # (B, N, N)
    same = number[:, :, None] == number[:, None]
    rank = ops.sum(ops.cast(ops.logical_and(same, better), "int32"), axis=-1)
    rank = rank + ops.where(scores > LOW / 2, 0, scores.shape[1])
    sooner = rank[:, None] < rank[:, :, None]
    level = ops.logical_and(rank[:, None] == rank[:, :, None], better)
    place = ops.sum(ops.cast(ops.logical_or(sooner, level), "int32"), axis=-1)  # (B, N)
    taken = place[:, None] == ops.arange(search.beam_size, dtype="int32")[:, None]
    picks = ops.cast(ops.argmax(ops.cast(taken, "int32"), axis=-1), "int32")
    return ops.take_along_axis(scores, picks, axis=1), picks
