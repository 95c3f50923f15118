"""Batched beam search over the four-method contract, on three backends."""

import keras
from keras import ops, tree

from zoo.decoding.ties import top_k
from zoo.layers.functional import integer, one_of, positive, zero_or_above
from zoo.models.seq2seq import END_ID, PAD_ID, START_ID

_LOW = -1e9  # log-probability of a hypothesis that does not exist


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

    or with the plain lp(Y) = |Y|^α.

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
        >>> BeamSearch(beam_size=5, length_penalty=0.6).beam_size
        5
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
        self.banned_ids = tuple(integer("banned_ids", x, 0) for x in banned_ids)
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
        """What two searches must share to run the same compiled program."""
        return tuple(self.get_config().values())

    def __call__(self, model, source_ids, limits, steps, prefix=None):
        """Searches for the best translations of a batch.

        Args:
            model: anything with the contract's `encode`, `start` and `step` (see
                `zoo.models.Seq2SeqBackbone`), a model of your own too; where it has
                `start_for`, that is called with the steps.
            source_ids: int `(B, S)`, padded with 0.
            limits: int `(B,)`, each sentence's longest translation, end included.
            steps: int, at least every limit: the width of the result.
            prefix: int `(B, steps)`: tokens that every hypothesis has in their places,
                0 where it is free; None for none. Their log-probabilities count.

        Returns:
            `(ids, scores)`: int `(B, K, steps)`, best first, padded with 0 behind the
            end token, and float32 `(B, K)`; a place without a hypothesis scores -1e9.
        """
        beams = self.beam_size
        batch = ops.shape(source_ids)[0]
        memory = model.encode(source_ids)
        if hasattr(model, "start_for"):
            state = model.start_for(memory, steps)
        else:
            state = model.start(memory)
        # Hypotheses are rows of the state only: the memory is not copied.
        state = tree.map_structure(lambda x: ops.repeat(x, beams, axis=0), state)
        limits = ops.cast(limits, "int32")[:, None]  # (B, 1)
        real = ops.cast(ops.not_equal(source_ids, PAD_ID), "float32")[:, None]
        first = ops.reshape(ops.arange(beams, dtype="int32"), (1, -1)) == 0
        live = ops.where(ops.tile(first, (batch, 1)), 0.0, _LOW)
        live = ops.cast(live, "float32")  # (B, K)
        loop = {
            "step": ops.zeros((), dtype="int32"),
            "state": state,
            "tokens": ops.full((batch * beams,), self.start_id, dtype="int32"),
            "ids": ops.zeros((batch, beams, steps), dtype="int32"),
            "live": live,
            "done_ids": ops.zeros((batch, beams, steps), dtype="int32"),
            "done": ops.full((batch, beams), _LOW, dtype="float32"),
        }
        if self.coverage_penalty:
            shape = (batch, beams, ops.shape(source_ids)[1])
            loop["coverage"] = ops.zeros(shape, dtype="float32")
        names = list(loop)

        def condition(*values):
            values = dict(zip(names, values, strict=True))
            going = ops.any(values["live"] > _LOW / 2)
            return ops.logical_and(values["step"] < steps, going)

        def body(*values):
            values = dict(zip(names, values, strict=True))
            values = self._advance(model, memory, values, limits, real, steps, prefix)
            return tuple(values[name] for name in names)

        values = ops.while_loop(condition, body, tuple(loop.values()))
        values = dict(zip(names, values, strict=True))
        scores, order = top_k(values["done"], beams, _LOW / 2)
        ids = ops.take_along_axis(values["done_ids"], order[..., None], axis=1)
        return ids, scores

    def generate(self, model, inputs):
        """The best translation of each source, as a Translator's `generate` asks.

        Args:
            model: see `__call__`.
            inputs: dict of `source_ids` int (B, S) and, where a length is wanted,
                `target_ids` (B, T): the start token, the prefix if any, then 0. By
                default a translation may be as long as `translate` lets it be.

        Returns:
            int (B, T): the start token, then the translation, padded with 0; without
            the latter where the source holds nothing.

        Raises:
            ValueError: if T has no room for `min_length`.
        """
        source_ids = ops.cast(inputs["source_ids"], "int32")
        real = ops.cast(ops.not_equal(source_ids, PAD_ID), "int32")
        length = ops.sum(real, axis=1)
        if inputs.get("target_ids") is None:
            prefix = None
            limits = ops.maximum(2 * length + 10, self.min_length)
            steps = max(2 * source_ids.shape[1] + 10, self.min_length)
        else:
            prefix = ops.cast(inputs["target_ids"], "int32")[:, 1:]
            steps = prefix.shape[1]
            limits = ops.full_like(length, steps)
        if self.min_length > steps:
            raise ValueError(
                "`max_length` must leave room for `min_length` and the start token. "
                f"Received: max_length={steps + 1}, min_length={self.min_length}"
            )
        ids, _ = self(model, source_ids, limits, steps, prefix)
        nothing = 0 if prefix is None else prefix
        ids = ops.where(length[:, None] > 0, ids[:, 0], nothing)
        return ops.pad(ids, [(0, 0), (1, 0)], constant_values=self.start_id)

    def _advance(self, model, memory, loop, limits, real, steps, prefix):
        beams, step = self.beam_size, loop["step"]
        batch = ops.shape(limits)[0]
        logits, state, weights = model.step(loop["tokens"], loop["state"], memory)
        logits = ops.cast(logits, "float32")
        vocabulary = logits.shape[-1]
        total = ops.logsumexp(logits, axis=-1, keepdims=True)
        # Log-probabilities are what they were before: no other word gets the share of
        # one that may not be taken.
        allowed = self._allowed(step, limits, prefix, vocabulary)[:, None]  # (B, 1, V)
        logits = ops.reshape(logits, (batch, beams, vocabulary))
        logits = ops.where(allowed, logits, _LOW)
        logits = ops.reshape(logits, (batch * beams, vocabulary))
        # The k best of each beam, then the k best of those: one top-k over beams times
        # vocabulary is slow under XLA.
        width = min(beams, vocabulary)
        best, words = top_k(logits, width, _LOW / 2)  # (B*K, k)
        log_probs = ops.reshape(best - total, (batch, beams, width))
        log_probs = log_probs + loop["live"][..., None]
        flat = ops.reshape(log_probs, (batch, beams * width))
        scores, picks = top_k(flat, beams, _LOW / 2)  # (B, K)
        picks = ops.cast(picks, "int32")
        parents = picks // width
        words = ops.cast(ops.reshape(words, (batch, beams * width)), "int32")
        words = ops.take_along_axis(words, picks, axis=1)  # (B, K)

        # Finished hypotheses keep their places: the beam has that many fewer.
        finished = ops.sum(
            ops.cast(loop["done"] > _LOW / 2, "int32"), axis=1, keepdims=True
        )
        rank = ops.arange(beams, dtype="int32")[None]
        valid = ops.logical_and(rank < beams - finished, scores > _LOW / 2)
        ends = ops.logical_and(valid, words == self.end_id)
        words = ops.where(valid, words, PAD_ID)

        ids = ops.take_along_axis(loop["ids"], parents[..., None], axis=1)
        here = (ops.arange(steps, dtype="int32") == step)[None, None]
        ids = ops.where(here, words[..., None], ids)
        loop = {**loop, "step": step + 1, "ids": ids, "tokens": ops.reshape(words, -1)}

        length = ops.cast(step + 1, "float32")
        ranked = scores / self._normaliser(length)
        if self.coverage_penalty:
            shape = (batch, beams, -1)
            coverage = ops.take_along_axis(
                loop["coverage"], parents[..., None], axis=1
            ) + ops.take_along_axis(
                ops.cast(ops.reshape(weights, shape), "float32"),
                parents[..., None],
                axis=1,
            )
            loop["coverage"] = coverage
            covered = ops.log(ops.clip(coverage, 1e-10, 1.0)) * real
            ranked = ranked + self.coverage_penalty * ops.sum(covered, axis=-1)
            # However hard the penalty, a finished hypothesis is not a missing one.
            ranked = ops.maximum(ranked, _LOW / 4)

        # Move what ended into the free places behind the finished ones.
        place = finished + ops.cumsum(ops.cast(ends, "int32"), axis=1) - 1
        move = ops.logical_and(ends[:, None], place[:, None] == rank[..., None])
        moved = ops.any(move, axis=-1)  # (B, K): this place is filled now
        source = ops.argmax(ops.cast(move, "int32"), axis=-1)
        taken = ops.take_along_axis(ids, source[..., None], axis=1)
        done_ids = ops.where(moved[..., None], taken, loop["done_ids"])
        done = ops.where(
            moved, ops.take_along_axis(ranked, source, axis=1), loop["done"]
        )

        alive = ops.logical_and(valid, ops.logical_not(ends))
        live = ops.where(alive, scores, _LOW)
        # Log-probabilities only fall, and the penalty is mildest at the limit: no live
        # hypothesis can end above this.
        bound = ops.max(live, axis=1, keepdims=True)
        bound = bound / self._normaliser(ops.cast(limits, "float32"))
        settled = ops.top_k(done, self.n_best)[0][:, -1:]
        live = ops.where(bound <= settled, _LOW, live)
        if beams > 1:  # the only hypothesis of a sentence stays where it is
            rows = parents + ops.arange(batch, dtype="int32")[:, None] * beams
            rows = ops.reshape(rows, (-1,))
            state = tree.map_structure(lambda x: ops.take(x, rows, axis=0), state)
        return {
            **loop,
            "state": state,
            "live": live,
            "done_ids": done_ids,
            "done": done,
        }

    def _allowed(self, step, limits, prefix, vocabulary):
        """Which words may be taken now, `(B, V)`."""
        words = ops.arange(vocabulary, dtype="int32")[None]
        is_end = words == self.end_id
        free = ops.ones_like(is_end)
        if self.banned_ids:
            banned = words[..., None] == ops.array(self.banned_ids, dtype="int32")
            free = ops.logical_not(ops.any(banned, axis=-1))
        if self.min_length > 1:
            late = step + 1 >= self.min_length
            free = ops.logical_and(free, ops.logical_or(late, words != self.end_id))
        if prefix is not None:
            forced = ops.take(prefix, ops.reshape(step, (1,)), axis=1)  # (B, 1)
            free = ops.where(forced == PAD_ID, free, words == forced)
        # The last step that a sentence may take is its end token.
        return ops.where(step + 1 >= limits, is_end, free)

    def _normaliser(self, length):
        if not self.length_penalty:
            return 1.0
        if self.length_normalization == "gnmt":
            length = (5.0 + length) / 6.0
        return ops.power(length, self.length_penalty)
