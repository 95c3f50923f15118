"""Two files that should be aligned by line: reading them, and where they part."""

import array
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from zoo.data.errors import CorpusError
from zoo.data.lines import read_lines


def read_aligned_lines(source: Path, target: Path) -> Iterator[tuple[str, str]]:
    """Yields the lines of two files in pairs, in Unicode's composed form.

    Raises:
        CorpusError: if a file can't be read as text, or one has more lines: with both
            counts and the line from which on their lengths don't belong together.
    """
    sides = [read_lines(path, normalize=True) for path in (source, target)]
    try:
        yield from zip(*sides, strict=True)
    except CorpusError:
        raise
    except ValueError:  # of zip
        raise CorpusError(_unequal(source, target)) from None


def _unequal(source, target):
    lengths = [_line_lengths(path) for path in (source, target)]
    counts = [len(side) for side in lengths]
    return (
        "the two files must have the same number of lines, received "
        f"{counts[0]:,} lines in {source} and {counts[1]:,} in {target}; they seem to "
        f"go out of step near line {parting_line(*lengths):,}"
    )


def _line_lengths(path):
    return np.array(array.array("i", map(len, read_lines(path, normalize=True))))


def parting_line(source: np.ndarray, target: np.ndarray) -> int:
    """Estimates from which line on two sides are no longer aligned.

    A sentence and its translation are about equally long, but for a factor, and other
    sentences are not. The deviation of each pair of lines from that factor is compared
    with the mean deviation of pairs that are surely wrong; the line before which the
    deviations are smallest in sum, and behind which they are greatest, is the answer.

    Args:
        source: `(N,)`, the lengths of the lines of one side.
        target: `(M,)`, those of the other.

    Returns:
        The line, counted from 1, within a few lines if sentences differ in length. It
        is the one behind the shorter side's end if all lines up to there belong
        together.
    """
    count = min(len(source), len(target))
    ratios = np.log1p(source[:count]) - np.log1p(target[:count])
    deviations = np.abs(ratios - np.median(ratios)) if count else ratios
    wrong = np.log1p(source[:count]) - np.log1p(np.roll(target[:count], count // 2))
    wrong = np.abs(wrong - np.median(ratios)) if count else ratios
    level = 0.7 * wrong.mean() if count else 0.0
    sums = np.concatenate([[0.0], np.cumsum(deviations - level)])
    return int(sums.argmin()) + 1
