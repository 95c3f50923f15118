"""The graphs of each task, as functions of tensors."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import tree

from zoo.backend import Tensor
from zoo.serving.export.manifest import translator_settings

Spec = tuple[str, tuple[Any, ...], str]  # name; sizes, a letter if dynamic; dtype


class Function(NamedTuple):
    """A function that becomes a graph.

    Attributes:
        function: function of tensors that returns a structure of tensors.
        inputs: the specs of its arguments.
        outputs: the names of the structure's leaves.
    """

    function: Callable[..., Any]
    inputs: Sequence[Spec]
    outputs: Sequence[str]


def specs_of(name: str, found: Sequence[Any], letters: Sequence[str]) -> list[Spec]:
    """Returns the specs of a structure's leaves.

    Args:
        name: of the structure; the leaves are name.0, name.1, ….
        found: the structure, then for each letter one in which that size is another.
        letters: the letters.
    """
    specs = []
    for place, leaves in enumerate(zip(*map(tree.flatten, found), strict=True)):
        first, *others = leaves
        shape: list[Any] = list(first.shape)
        for letter, other in zip(letters, others, strict=True):
            for axis, size in enumerate(other.shape):
                shape[axis] = letter if size != first.shape[axis] else shape[axis]
        dtype = keras.backend.standardize_dtype(first.dtype)
        specs.append((f"{name}.{place}", tuple(shape), dtype))
    return specs


# === Tasks ===
class TranslatorFunctions:
    """The contract of a `Seq2SeqBackbone` as functions of flat lists of tensors.

    Args:
        task: a `zoo.models.Translator`.

    Attributes:
        vocabulary: the object that writes the vocabulary's file.
        described: what the manifest says of this task alone.
    """

    def __init__(self, task: Any) -> None:
        self.backbone, self.vocabulary = task.backbone, task.preprocessor.tokenizer
        self.described: dict[str, Any] = {"settings": translator_settings(task)}
        sizes = {"": (2, 5, 11), "B": (3, 5, 11), "S": (2, 7, 11), "L": (2, 5, 13)}
        found = {letter: self.run(*size) for letter, size in sizes.items()}
        self.memory_like, self.state_like = found[""]
        self.memory = specs_of("memory", [found[x][0] for x in sizes], "BSL")
        self.state = specs_of("state", [found[x][1] for x in sizes], "RSL")

    def run(self, batch: int, length: int, room: int) -> tuple[Any, Any]:
        """Returns a memory and a state of these sizes."""
        memory = self.backbone.encode(np.full((batch, length), 7, "int32"))
        return memory, self.backbone.start_for(memory, room)

    def functions(self) -> dict[str, Function]:
        """Name -> `Function`."""
        names = [spec[0] for spec in self.memory]
        states = [spec[0] for spec in self.state]
        source: Spec = ("source_ids", ("B", "S"), "int32")
        length: Spec = ("length", (), "int32")
        tokens: Spec = ("token_ids", ("R",), "int32")
        return {
            "encode": Function(self.backbone.encode, [source], names),
            "start": Function(self.start, [length, *self.memory], states),
            "step": Function(
                self.step,
                [tokens, *self.state, *self.memory],
                ["logits", "weights", *(f"new_{name}" for name in states)],
            ),
        }

    def start(self, length: Tensor, *memory: Tensor) -> Any:
        """`start_for` of flat arguments."""
        memory = tree.pack_sequence_as(self.memory_like, memory)
        return self.backbone.start_for(memory, length)

    def step(self, token_ids: Tensor, *leaves: Tensor) -> Any:
        """The backbone's `step` of flat arguments: logits, weights, state."""
        logits, state, weights = self.backbone.step(token_ids, *self.packed(leaves))
        return logits, weights, state

    def packed(self, leaves: Sequence[Tensor]) -> tuple[Any, Any]:
        """Returns state and memory in the backbone's structures."""
        count = len(self.state)
        return (
            tree.pack_sequence_as(self.state_like, leaves[:count]),
            tree.pack_sequence_as(self.memory_like, leaves[count:]),
        )


class _Labeller:
    """The function of a `BiRNNTagger` or `SentimentClassifier`: its logits."""

    def __init__(self, task):
        self.task, self.backbone = task, task.backbone
        words: Spec = ("token_ids", ("B", "T"), "int32")
        if task.task_name == "classify":
            self.vocabulary, self.inputs = task.preprocessor.tokenizer, [words]
            settings = {
                "lowercase": self.vocabulary.lowercase,
                "classes": self.backbone.classes,
            }
        else:
            self.vocabulary = task.preprocessor
            length = self.vocabulary.word_length
            settings = {"word_length": length}
            self.inputs = [
                ("word_ids", *words[1:]),
                ("character_ids", ("B", "T", length), "int32"),
            ]
        self.described = {"settings": settings}

    def functions(self):
        """Name -> `Function`."""
        return {self.task.task_name: Function(self.label, self.inputs, ["logits"])}

    def label(self, *arrays):
        names = (name for name, *_ in self.inputs)
        return self.backbone(dict(zip(names, arrays, strict=True)))


KINDS: dict[str, Any] = {
    "translate": TranslatorFunctions,
    "tag": _Labeller,
    "classify": _Labeller,
}
