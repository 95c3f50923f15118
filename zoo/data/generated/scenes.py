"""Scenes of coloured shapes and sentences about them: generated, drawn with NumPy.

    a small red star above a blue ring and a large green cross on the right

It is known where each thing that a sentence names is, so that attention can be scored
(`zoo.analysis.evaluation.grounding`), and whether any sentence is true of a scene.
"""

import dataclasses
import itertools
import random
import re
import zlib
from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np

T = TypeVar("T")
SPLITS = ("train", "valid", "test")
COLOURS = {
    "red": (214, 48, 49),
    "orange": (240, 140, 30),
    "yellow": (246, 206, 40),
    "green": (46, 160, 67),
    "blue": (43, 98, 214),
    "purple": (138, 66, 178),
    "pink": (244, 143, 177),
    "black": (36, 36, 40),
}
SHAPES = ("circle", "square", "triangle", "star", "cross", "ring")
SIZES = {"small": 0.1, "large": 0.16}  # radii, as shares of the image's side
ZONES = {
    (0, 0): "in the top left",
    (1, 0): "at the top",
    (2, 0): "in the top right",
    (0, 1): "on the left",
    (1, 1): "in the middle",
    (2, 1): "on the right",
    (0, 2): "in the bottom left",
    (1, 2): "at the bottom",
    (2, 2): "in the bottom right",
}
RELATIONS = ("to the left of", "to the right of", "above", "below")
SIZE = 80  # pixels of a side
_CLEAR = 0.03  # from a line between two zones
_APART = 0.2  # least distance along the axis of a relation


def _one_of(words):
    return f"(?:{'|'.join(words)})"


_NOUN = f"an? ((?:{_one_of(SIZES)} )?{_one_of(COLOURS)} {_one_of(SHAPES)})"
_ZONE, _RELATION = (f"({_one_of(words)})" for words in (ZONES.values(), RELATIONS))
_SENTENCE = re.compile(
    f"{_NOUN} (?:{_ZONE}|{_RELATION} {_NOUN}(?: and {_NOUN} {_ZONE})?)"
)


@dataclasses.dataclass(frozen=True)
class Thing:
    """A coloured shape; places and sizes are shares of the image's side.

    Attributes:
        colour: one of `COLOURS`.
        shape: one of `SHAPES`.
        size: one of `SIZES`.
        x, y: its centre, from the left and from the top.
    """

    colour: str
    shape: str
    size: str
    x: float
    y: float

    @property
    def box(self) -> tuple[float, float, float, float]:
        """Left, top, right and bottom."""
        r = SIZES[self.size]
        return self.x - r, self.y - r, self.x + r, self.y + r

    @property
    def zone(self) -> str | None:
        """One of `ZONES`; None too near a line between two."""
        lines = [abs(p - line) for p in (self.x, self.y) for line in (1 / 3, 2 / 3)]
        if min(lines) < _CLEAR:
            return None
        return ZONES[int(3 * self.x), int(3 * self.y)]

    def relation(self, other: "Thing") -> str | None:
        """Where it is, seen from another: one of `RELATIONS`; None if unclear."""
        dx, dy = self.x - other.x, self.y - other.y
        if max(abs(dx), abs(dy)) < max(_APART, 1.5 * min(abs(dx), abs(dy))):
            return None
        if abs(dx) > abs(dy):
            return "to the right of" if dx > 0 else "to the left of"
        return "below" if dy > 0 else "above"


@dataclasses.dataclass(frozen=True)
class Scene:
    """One to three things and a sentence about them.

    Attributes:
        things: the things, none like another in both colour and shape.
        caption: the sentence, its words separated by spaces.
        names: for each word the place in `things` of what it names, -1 for none. Sizes,
            colours and shapes name things.
        background: RGB at the top and at the bottom.

    Example:
        >>> [scene] = draw_scenes(1, "test")
        >>> scene.is_true(scene.caption)
        True
        >>> scene.draw().shape
        (80, 80, 3)
    """

    things: tuple[Thing, ...]
    caption: str
    names: tuple[int, ...]
    background: tuple[tuple[int, ...], tuple[int, ...]]

    @property
    def boxes(self) -> list[tuple[float, float, float, float] | None]:
        """For each word the box of the thing that it names, or None."""
        return [self.things[n].box if n >= 0 else None for n in self.names]

    @property
    def phrases(self) -> list[tuple[int, int]]:
        """For each thing named the first word of its phrase and the one behind it.

        A phrase has its article: "a small red star".
        """
        words = self.caption.split()
        starts = [place for place, word in enumerate(words) if word in ("a", "an")]
        ends = [place for place, word in enumerate(words, 1) if word in SHAPES]
        return list(zip(starts, ends, strict=True))

    def draw(self) -> np.ndarray:
        """Draws the scene, anti-aliased: uint8 `(80, 80, 3)`, RGB."""
        top, bottom = np.array(self.background, "float64")
        grow = np.linspace(0, 1, SIZE)[:, None, None]
        image = np.tile(top + grow * (bottom - top), (1, SIZE, 1))
        places = (np.arange(SIZE) + 0.5) / SIZE
        for thing in self.things:
            r = SIZES[thing.size]
            near = [np.abs(places - p) <= r + 2 / SIZE for p in (thing.x, thing.y)]
            x, y = places[near[0]] - thing.x, places[near[1]] - thing.y
            outside = r * _distance(thing.shape, x[None] / r, y[:, None] / r)
            share = np.clip(0.5 - SIZE * outside, 0, 1)[..., None]
            part = np.ix_(near[1], near[0])
            colour = np.array(COLOURS[thing.colour], "float64")
            image[part] += share * (colour - image[part])
        return np.round(image).astype("uint8")

    def is_true(self, caption: str) -> bool:
        """Whether a sentence of the grammar is true of the scene.

        Different descriptions have to be of different things. Any other sentence is
        not true.

        Args:
            caption: the sentence.
        """
        match = _SENTENCE.fullmatch(" ".join(caption.split()))
        if match is None:
            return False
        first, zone, relation, second, third, last_zone = match.groups()
        nouns = [set(noun.split()) for noun in (first, second, third) if noun]
        for things in itertools.permutations(self.things, len(nouns)):
            true = all(
                noun <= {thing.size, thing.colour, thing.shape}
                for noun, thing in zip(nouns, things, strict=True)
            )
            true &= zone is None or things[0].zone == zone
            true &= relation is None or things[0].relation(things[1]) == relation
            true &= last_zone is None or things[-1].zone == last_zone
            if true:
                return True
        return False


def draw_scenes(count: int, split: str = "train") -> list[Scene]:
    """Draws scenes at random, the same ones each time.

    A sentence is in one split alone: those of the test are never read in training.

    Args:
        count: number of scenes.
        split: "train", "valid" or "test".

    Raises:
        ValueError: for another split, or a count below 0.

    Example:
        >>> draw_scenes(2, "test")[1].caption
        'a small pink square below a small blue ring'
    """
    return draw(_scenes, count, split)


def draw(stream: Callable[[str], Iterator[T]], count: int, split: str) -> list[T]:
    """Returns the first `count` of a stream, a function of the split.

    Raises:
        ValueError: for another split, or a count below 0.
    """
    if split not in SPLITS or count < 0:
        raise ValueError(
            f"count must be 0 or more and split one of {', '.join(SPLITS)}. Received: "
            f"count={count}, split={split!r}"
        )
    return list(itertools.islice(stream(split), count))


def split_of(sentence: str) -> str:
    """Returns the split that a sentence belongs to: a tenth each is valid and test."""
    part = zlib.crc32(sentence.encode()) % 10
    return {0: "test", 1: "valid"}.get(part, "train")


def _scenes(split: str) -> Iterator[Scene]:
    rng = random.Random(f"scenes {split}")
    while True:
        things = _things(rng, rng.choice((1, 2, 2, 3)))
        words, names = _describe(rng, things) if things else ([], [])
        caption = " ".join(words)
        if words and split_of(caption) == split:
            tone = [rng.randint(222, 250) for _ in range(3)]
            fall = rng.randint(-16, 5)
            background = tuple(tone), tuple(value + fall for value in tone)
            yield Scene(things, caption, tuple(names), background)


def _things(rng, count):
    """Things that do not touch; () if they would."""
    things: list[Thing] = []
    for _ in range(count):
        size = rng.choice(list(SIZES))
        edge = SIZES[size] + 0.02
        x, y = (round(rng.uniform(edge, 1 - edge), 4) for _ in "xy")
        thing = Thing(rng.choice(list(COLOURS)), rng.choice(SHAPES), size, x, y)
        for other in things:
            room = SIZES[size] + SIZES[other.size] + 0.04
            alike = (thing.colour, thing.shape) == (other.colour, other.shape)
            if alike or max(abs(x - other.x), abs(y - other.y)) < room:
                return ()
        things.append(thing)
    return tuple(things)


# === Sentences ===


def _describe(rng, things):
    """The words of a sentence, and what each names; no words if a place is unclear."""
    parts = []

    def name(place):
        thing = things[place]
        words = [thing.size] * (rng.random() < 0.5) + [thing.colour, thing.shape]
        parts.append(("an" if words[0][0] in "aeiou" else "a", -1))
        parts.extend((word, place) for word in words)

    def say(text):
        parts.extend((word, -1) for word in (text or "?").split())

    first, *others = rng.sample(range(len(things)), len(things))
    name(first)
    if others:
        say(things[first].relation(things[others[0]]))
        name(others[0])
    if len(things) != 2:
        if others:
            say("and")
            name(others[1])
        say(things[(others or [first])[-1]].zone)
    words, names = (list(column) for column in zip(*parts, strict=True))
    return ([], []) if "?" in words else (words, names)


# === Shapes ===


def _distance(shape, x, y):
    """The signed distance of points from a shape of radius 1, about; y points down."""
    far = np.hypot(x, y)
    if shape == "circle":
        return far - 1
    if shape == "ring":
        return np.abs(far - 0.72) - 0.28
    if shape == "square":
        return np.maximum(np.abs(x), np.abs(y)) - 0.88
    if shape == "cross":
        bars = [(0.95, 0.32), (0.32, 0.95)]
        return np.minimum(*(np.maximum(np.abs(x) - a, np.abs(y) - b) for a, b in bars))
    if shape == "triangle":
        return np.maximum(y - 0.72, 0.866 * np.abs(x) - 0.5 * y - 0.43)
    # A star: the sides of one of its ten halves of a point.
    angle = np.arctan2(x, -y)
    turn = np.abs((angle + np.pi / 5) % (2 * np.pi / 5) - np.pi / 5)
    fifth = np.pi / 5
    tip, dent = np.array([1, 0]), 0.45 * np.array([np.cos(fifth), np.sin(fifth)])
    along = (dent - tip) / np.hypot(*(dent - tip))
    return (far * np.cos(turn) - 1) * along[1] - far * np.sin(turn) * along[0]
