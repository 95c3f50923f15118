"""`Exercise`: one equation with a blank, and its random inputs of unequal sizes."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from zoo.lessons import functions

PRIMES = (3, 5, 7, 11, 13, 17)
SHORT = "arange concatenate exp log maximum minimum sqrt tanh".split()  # of NumPy
NAMES = {**vars(functions), **{name: getattr(np, name) for name in SHORT}}
KINDS = {
    "": "",
    "gates": "between 0 and 1",
    "ids": "integers",
    "links": "0 or 1",
    "mask": "bool, true where real",
    "size": "an int",
    "weights": "each row sums to 1",
}


@dataclasses.dataclass(frozen=True)
class Exercise:
    """An equation of a paper that a learner writes as a function.

    Attributes:
        name: the paper's short name and the exercise's, "bahdanau.score".
        equation: the equation in plain signs; docs/papers has them typeset.
        task: what to write, in a sentence.
        signature: the arguments in their order and the answer, each with its axes:
            "s: n, h: S m -> S". An axis may be a sum, a product or a multiple: "m+k",
            "H*k", "2*n". A word before the axes says what the values are: "mask" (true,
            then false), "ids<V" (integers below V), "weights" (a distribution over the
            last axis), "gates" (between 0 and 1), "links" (0 or 1), "size" (the axis
            itself, an int). Otherwise they are normal.
        reference: the right answer, an expression of the arguments.
        mistakes: wrong answers that one may well give, by their explanation.

    Example:
        >>> exercise = Exercise(
        ...     "luong.dot", "h_t · h_s", "Write the score.", "h_t: n, h_s: n -> ",
        ...     "h_t @ h_s", {"the sign is wrong.": "-h_t @ h_s"},
        ... )
        >>> exercise.answer(exercise.reference)(np.ones(3), np.ones(3))
        np.float64(3.0)
    """

    name: str
    equation: str
    task: str
    signature: str
    reference: str
    mistakes: Mapping[str, str]

    @property
    def inputs(self) -> dict[str, tuple[str, str]]:
        """The arguments' names, each with its kind of values and its axes."""
        inputs = {}
        for argument in self.signature.partition(" -> ")[0].split(", "):
            name, _, spec = argument.partition(": ")
            kind, _, axes = spec.partition(" ")
            known = kind.partition("<")[0] in KINDS
            inputs[name] = (kind, axes) if known else ("", spec)
        return inputs

    @property
    def output(self) -> str:
        """The axes of the answer."""
        return self.signature.partition(" -> ")[2].strip()

    def answer(self, expression: str) -> Callable[..., Any]:
        """Returns the function of the arguments that an expression writes."""
        return eval(f"lambda {', '.join(self.inputs)}: {expression}", NAMES)

    def draw(self, seed: int) -> tuple[dict[str, Any], dict[str, int]]:
        """Draws the arguments.

        Returns:
            The arguments by name, and the size of each axis, no two of which are equal.
        """
        generator = np.random.default_rng(seed)
        pairs = self.inputs.values()
        text = "".join(kind.partition("<")[2] + axes for kind, axes in pairs)
        letters = dict.fromkeys(c for c in text + self.output if c.isalpha())
        drawn = generator.permutation(PRIMES).tolist()
        sizes = dict(zip(letters, drawn, strict=False))
        arguments = {
            name: _draw(kind, shape(axes, sizes), sizes, generator)
            for name, (kind, axes) in self.inputs.items()
        }
        return arguments, sizes


def shape(names: str, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """Returns the shape of axes.

    Example:
        >>> shape("S m+2*k", {"S": 3, "m": 5, "k": 7})
        (3, 19)
    """
    return tuple(sum(_term(t, sizes) for t in n.split("+")) for n in names.split())


def _term(term, sizes):
    factors = [sizes[f] if f in sizes else int(f) for f in term.split("*")]
    return int(np.prod(factors))


def _draw(kind, size, sizes, generator):
    """Values of one argument."""
    if kind == "size":
        return size[0]
    if kind == "mask":
        return np.arange(size[0]) < size[0] - 1
    if kind.startswith("ids<"):
        return generator.integers(0, sizes[kind[-1]], size)
    normal = generator.normal(size=size)
    if kind == "weights":
        normal = functions.softmax(normal)
    elif kind == "gates":
        normal = functions.sigmoid(normal)
    elif kind == "links":
        normal = normal > 0
    return np.asarray(normal, "float32")
