"""A tagger, classifier or language model as the explorer's local server runs it."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from keras import tree

from zoo.decoding.batches import LONGEST
from zoo.decoding.compiled import compiled
from zoo.decoding.labels import softmax
from zoo.explorer import what_if
from zoo.explorer.explored import Explored, result_of
from zoo.explorer.options import Options
from zoo.explorer.tracing import likeliest
from zoo.text.rows import END_ID, bucket, pad_rows


class Reader(Explored):
    """A task whose result is what it says of a text, its `readings`.

    Of a tagger they are each word's tags, of a classifier the text's classes, of a
    language model the words that it expects at each place, with the probability of the
    one that is there, which may be the unknown word. A text of more than 512 words is
    cut.

    Args:
        task: a task of zoo.models with its preprocessor.
        info: its `zoo.explorer.info.model_info`.

    Example:
        ```python
        reader = Reader(zoo.load("birnn"), model_info(folder, "birnn"))
        reader.run("A dog runs.", Options())["readings"][1]["candidates"][0]
        ```
    """

    def pieces(self, text: str) -> dict[str, Any]:
        """Returns the words of a text, without ids."""
        return {"ids": [], "pieces": self._words(text)}

    def run(
        self,
        source: Any,
        options: Options,
        between: Callable[[], object] = lambda: None,
    ) -> dict[str, Any]:
        """Reads a text; see `Explored.run`. There is no search to have options."""
        begun = time.perf_counter()
        readings = []
        if words := self._words(source):
            read = {
                "tag": self._tags,
                "classify": self._classes,
                "generate": self._next_words,
            }[self.info["task"]]
            readings = read(words, between)
        return {**result_of([], [], [], begun), "readings": readings}

    def _words(self, text):
        """The words that the task reads, as they are in the text."""
        if self.info["task"] == "tag":
            [words] = self.preprocessor.split([text])
        else:
            words = text.split()
        return words[:LONGEST]

    def _tags(self, words, between):
        inputs = self.preprocessor.arrays([words], bucket(len(words)))
        tags = self.preprocessor.get_vocabularies()["tags"]
        logits = self.task.logits(inputs)[0]
        return [_reading(*pair, tags) for pair in zip(words, logits, strict=False)]

    def _classes(self, words, between):
        [ids] = self.preprocessor.encode([" ".join(words)])
        logits = self.task.logits({"token_ids": pad_rows([ids], bucket(len(ids)))})
        return [_reading(" ".join(words), logits[0], self.task.backbone.classes)]

    def _next_words(self, words, between):
        [ids] = self.preprocessor.encode([" ".join(words)])
        backbone = self.task.backbone
        states = backbone.start(1, bucket(len(ids) + 1))

        def function(token_ids, *leaves):
            given = tree.pack_sequence_as(states, leaves)
            logits, after, recalled = what_if.read(backbone, token_ids, given)
            shown = [] if recalled is None else [recalled]
            return logits, *tree.flatten(after), *shown

        program = compiled(self.task, ("explore read", bucket(len(ids) + 1)), function)
        names = self.preprocessor.tokenizer.get_vocabulary()
        leaves, readings = tree.flatten(states), []
        # Behind the last word the end is expected, or any other word.
        for place in range(len(ids) + 1):
            between()
            before = np.array([ids[place - 1] if place else END_ID], "int32")
            logits, *outputs = program(before, *leaves)
            recalled, leaves = outputs[len(leaves) :], outputs[: len(leaves)]
            reading = _reading("", logits[0], names)
            if place < len(ids):
                reading["text"] = names[ids[place]]  # as it is read
                reading["probability"] = float(softmax(logits[0])[ids[place]])
            if recalled:
                reading["memory"] = recalled[0][0, 1 : place + 1].tolist()
            readings.append(reading)
        return readings


def _reading(text, logits, names):
    """`Reading` of explorer/src/engine/types.ts."""
    candidates = [
        {"id": index, "piece": names[index], "probability": probability}
        for index, probability in likeliest(logits)
    ]
    return {"text": text, "candidates": candidates, "probability": None, "memory": None}
