"""Rules by which pairs are left out, with a count and the first place of each."""

import dataclasses
from collections.abc import Iterator

from zoo.data.own.part import Part

LONGEST = 2000  # characters of a side
# Characters of one side for each of the other, beyond the first ones: short texts and
# scripts of few characters may differ more than translations in general.
RATIO, FREE = 9, 30
EMPTY = "with an empty side"
LONG = f"of more than {LONGEST:,} characters on a side"
UNLIKE = (
    f"with a side over {RATIO} times as long as the other, but for {FREE} characters"
)


@dataclasses.dataclass
class LeftOut:
    """Counts the pairs that are left out for one reason.

    Attributes:
        reason: the reason.
        count: number of pairs.
        first: place of the first one.
    """

    reason: str
    count: int
    first: str

    def __str__(self) -> str:
        return f"{self.count:,} {self.reason} (the first: {self.first})"


def clean(
    part: Part, only_empty: bool = False, left_out: dict[str, LeftOut] | None = None
) -> Iterator[tuple[str, str]]:
    """Yields the pairs of a part, without white space around each side.

    Left out are pairs with an empty side, with a side of more than `LONGEST`
    characters, or with one that is longer than `RATIO` times the other and `FREE`
    characters.

    Args:
        part: the pairs.
        only_empty: whether only the first rule holds.
        left_out: dict to count in, by reason.
    """
    for index, (source, target) in enumerate(part.read()):
        source, target = source.strip(), target.strip()
        a, b = len(source), len(target)
        if a and b:
            if only_empty or (
                a <= LONGEST
                and b <= LONGEST
                and a <= RATIO * b + FREE
                and b <= RATIO * a + FREE
            ):
                yield source, target
                continue
            reason = LONG if max(a, b) > LONGEST else UNLIKE
        else:
            reason = EMPTY
        if left_out is not None:
            entry = left_out.setdefault(reason, LeftOut(reason, 0, part.place(index)))
            entry.count += 1
