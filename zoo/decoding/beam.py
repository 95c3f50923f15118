"""Batched beam search over the four-method contract, on three backends."""

import keras
import numpy as np
from keras import ops, tree

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

# What a program takes as an argument.
_SETTINGS = "length_penalty", "coverage_penalty", "min_length"


def longest_translation(length):
    """Most tokens of a translation, the end token included, for a source of `length`
    pieces (an int, or a tensor of them), where no limit is given."""
    return 2 * length + 10


@keras.saving.register_keras_serializable(package="zoo")
class BeamSearch:
    """Beam search in Sutskever et al.'s sense (2014, section 3.2).

    Each step extends every live hypothesis by every word and keeps the best by total
    log-probability. A hypothesis that takes the end token is finished: it leaves the
    beam with its score frozen, and the beam goes on with one place less, so that
    `beam_size` hypotheses come out in all and beam 1 is greedy search under every
    penalty. Finished hypotheses are ranked by Wu et al. 2016, equation 14:

        s(Y, X) = log P(Y|X) / lp(Y) + cp(X; Y)
        lp(Y) = ((5 + |Y|) / 6)^α,   |Y| counts the end token
        cp(X; Y) = β Σ_i log(min(Σ_j a_ij, 1))

    or with the plain lp(Y) = |Y|^α. A source token that got no attention at all, whose
    logarithm would be -inf, counts as one of 1e-10, and all of them do where a model
    has no attention: the order of its hypotheses stays as it is.

    A sentence is done when it has no live hypothesis left, or when none can reach the
    best `n_best` finished ones any more. A hypothesis that reaches the length limit
    ends there: its last token is the end token, whose log-probability counts. Of equals
    the extension of the better hypothesis comes first, then the word of the lower id;
    of equal finished hypotheses the one that was finished first.

    A search is also a sampler for `zoo.models.Translator.compile`: with
    `model.compile(sampler=BeamSearch(5))`, `model.generate(texts)` is what
    `model.translate(texts, beam_size=5)` is.

    Args:
        beam_size: places in the beam.
        length_penalty: α ≥ 0; 0 ranks by log-probability alone.
        coverage_penalty: β ≥ 0.
        n_best: how many finished hypotheses must be settled before a sentence is done.
        length_normalization: lp: "gnmt" (Wu et al. 2016) or "plain".
        min_length: fewest tokens of a hypothesis, the end token included; where the
            length limit is lower, that one holds.
        banned_ids: ids that are never taken, except in a prefix.
        start_id, end_id: the vocabulary's ids of the start and the end token.

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

    variables = ()  # of a KerasHub sampler: nothing here is random

    def __init__(
        self,
        beam_size=5,
        length_penalty=1.0,
        coverage_penalty=0.0,
        n_best=1,
        length_normalization="gnmt",
        min_length=0,
        banned_ids=(),
        start_id=START_ID,
        end_id=END_ID,
    ):
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

    def get_config(self):
        """The arguments, as a dict."""
        names = (
            *("beam_size", "length_penalty", "coverage_penalty", "n_best"),
            *("length_normalization", "min_length", "banned_ids"),
            *("start_id", "end_id"),
        )
        return {name: getattr(self, name) for name in names}

    @classmethod
    def from_config(cls, config):
        return cls(**config)

    def key(self):
        """The part of the arguments that two searches must share to run the same
        compiled program. Of penalties, the shortest length and banned ids only whether
        each is set is part of the key: a program takes them as arguments."""
        names = *_SETTINGS, "banned_ids"
        given = {name: bool(getattr(self, name)) for name in names}
        return tuple({**self.get_config(), **given}.values())

    def settings(self):
        """The penalties and the shortest length as an array, which a program takes."""
        return np.array([getattr(self, name) for name in _SETTINGS], "float32")

    def banned(self):
        """`banned_ids` as an int32 array of few lengths, filled up with -1."""
        width = 1 << max(len(self.banned_ids) - 1, 0).bit_length()
        return np.pad(
            np.array(self.banned_ids, "int32"),
            (0, width - len(self.banned_ids)),
            constant_values=-1,
        )

    def __call__(
        self,
        model,
        source_ids,
        limits=None,
        steps=None,
        prefix=None,
        banned=None,
        settings=None,
    ):
        """Searches for the best translations of a batch.

        Args:
            model: anything with the contract's `encode`, `start` and `step` (see
                `zoo.models.Seq2SeqBackbone`), a model of your own too; where it has
                `start_for`, that is called with the steps.
            source_ids: int `(B, S)`, padded with 0.
            limits: int `(B,)`, each sentence's longest translation, end included; by
                default twice its pieces plus 10, or `min_length` if that is more.
            steps: int, at least every limit: the width of the result. By default the
                highest limit that S pieces can have, or that was given.
            prefix: int `(B, steps)`: tokens that every hypothesis has in their places,
                0 where it is free; None for none. Their log-probabilities count. At
                the limit the end token is taken all the same.
            banned: int `(n,)`: ids in the place of the search's own `banned_ids`, -1
                for none.
            settings: float `(3,)` in the place of the search's own `settings()`. Those
                that are 0 in its own stay so.

        Returns:
            `(ids, scores)`: int `(B, K, steps)`, best first, padded with 0 behind the
            end token, and float32 `(B, K)`; a place without a hypothesis scores -1e9.
            No gradient passes through them.

        Raises:
            ValueError: without `steps` where they can't be told, since a graph is being
                traced for unknown lengths.
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
        # Hypotheses are rows of the state only: the memory is not copied.
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
            *(settings[i] for i in range(len(_SETTINGS))),
            length_norm(self, ops.cast(limits, "float32"), settings[0]),
            ops.arange(beams, dtype="int32")[None],
            ops.arange(batch, dtype="int32")[:, None] * beams,
            ops.arange(steps, dtype="int32")[None, None],
        )
        begun = BeamState(
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

        def going(*values):
            beam = BeamState(*values)
            return ops.logical_and(beam.step < steps, ops.any(beam.live > LOW / 2))

        def advance(*values):
            return tuple(step(self, model, BeamState(*values), sentences))

        beam = BeamState(*ops.while_loop(going, advance, tuple(begun)))
        scores, order = top_k(beam.done, beams, LOW / 2)
        ids = ops.take_along_axis(beam.done_ids, order[..., None], axis=1)
        return ids, scores

    def _limits(self, source_ids):
        """Each sentence's longest translation, int32 `(B,)`."""
        real = ops.cast(ops.not_equal(source_ids, PAD_ID), "int32")
        return ops.maximum(longest_translation(ops.sum(real, axis=1)), self.min_length)

    def _most_steps(self, length):
        """The longest translation of a source of `length` pieces."""
        return max(longest_translation(length), self.min_length)

    def generate(self, model, inputs, stop_token_ids=None):
        """The best translation of each source, as a Translator's `generate` asks.

        Args:
            model: see `__call__`.
            inputs: dict of `source_ids` int (B, S) and, where a length is wanted,
                `target_ids` (B, T): the start token, the prefix if any, then 0. By
                default a translation may be as long as `translate` lets it be.
            stop_token_ids: None or that of the end token alone.

        Returns:
            int (B, T): the start token, then the translation, padded with 0; without
            the latter where the source holds nothing.

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
        # A row without a source ends at once, as one that is full does.
        limits = ops.where(real, limits, 1)
        ids, _ = self(model, source_ids, limits, steps, prefix)
        nothing = 0 if prefix is None else prefix
        ids = ops.where(real[:, None], ids[:, 0], nothing)
        return ops.pad(ids, [(0, 0), (1, 0)], constant_values=self.start_id)
