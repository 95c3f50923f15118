"""A beam search that keeps what it saw: each step of each hypothesis, and the tree."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from zoo.decoding.beam_state import LOW, candidates, extend, score, step
from zoo.decoding.labels import softmax
from zoo.runtime.arrays import ArraySearch, log_sum_exp

_SHOWN = 10  # likeliest words of a step


class Link(NamedTuple):
    """A word of a hypothesis, and what the model said when it was taken.

    Attributes:
        before: the link before it, or None.
        id: the word.
        probability: its probability.
        candidates: the likeliest words, pairs of id and probability.
        details: name -> array of the hypothesis' row: `weights` (S,), and what
            `zoo.explorer.what_if.Details` has.
    """

    before: Any
    id: int
    probability: float
    candidates: list[tuple[int, float]]
    details: dict[str, Any]

    def chain(self) -> list["Link"]:
        """Returns the links of the hypothesis, from its first word."""
        links, link = [], self
        while link is not None:
            links.append(link)
            link = link.before
        return links[::-1]


class TracingSearch(ArraySearch):
    """An `ArraySearch` of one sentence, whose model keeps the `details` of a step.

    Attributes:
        between: function that is called before each step; what it raises ends the
            search.
        finished: after a search, the finished hypotheses, best first: pairs of score
            and last `Link`.
        tree: after a search, `BeamNode` of explorer/src/engine/types.ts as dicts.
    """

    between: Callable[[], object] = staticmethod(lambda: None)
    finished: list[tuple[float, Link]]
    tree: list[dict[str, Any]]

    def run(self, model: Any, initial: Any, sentences: Any, steps: int) -> Any:
        """See `Search.run`."""
        beam, self.tree = initial, []
        links: list[Any] = [None] * self.beam_size  # of the live hypotheses
        nodes, done = [-1] * self.beam_size, list[tuple[Link, int]]()
        kept = _Kept(model)
        while beam.step < steps and (beam.live > LOW / 2).any():
            self.between()
            before = beam
            beam = step(self, kept, before, sentences)
            scores, words, parents, _ = extend(self, kept.logits, before, sentences)
            parents = np.zeros((1, 1), int) if self.beam_size == 1 else parents
            first = len(self.tree)
            self._grow(kept, before, sentences, nodes)
            here = [None] * self.beam_size, [-1] * self.beam_size
            free = self.beam_size - len(done)
            for place, word in enumerate(words[0].tolist()[:free]):
                if not scores[0, place] > LOW / 2:
                    break
                parent, node = int(parents[0, place]), first + place
                link = _link(links[parent], word, kept, parent)
                if nodes[parent] >= 0:
                    self.tree[nodes[parent]]["state"] = "live"
                if word == self.end_id:
                    self.tree[node]["state"] = "finished"
                    done.append((link, node))
                else:
                    here[0][place], here[1][place] = link, node
            links, nodes = here
        order = np.argsort(-beam.done[0, : len(done)], kind="stable")
        self.finished = [(float(beam.done[0, i]), done[i][0]) for i in order]
        node = done[order[0]][1] if done else -1
        while node >= 0:
            self.tree[node]["best"] = True
            node = self.tree[node]["parent"]
        return beam

    def _grow(self, kept, beam, sentences, nodes):
        """Adds the best 2 K extensions of a step to the tree, as dropped."""
        logits = kept.logits.astype("float32")
        total = log_sum_exp(logits, keepdims=True)
        best, words = candidates(self, logits, beam, sentences)
        own = best - total  # (K, k)
        sums = own + beam.live[0][:, None]
        flat = sums.reshape(-1)
        for pick in np.argsort(-flat, kind="stable")[: 2 * self.beam_size]:
            if not flat[pick] > LOW / 2:
                break
            row = int(pick) // own.shape[1]
            coverage = beam.coverage
            if self.coverage_penalty:
                coverage = coverage[:, row : row + 1] + kept.details["weights"][row]
            length = np.float32(beam.step + 1)
            ranked = score(self, flat[pick], length, coverage, sentences)
            self.tree.append(
                {
                    "parent": nodes[row],
                    "step": int(beam.step),
                    "id": int(words.reshape(-1)[pick]),
                    "logProbability": float(own.reshape(-1)[pick]),
                    "score": float(np.squeeze(ranked)),
                    "state": "dropped",
                    "best": False,
                }
            )


class _Kept:
    """A model that keeps the outputs of its last step."""

    def __init__(self, model):
        self.model = model

    def step(self, token_ids, state, memory):
        self.logits, state, self.details = self.model.step(token_ids, state, memory)
        return self.logits, state, self.details["weights"]


def likeliest(logits: np.ndarray) -> list[tuple[int, float]]:
    """Returns the ids and probabilities of the ten largest logits `(V,)`."""
    probabilities = softmax(logits)
    best = np.argsort(-logits, kind="stable")[:_SHOWN]
    return [(int(i), float(probabilities[i])) for i in best]


def _link(before, word, kept, row):
    logits = kept.logits[row]
    return Link(
        before,
        word,
        float(softmax(logits)[word]),
        likeliest(logits),
        {name: values[row] for name, values in kept.details.items()},
    )
