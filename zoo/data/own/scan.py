"""The first reading of training pairs: what there is, and what is held out."""

import dataclasses
import hashlib
from collections.abc import Iterator, Mapping, Sequence

from zoo.data.errors import CorpusError
from zoo.data.own.held_out import Smallest, chunks, text_hashes
from zoo.data.own.reading import Findings, Part, clean, describe_part
from zoo.strings import counted
from zoo.text.pieces import UNSPACED

RULES = 2  # raised whenever the rules change what is trained on
Sentences = Sequence[tuple[str, str]]  # pairs of them


class TrainingPairs:
    """The pairs of one part, cleaned and without what is held out, in their order.

    Iterating yields (source, target) and reads anew each time; nothing is kept. Pairs
    with a source or target of the held-out pairs are left out as well. `weight` is how
    often an epoch has each pair.
    """

    def __init__(self, part: Part, keep_all: bool, held: Sentences) -> None:
        self.weight = part.weight
        self._part, self._keep_all = part, keep_all
        self._shares_side = _side_test(held)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        pairs = clean(self._part, self._keep_all)
        return (pair for pair in pairs if not self._shares_side(pair))


@dataclasses.dataclass
class Scan:
    """The result of a first reading; see `OwnPairs`."""

    pairs: int
    words: int
    characters: str
    held: list[tuple[str, str]]  # out for validation
    digest: str
    report: list[str]


def scan(
    parts: Sequence[Part], keep_all: bool, seed: int, sets: Mapping[str, Sentences]
) -> Scan:
    """Reads all training pairs, twice if some are to be held out.

    They are if the user's `sets` have no "valid".
    """
    choice: Smallest[tuple[str, str]] = Smallest()
    shares_side = {name: _side_test(pairs) for name, pairs in sets.items()}
    shared = dict.fromkeys(sets, 0)
    digest = hashlib.sha256(repr((RULES, keep_all)).encode())
    size, report = _Size(), list[str]()
    for part in parts:
        findings: Findings = {}
        before = size.pairs
        for pairs in chunks(clean(part, keep_all, findings)):
            size.add(pairs)
            hashes = text_hashes(map("\t".join, pairs), seed)
            choice.offer(hashes, pairs)
            digest.update(b"".join(hashes))
            for name, test in shares_side.items():
                shared[name] += sum(map(test, pairs))
        digest.update(repr((size.pairs, part.weight)).encode())
        report += describe_part(part, size.pairs - before, findings)
    if not size.pairs:
        raise CorpusError(f"no pair is left to train on. {' '.join(report)}")
    report += [
        f"{counted(count, 'training pair')} {'has' if count == 1 else 'have'} a source "
        f"or target of the {'validation' if name == 'valid' else name} set"
        for name, count in shared.items()
        if count
    ]
    sample = choice.items()
    held = [] if "valid" in sets else choice.held_out()
    if held:
        report += _hold_out(parts, keep_all, held, size, seed)
    digest.update(repr(held).encode())
    characters = "".join(sorted(size.distinct))
    words = size.words(sample)
    return Scan(size.pairs, words, characters, held, digest.hexdigest(), report)


def _side_test(pairs):
    """A function that tells whether a pair has a source or target of these."""
    sources, targets = {source for source, _ in pairs}, {target for _, target in pairs}
    return lambda pair: pair[0] in sources or pair[1] in targets


def _hold_out(parts, keep_all, held, size, seed):
    """Takes held-out pairs off the size; the report's lines on them."""
    shares_side, unique, lost = _side_test(held), set(held), 0
    for part in parts:
        for pairs in chunks(clean(part, keep_all)):
            found = list(filter(shares_side, pairs))
            size.add(found, -1)
            lost += sum(pair not in unique for pair in found)
    if not size.pairs:
        raise CorpusError(
            f"no pair is left to train on beside the {len(held):,} held out, since all "
            "have a source or target in common with them: give validation pairs"
        )
    yield (
        f"no validation set is given: held out {counted(len(held), 'pair')} for it, "
        f"chosen by a hash of the text and the seed {seed}"
    )
    if lost:
        yield (
            f"left out {counted(lost, 'pair')} with a source or target of a held-out "
            "pair"
        )


class _Size:
    """Pairs, the characters and spaces of each side, the distinct characters."""

    def __init__(self):
        self.pairs = 0
        self.characters, self.spaces = [0, 0], [0, 0]
        self.distinct: set[str] = set()

    def add(self, pairs, sign=1):
        self.pairs += sign * len(pairs)
        for side in (0, 1):
            text = "".join(pair[side] for pair in pairs)
            self.characters[side] += sign * len(text)
            self.spaces[side] += sign * text.count(" ")
            self.distinct |= set(text)

    def words(self, sample):
        """Counts words by the spaces between them, or by characters; see `OwnPairs`."""
        words = 0
        for side in (0, 1):
            text = "".join(pair[side] for pair in sample)
            unspaced = len(UNSPACED.findall(text)) > 0.3 * len(text)
            spaced = self.pairs + self.spaces[side]
            words += self.characters[side] // 2 if unspaced else spaced
        return words
