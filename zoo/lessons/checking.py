"""The exercises, their random inputs, and the check that names what is wrong."""

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from zoo.lessons import functions, recurrent_exercises, transformer_exercises
from zoo.strings import did_you_mean

SEEDS = 1, 2, 3  # of the draws on which an answer must be right
PRIMES = (3, 5, 7, 11, 13, 17)  # the axes' sizes
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
        for argument in self.signature.partition(" ->")[0].split(", "):
            name, _, spec = argument.partition(": ")
            kind, _, axes = spec.partition(" ")
            known = kind.partition("<")[0] in KINDS
            inputs[name] = (kind, axes) if known else ("", spec)
        return inputs

    @property
    def output(self) -> str:
        """The axes of the answer."""
        return self.signature.partition(" ->")[2].strip()

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
        sizes = dict(zip(letters, generator.permutation(PRIMES).tolist(), strict=False))
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


def read(text: str) -> list[Exercise]:
    """Reads exercises, which empty lines separate.

    The first line is `name: equation`. Each of the others is indented by two spaces, or
    by four if it continues the one before: the task, the signature, the right answer,
    and the mistakes, as `expression  # explanation`.
    """
    exercises = []
    for block in text.strip().split("\n\n"):
        lines = [" ".join(line.split()) for line in re.split(r"\n  (?! )", block)]
        head, task, signature, reference, *rest = lines
        name, equation = head.split(": ", 1)
        wrong = [line.split(" # ") for line in rest]
        mistakes = {explanation: answer for answer, explanation in wrong}
        exercises.append(Exercise(name, equation, task, signature, reference, mistakes))
    return exercises


EXERCISES: dict[str, Exercise] = {
    exercise.name: exercise
    for module in (recurrent_exercises, transformer_exercises)
    for exercise in read(module.EXERCISES)
}


# === Checking ===


def check(name: str, answer: Callable[..., Any]) -> bool:
    """Tells whether an answer is right, and if not, what is wrong with it.

    The answer is tried on random arrays of unequal sizes. A wrong one is compared with
    the mistakes that one may well make, and the message says which it is.

    Args:
        name: the exercise's name, such as "bahdanau.score". `EXERCISES` has them all.
        answer: a function of the arguments that `question(name)` lists, in that order,
            written in NumPy or `keras.ops`.

    Returns:
        Whether the answer is right. The message is printed.

    Raises:
        KeyError: for an unknown name.
        TypeError: for an answer that can't be called.

    Example:
        >>> check("lstm.forget", lambda f, s: np.tanh(f) * s)
        Not yet: a gate is σ of its net input, not tanh: it lies between 0 and 1.
        False
    """
    exercise = find(name)
    if not callable(answer):
        raise TypeError(
            f"The answer must be a function of {', '.join(exercise.inputs)}. "
            f"Received: {answer!r}"
        )
    problem = diagnose(exercise, answer)
    print("Right." if problem is None else f"Not yet: {problem}")
    return problem is None


def question(name: str) -> None:
    """Prints an exercise: its equation, what to write, and the arguments' shapes.

    Raises:
        KeyError: for an unknown name.

    Example:
        >>> question("luong.dot")
        luong.dot: dot: h_t · h_s
        Write the scores of every decoder state for every source position.
        arguments: h_t (T, n), h_s (S, n)
        returns: (T, S)
    """
    exercise = find(name)
    print(f"{name}: {exercise.equation}")
    print(exercise.task)
    described = [_describe(name, *spec) for name, spec in exercise.inputs.items()]
    print(f"arguments: {', '.join(described)}")
    print(f"returns: {_named(exercise.output)}")


def answer(name: str) -> None:
    """Prints an exercise's right answer, an expression of its arguments.

    `sigmoid`, `softmax`, `chain` and the like are those of `zoo.lessons.functions`.

    Raises:
        KeyError: for an unknown name.

    Example:
        >>> answer("lstm.forget")
        lstm.forget: sigmoid(f) * s
    """
    print(f"{name}: {find(name).reference}")


def find(name: str) -> Exercise:
    """Returns the exercise of a name."""
    if name not in EXERCISES:
        raise KeyError(f"No exercise {name!r}{did_you_mean(name, EXERCISES)}")
    return EXERCISES[name]


def diagnose(exercise: Exercise, answer: Callable[..., Any]) -> str | None:
    """Says what is wrong with an answer, or returns None if it is right."""
    draws = [exercise.draw(seed) for seed in SEEDS]
    wanted = [_call(exercise.answer(exercise.reference), given) for given, _ in draws]
    results = []
    for given, _ in draws:
        try:
            result = _call(answer, given)
        except Exception as error:
            sizes = ", ".join(f"{k} {np.shape(v)}" for k, v in given.items())
            return f"{type(error).__name__}: {error} (called with {sizes})."
        if result is None:
            return "the function returns nothing. Fill in the blank."
        results.append(result)
    if _equal(results, wanted):
        return None
    for explanation, mistake in exercise.mistakes.items():
        wrong = exercise.answer(mistake)
        if _equal(results, [_call(wrong, given) for given, _ in draws]):
            return explanation
    return _compare(exercise, results[0], wanted[0], draws[0][1])


def _compare(
    exercise: Exercise, result: Any, wanted: Any, sizes: dict[str, int]
) -> str:
    """Says how a result that is no known mistake differs from what is wanted."""
    names = _named(exercise.output)
    if result.shape != wanted.shape:
        order = sorted(result.shape) == sorted(wanted.shape)
        begin = "the axes are in another order" if order else "the shape is wrong"
        letters = {size: letter for letter, size in sizes.items()}
        received = ", ".join(letters.get(n, str(n)) for n in result.shape)
        return f"{begin}, ({received}) where {names} is wanted."
    if np.allclose(result, -wanted, 1e-4, 1e-5):
        return "the sign is wrong."
    if not np.isfinite(result).all():
        return "there is a NaN or an infinity in the result."
    wrong = np.argwhere(~np.isclose(result, wanted, 1e-4, 1e-5))[0]
    place = tuple(wrong.tolist())
    return (
        f"the shape {names} is right, the values are not: at {list(place)} is "
        f"{result[place]:.4f} where {wanted[place]:.4f} is wanted."
    )


def _call(function: Callable[..., Any], given: dict[str, Any]) -> Any:
    """The function's value as a NumPy array; it can't change what it is given."""
    copies = [x.copy() if isinstance(x, np.ndarray) else x for x in given.values()]
    with np.errstate(all="ignore"):
        result = function(*copies)
    if result is None or result is ...:
        return None
    if isinstance(result, np.ndarray | np.generic | int | float):
        return np.asarray(result)
    from keras import ops

    return ops.convert_to_numpy(result)


def _equal(results: Sequence[Any], wanted: Sequence[Any]) -> bool:
    return all(
        a.shape == b.shape and np.allclose(a, b, 1e-4, 1e-5, equal_nan=True)
        for a, b in zip(results, wanted, strict=True)
    )


def _describe(name: str, kind: str, axes: str) -> str:
    words = KINDS[kind.partition("<")[0]]
    if kind == "size":
        return f"{name} ({words})"
    return f"{name} {_named(axes)}" + (f", {words}" if words else "")


def _named(names: str) -> str:
    parts = names.split()
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
