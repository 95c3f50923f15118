"""One's own sentence pairs: read, cleaned, and partly held out for validation."""

import dataclasses
import hashlib
import itertools
import json
from collections.abc import Iterator, Sequence
from typing import Any

from zoo.data.errors import CorpusError
from zoo.data.own.held_out import Smallest, chunks, text_hashes
from zoo.data.own.reading import UNKNOWN, Kind, read_clean
from zoo.data.own.scan import TrainingPairs, scan
from zoo.data.own.tables import PAIR_COLUMNS
from zoo.data.own.text_files import find_parts, find_sets
from zoo.data.parallel_text import Pairs

LONGEST = 2000  # characters of a side
# Characters of one side for each of the other, beyond the first ones: short texts and
# scripts of few characters may differ more than translations in general.
RATIO, FREE = 9, 30
EMPTY = "with an empty side"
LONG = f"of more than {LONGEST:,} characters on a side"
UNLIKE = (
    f"with a side over {RATIO} times as long as the other, but for {FREE} characters"
)


@dataclasses.dataclass(frozen=True)
class OwnPairs:
    """Sentence pairs that `read_pairs` has read, for the training of a translator.

    Attributes:
        parts: the training pairs of each file or table, as `TrainingPairs`: iterables
            of (source, target) that read anew each time, with a `weight` each.
        valid: the pairs for validation.
        test: the pairs of the test; None if there are none.
        languages: the codes of source and target, as ("en", "de"); "und" if unknown.
        pairs: number of training pairs, each counted once whatever its weight.
        words: words of both sides of them; of a script without spaces, half as many as
            characters.
        characters: the distinct characters of both sides, held-out pairs included.
        digest: 64 hexadecimal digits, the identity of the training pairs: equal for
            equal texts in equal order, from whatever files, and equal options.
        report: what was read, left out and held out, as lines for a log.
    """

    parts: list[TrainingPairs]
    valid: Pairs
    test: Pairs | None
    languages: tuple[str, str]
    pairs: int
    words: int
    characters: str
    digest: str
    report: list[str]

    @property
    def identity(self) -> str:
        """64 hexadecimal digits, the identity of training and validation pairs."""
        about = [self.digest, self.valid.sources, self.valid.targets]
        return hashlib.sha256(json.dumps(about).encode()).hexdigest()

    @property
    def train(self) -> Iterator[tuple[str, str]]:
        """The training pairs of all parts, each once, read anew."""
        return itertools.chain.from_iterable(self.parts)

    def sample(self, count: int) -> list[str]:
        """Returns at most `count` sentences, sources and targets, for a vocabulary.

        Of more, a hash chooses unique pairs, so that equal texts in any order give an
        equal sample.
        """
        smallest: Smallest[tuple[str, str]] = Smallest(max(1, count // 2))
        for pairs in chunks(self.train):
            smallest.offer(text_hashes(map("\t".join, pairs), 0), pairs)
        chosen = smallest.items()
        return [source for source, _ in chosen] + [target for _, target in chosen]


def read_pairs(
    train: Any,
    valid: Any = None,
    test: Any = None,
    *,
    columns: Sequence[Any] | None = None,
    languages: Sequence[str] | None = None,
    keep_all: bool = False,
    seed: int = 1,
) -> OwnPairs:
    """Reads one's own sentence pairs, from files or from a program's data.

    Each of `train`, `valid` and `test` may be

    - two parallel text files: a tuple of two paths;
    - a table, TSV, CSV or JSON lines: one path;
    - a folder with such files for each split, as `train.en`, `train.de`, `valid.en`
      (or `dev.en`), …: one path, for `train` alone;
    - several of them, with weights: a list of `TextFiles`, which `TextFiles.parse`
      makes of a command line's values such as `["a.en", "a.de:2"]`;
    - Python data: a tuple of two sequences of str, sources and targets; a list of pairs
      of str, or of dicts; a dict of columns, a pandas DataFrame or a Hugging Face
      `Dataset`; or a `zoo.data.Pairs`. It is kept, not copied, and must not change. A
      missing cell stands for an empty text.

    Files may be packed (gzip, bzip2, xz). They are read several times, in constant
    memory. Texts are brought into Unicode's composed form (NFC). Training pairs
    with a side that is much too long are left out; of the other sets, only pairs with
    an empty side are left out.

    Without `valid`, a part of the training pairs is held out: of the unique ones a
    twentieth, at least one and at most 1,000, which `seed` and their content choose.
    Other training pairs with a source or target of theirs are left out.

    Args:
        train: the training pairs.
        valid: pairs for validation.
        test: pairs for a test.
        columns: a table's columns of source and target: names, or numbers from 1 for a
            table whose first line is a row. Default: those named by `languages`,
            "source" and "target", "src" and "tgt", or the only two.
        languages: codes of source and target. Default: the files' suffixes, or the
            columns' names if they have two letters.
        keep_all: whether of the training pairs, too, only those with an empty side are
            left out.
        seed: seed of what is held out.

    Raises:
        CorpusError: for files that can't be read, or hold no pairs. The message names
            file, line and cause.
        TypeError: for Python data that are no pairs of str.

    Example:
        >>> from zoo.data.own import read_pairs
        >>> own = read_pairs((["one", "two", "two"], ["eins", "zwei", "zwei"]))
        >>> list(own.train), list(own.valid), own.test
        ([('one', 'eins')], [('two', 'zwei')], None)
    """
    if languages is not None and len(languages) != 2:
        raise CorpusError(f"languages should be two codes, received {languages!r}")
    parts = find_sets(PairKind(columns, languages), train, valid, test)
    names = [languages or part.languages for part in parts["train"]]
    source, target = (
        next((code for code in side if code != UNKNOWN), UNKNOWN)
        for side in zip(*names, strict=True)
    )
    report = list[str]()
    sets = {
        split: read_clean(parts[split], split, report)
        for split in ("valid", "test")
        if parts[split]
    }
    found = scan(parts["train"], keep_all, seed, sets)
    sets.setdefault("valid", found.held)
    pairs = {name: _as_pairs(name, s, (source, target)) for name, s in sets.items()}
    return OwnPairs(
        [TrainingPairs(part, keep_all, found.held) for part in parts["train"]],
        pairs["valid"],
        pairs.get("test"),
        (source, target),
        found.pairs,
        found.words,
        found.characters,
        found.digest,
        [*found.report, *report],
    )


def read_test(
    data: Any,
    *,
    columns: Sequence[Any] | None = None,
    languages: Sequence[str] | None = None,
    report: list[str] | None = None,
) -> Pairs:
    """Reads the pairs of a test alone; see `read_pairs`.

    Args:
        data: as `test` of `read_pairs`.
        columns: a table's columns.
        languages: codes of source and target.
        report: list to which lines on what was read and left out are added.

    Raises:
        CorpusError, TypeError: see `read_pairs`.
    """
    parts = find_parts(PairKind(columns, languages), data, "test")
    pairs = read_clean(parts, "test", [] if report is None else report)
    return _as_pairs("test", pairs, languages or parts[0].languages)


class PairKind(Kind):
    """How sentence pairs are read; see `read_pairs`."""

    name = "pair"
    wanted = (
        "pairs must be two lists of str in a tuple, a list of pairs of str, a dict or "
        "table of columns, or the paths of files"
    )
    columns = ("sources", "targets")
    aligned = True

    def __init__(
        self,
        chosen: Sequence[Any] | None = None,
        languages: Sequence[str] | None = None,
    ) -> None:
        super().__init__(chosen)
        self.languages = languages
        self.defaults = [*([languages] if languages else []), *PAIR_COLUMNS]

    def problem(self, item: Any, keep_all: bool) -> str | None:
        """See `Kind`."""
        a, b = map(len, item)
        if not (a and b):
            return EMPTY
        if keep_all:
            return None
        if a > LONGEST or b > LONGEST:
            return LONG
        return None if a <= RATIO * b + FREE and b <= RATIO * a + FREE else UNLIKE


def _as_pairs(split, pairs, languages):
    sources, targets = (list(side) for side in zip(*pairs, strict=True))
    return Pairs(split, split, *languages, sources, targets)
