"""Prefixes, terms and repeats of a translation in a search. Imports no Keras.

Terms follow Post & Vilar 2018 (arXiv 1804.06609), dynamic beam allocation: each
hypothesis knows which pieces of its sentence's terms it has met, and only one that has
met all may end. At each step it is also extended by the next pieces of its terms, and
the places of the beam are shared out among the numbers of pieces met. The beam has one
more place for each of these pieces, so that every number has one.

Shapes: B sentences of K hypotheses, M extensions of them, C pieces of terms, V words.
`terms` (B, C + 1) are the pieces, the first of each term negative, then 0. `met`
(B, K, C) is how many pieces of a term a hypothesis has met, at the place of its first.
"""

from typing import Any

from zoo.backend import Tensor
from zoo.ids import PAD_ID

LOW = -1e9  # the score of a missing hypothesis


def within_prefix(
    search: Any, logits: Tensor, free: Tensor, words: Tensor, beam: Any, constants: Any
) -> Tensor:
    """Returns `free` (B * K, V) with `LOW` for words that the prefix rules out."""
    ops, step = search.ops, search.ops.reshape(beam.step, (1,))
    given = ops.take(constants.prefix, step, axis=1)  # (B, 1)
    given = ops.repeat(given, search.beam_size, axis=0)
    return ops.where(given == PAD_ID, free, ops.where(words == given, logits, LOW))


def without_repeats(search: Any, free: Tensor, beam: Any, constants: Any) -> Tensor:
    """Returns logits (B * K, V) with `LOW` for words that would repeat an n-gram.

    The end token and padding may always be taken.
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
    index = (constants.rows + constants.rank)[..., None] * vocabulary + ids
    counts = ops.segment_sum(
        ops.reshape(ops.cast(repeats, "int32"), (-1,)),
        ops.reshape(index, (-1,)),
        ops.shape(free)[0] * vocabulary,
    )
    return ops.where(ops.reshape(counts, (-1, vocabulary)) > 0, LOW, free)


# === Terms ===


def upcoming(search: Any, met: Tensor, terms: Tensor) -> tuple[Tensor, Tensor]:
    """Returns which terms have begun and not ended, and the next pieces of terms.

    Returns:
        `(begun, pieces)`, bool and int (B, K, C), 0 where a term has been met.
    """
    ops = search.ops
    place = ops.arange(met.shape[2], dtype="int32") + met
    beams = ops.repeat(terms[:, None], search.beam_size, axis=1)
    ahead = ops.take_along_axis(beams, place, axis=2)
    begun = ops.logical_and(met > 0, ahead > 0)
    due = ops.logical_or(begun, ops.logical_and(met == 0, ahead < 0))
    return begun, ops.where(due, ops.abs(ahead), PAD_ID)


def due_words(search: Any, pieces: Tensor, words: Tensor) -> tuple[Tensor, Tensor]:
    """Returns which words terms need next (B * K, V), and for which rows (B * K, 1).

    `pieces` are those of `upcoming`.
    """
    ops, count = search.ops, pieces.shape[2]
    pieces = ops.reshape(pieces, (-1, count))
    due = words < 0  # none
    for c in range(count):  # a single comparison would be C times as large
        piece = pieces[:, c : c + 1]
        due = ops.logical_or(due, ops.logical_and(words == piece, piece != PAD_ID))
    return due, ops.any(pieces != PAD_ID, axis=1, keepdims=True)


def advance(
    search: Any,
    met: Tensor,
    begun: Tensor,
    pieces: Tensor,
    words: Tensor,
    terms: Tensor,
) -> Tensor:
    """Returns what extensions by `words` (B, M) have met, (B, M, C).

    `begun` and `pieces` are those of `upcoming`. A term that has begun and does not go
    on has met nothing; the word may then begin another, or the same again.
    """
    ops, count = search.ops, words.shape[1] // met.shape[1]
    met, begun, pieces = (ops.repeat(x, count, axis=1) for x in (met, begun, pieces))
    goes_on = ops.logical_and(begun, words[..., None] == pieces)
    broken = ops.logical_not(ops.any(goes_on, axis=-1, keepdims=True))
    met = ops.where(ops.logical_and(begun, broken), 0, met)
    first = -terms[:, None, :-1]
    starts = ops.logical_and(first > 0, words[..., None] == first)
    starts = ops.logical_and(starts, ops.logical_and(broken, met == 0))
    # Of terms with the same first piece, one begins.
    number = ops.cumsum(ops.cast(starts, "int32"), axis=-1)
    starts = ops.logical_and(starts, number == 1)
    return met + ops.cast(ops.logical_or(goes_on, starts), "int32")


def share_out(search: Any, scores: Tensor, met: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the K extensions that the beam takes: scores and places in M, (B, K).

    First come the best extensions of each number of pieces met, then the second best of
    each, and so on.
    """
    ops, (count, pieces) = search.ops, met.shape[1:]
    order = ops.argsort(-scores)
    scores = ops.take_along_axis(scores, order, axis=1)
    number = ops.take_along_axis(ops.sum(met, axis=2), order, axis=1)
    bank = number[..., None] == ops.arange(pieces + 1, dtype=number.dtype)
    rank = ops.cumsum(ops.cast(bank, "int32"), axis=1)
    rank = ops.sum(ops.where(bank, rank, 0), axis=2)
    rank = ops.where(scores > LOW / 2, rank, count + 1)
    rank = ops.cast(rank, "int32") * count + ops.arange(count, dtype="int32")
    best = ops.argsort(rank)[:, : search.beam_size]
    return tuple(ops.take_along_axis(x, best, axis=1) for x in (scores, order))
