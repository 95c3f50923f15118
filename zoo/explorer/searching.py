"""A translator as the explorer's local server runs it: the search, step by step."""

import functools
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from keras import tree

from zoo.decoding.compiled import compiled
from zoo.decoding.search import longest_translation
from zoo.explorer import what_if
from zoo.explorer.explored import Explored, result_of
from zoo.explorer.options import Options
from zoo.explorer.tracing import TracingSearch
from zoo.text.rows import END_ID, START_ID, bucket, pad_rows


class Source(NamedTuple):
    """A source as a search reads it.

    Attributes:
        array: the encoder's input, of one row.
        pieces: names of what is attended to.
        width: positions that are attended to, with padding.
        limit: maximum pieces of the output, where the options have none.
    """

    array: np.ndarray
    pieces: list[str]
    width: int
    limit: int


class Searcher(Explored):
    """A translator whose steps can be looked at and changed.

    Args:
        task: a `zoo.models.Translator` with its preprocessor.
        info: its `zoo.explorer.info.model_info`.

    Example:
        ```python
        task = zoo.load("luong_local")
        searcher = Searcher(task, model_info(folder, "luong_local"))
        searcher.run("A dog runs.", Options(trace=True))["steps"][0]["weights"]
        ```
    """

    def __init__(self, task: Any, info: dict[str, Any]) -> None:
        super().__init__(task, info)
        self._programs = _Programs(task, *self.sample())

    @functools.cached_property
    def vocabulary(self) -> list[str]:
        """All pieces, in the order of their ids."""
        return self.preprocessor.pieces(
            range(self.preprocessor.tokenizer.vocabulary_size())
        )

    def pieces(self, text: str) -> dict[str, Any]:
        """Returns the ids and pieces of a source."""
        [ids] = self.preprocessor.encode([text])
        return {"ids": ids, "pieces": self.preprocessor.pieces(ids)}

    def sample(self) -> tuple[np.ndarray, int]:
        """Returns an input of the encoder, and its `Source.width`."""
        return np.full((1, 2), 7, "int32"), 2

    def read(self, source: Any) -> Source:
        """Returns what the search reads of a source."""
        [ids] = self.preprocessor.encode([source])
        # A few lengths, each of which may be compiled.
        array = pad_rows([ids], bucket(len(ids)))
        pieces = self.preprocessor.pieces(ids)
        return Source(array, pieces, array.shape[1], longest_translation(len(ids)))

    def run(
        self,
        source: Any,
        options: Options,
        between: Callable[[], object] = lambda: None,
    ) -> dict[str, Any]:
        """Translates; see `Explored.run`."""
        begun = time.perf_counter()
        array, pieces, width, limit = self.read(source)
        if not pieces:
            return result_of([_record("", 0.0, [], [], [])], [], [], begun)
        search = TracingSearch(
            beam_size=options.beam_size,
            n_best=options.n_best,
            length_penalty=options.length_penalty,
            coverage_penalty=options.coverage_penalty,
            banned_ids=options.banned,
        )
        search.between = between
        limit = options.max_length or limit + len(options.prefix)
        prefix = pad_rows([options.prefix], limit) if options.prefix else None
        model = _Steps(self._programs, len(pieces), width, options)
        search(model, array, np.array([limit]), limit, prefix)
        if not search.finished:
            raise ValueError("the search found no hypothesis: too much is banned")
        records = [
            self._record(link.chain(), score, pieces)
            for score, link in search.finished[: options.n_best]
        ]
        steps, tree = [], []
        if options.trace:
            best = search.finished[0][1].chain()
            steps = [
                self._step(place, link, options, len(pieces))
                for place, link in enumerate(best)
            ]
            names = self.preprocessor.pieces([node["id"] for node in search.tree])
            tree = [
                {**node, "piece": name}
                for node, name in zip(search.tree, names, strict=True)
            ]
        return result_of(records, steps, tree, begun)

    def _record(self, links, score, source):
        words = [link for link in links if link.id != END_ID]
        ids = [link.id for link in words]
        [text] = self.preprocessor.decode([ids])
        weights = [link.details["weights"][: len(source)].tolist() for link in words]
        places = [
            [link.details[name].tolist() for link in words] or None
            for name in ("focus", "windows")
            if words and name in words[0].details
        ]
        return _record(
            text, score, self.preprocessor.pieces(ids), source, weights, *places
        )

    def _step(self, place, link, options, length):
        details = link.details
        weights = details["weights"][:length].astype("float64")
        real = weights[weights > 0]
        values = {"S": len(weights), "entropy": float(-(real * np.log(real)).sum())}
        if "norm" in details:
            values["h_t"] = float(details["norm"])
        if "focus" in details:
            width = options.window or self.info["window"]
            values |= {"p_t": float(details["focus"]), "D": width, "sigma": width / 2}
        before = START_ID if link.before is None else link.before.id
        return {
            "previous": self._piece(before),
            "candidates": [self._candidate(*pair) for pair in link.candidates],
            "chosen": self._candidate(link.id, link.probability),
            "weights": weights.tolist(),
            "heads": _listed(details, "heads", slice(length)),
            "memory": _listed(details, "recalled", slice(1, place + 1)),
            "focus": _listed(details, "focus"),
            "window": _listed(details, "windows"),
            "values": values,
        }

    def _candidate(self, token_id, probability):
        piece = self._piece(token_id)
        return {"id": token_id, "piece": piece, "probability": probability}

    def _piece(self, token_id):
        return self.preprocessor.tokenizer.id_to_token(token_id)


class _Programs:
    """The contract of a `Seq2SeqBackbone`, compiled, of flat lists of NumPy arrays."""

    def __init__(self, task, sample, width):
        self.task, self.backbone = task, task.backbone
        self.memory = self.backbone.encode(sample)
        self.state = self.backbone.start_for(self.memory, 2)
        self.heads = what_if.heads_of(self.backbone)
        own = np.zeros((1, *self.heads, width), "float32")
        *_, details = what_if.step(
            self.backbone, np.array([START_ID]), self.state, self.memory, own
        )
        shown = details._asdict().items()
        self.shown = ["weights", *(name for name, x in shown if x is not None)]

    def encode(self, source):
        def function(source):
            return tuple(tree.flatten(self.backbone.encode(source)))

        return compiled(self.task, "explore encode", function)(source)

    def start(self, memory, room):
        def function(*leaves):
            memory = tree.pack_sequence_as(self.memory, leaves)
            return tuple(tree.flatten(self.backbone.start_for(memory, room)))

        return compiled(self.task, ("explore start", room), function)(*memory)

    def step(self, token_ids, attention, window, state, memory):
        """Returns the logits, the details by name, and the state."""
        count = len(state)

        def function(token_ids, attention, *leaves):
            logits, state, weights, details = what_if.step(
                self.backbone,
                token_ids,
                tree.pack_sequence_as(self.state, leaves[:count]),
                tree.pack_sequence_as(self.memory, leaves[count:]),
                attention,
                window,
            )
            shown = [x for x in (weights, *details) if x is not None]
            return logits, *shown, *tree.flatten(state)

        program = compiled(self.task, ("explore step", window), function)
        logits, *rest = program(token_ids, attention, *state, *memory)
        details = dict(zip(self.shown, rest, strict=False))
        return logits, details, rest[len(details) :]


class _Steps:
    """The contract in NumPy, for one source and with given attention.

    `step` returns the details where the contract has the weights.
    """

    def __init__(self, programs, length, width, options):
        self.programs, self.options = programs, options
        self.length, self.width = length, width
        self.position = 0

    def encode(self, source):
        return self.programs.encode(source)

    def start_for(self, memory, length):
        return self.programs.start(memory, bucket(length))

    def step(self, token_ids, state, memory):
        attention = self._attention()
        self.position += 1
        logits, details, state = self.programs.step(
            token_ids.astype("int32"), attention, self.options.window, state, memory
        )
        return logits, state, details

    def _attention(self):
        """The attention given at this step, as `what_if.step` takes it."""
        heads = self.programs.heads
        attention = np.zeros((1, *heads, self.width), "float32")
        # Those of a head after those of all.
        for (step, *head), given in sorted(self.options.attention.items()):
            if step != self.position:
                continue
            if len(given) != self.length:
                raise ValueError(
                    f"attention must be {self.length} weights. Received: {len(given)}"
                )
            if head and not (heads and head[0] < heads[0] and head[1] < heads[1]):
                raise ValueError(
                    f"attention must be to one of the heads {heads}. Received: {head}"
                )
            row = np.divide(given, sum(given) or 1.0)
            attention[(0, *head)][..., : self.length] = row
        return attention


# === JSON ===


def _listed(details, name, places=None):
    """A detail as a number or lists, cut along its last axis; None if there is none."""
    if name not in details:
        return None
    values = details[name]
    return (values if places is None else values[..., places]).tolist()


def _record(text, score, tokens, source, alignment, focus=None, windows=None):
    """`Translation` of explorer/src/engine/types.ts."""
    return {
        "text": text,
        "score": score,
        "tokens": tokens,
        "source_tokens": source,
        "alignment": alignment,
        "focus": focus,
        "windows": windows,
        "log_probs": None,
    }
