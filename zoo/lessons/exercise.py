"""`Exercise`: one equation with a blank, and its random inputs of unequal sizes."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

PRIMES = (3, 5, 7, 11, 13, 17)


@dataclasses.dataclass(frozen=True)
class Exercise:
    """An equation of a paper that a learner writes as a function.

    Attributes:
        name: the paper's short name and the exercise's, "bahdanau.score".
        equation: the equation in plain signs; docs/papers has them typeset.
        task: what to write, in a sentence.
        inputs: the arguments in their order, each with its axes: "S m" is an array of
            two. An axis may be a sum, a product or a multiple: "m+k", "H*k", "2*n". A
            word before a colon says what the values are: "mask" (true, then false),
            "ids<V" (integers below V), "weights" (a distribution over the last axis),
            "gates" (between 0 and 1), "size" (the axis itself, an int). Otherwise they
            are normal.
        output: the axes of the answer.
        reference: the right answer.
        mistakes: wrong answers that one may well give, by their explanation.
    """

    name: str
    equation: str
    task: str
    inputs: Mapping[str, str]
    output: str
    reference: Callable[..., Any]
    mistakes: Mapping[str, Callable[..., Any]]

    def axes(self) -> list[str]:
        """Returns the letters of all axes, in the order in which they come."""
        specs = [*self.inputs.values(), self.output]
        text = " ".join(
            f"{values(spec).partition('<')[2]} {axes(spec)}" for spec in specs
        )
        return list(dict.fromkeys(c for c in text if c.isalpha()))

    def draw(self, seed: int) -> tuple[dict[str, Any], dict[str, int]]:
        """Draws the arguments.

        Returns:
            The arguments by name, and the size of each axis, no two of which are equal.
        """
        generator = np.random.default_rng(seed)
        letters = self.axes()
        sizes = dict(zip(letters, generator.permutation(PRIMES).tolist(), strict=False))
        arguments = {
            name: _draw(values(spec), shape(axes(spec), sizes), sizes, generator)
            for name, spec in self.inputs.items()
        }
        return arguments, sizes


def values(spec: str) -> str:
    """Returns the part of an input's description that says what its values are."""
    return spec.partition(":")[0] if ":" in spec else ""


def axes(spec: str) -> str:
    """Returns the part of an input's description that names its axes."""
    return spec.rpartition(":")[2].strip()


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
        normal = np.exp(normal) / np.exp(normal).sum(-1, keepdims=True)
    elif kind == "gates":
        normal = 1 / (1 + np.exp(-normal))
    return np.asarray(normal, "float32")
