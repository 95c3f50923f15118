"""Whether a difference between models would come again: with other seeds, other text.

A contrast adds scores of arms, each times a weight: "A less B", or "what warm-up brings
to one less what it brings to another". It is judged by two sources of chance together.

- Seeds. The contrast is taken for each seed by itself (the arms of one seed share
  vocabulary and order of the data), and d is the mean over n seeds. Their deviation s
  gives the variance s²/n, with n - 1 degrees of freedom: the paired t-test.
- Sentences. All arms and seeds translate the same N sentences. These are drawn anew,
  with replacement, 1,000 times (the paired bootstrap of Koehn 2004), the same ones for
  all, and the variance of d over the draws is w.

The t statistic is d / sqrt(s²/n + w), with the degrees of freedom of Welch (1947) and
Satterthwaite (1946). Either test alone would answer another question: a bootstrap over
sentences, whether *these trained weights* differ; a t-test over seeds, whether the arms
differ *on these 1,000 sentences*. A bootstrap over seeds too was not taken: five seeds
drawn with replacement are too few to know their spread (its variance is (n - 1)/n of
the right one, and its tails are those of a normal distribution). What chance a seed has
with a sentence is in both variances, so that the test is on the careful side.

Where there are no counts of sentences (errors on artificial data, which each seed draws
anew) w is 0, and the test is the paired t-test.
"""

import dataclasses
import functools
import math

import numpy as np
from scipy import stats

from tools.papers.counts import measure_of

SURE = 0.05  # p of a difference above which it may be chance
LEAST = 3  # seeds below which nothing is said
POWER = 0.8  # chance with which a difference is to be found
DRAWS = 1000  # samples of sentences


@dataclasses.dataclass(frozen=True)
class Contrast:
    """A sum of scores, which a claim says is above 0.

    Attributes:
        terms: tuple of (weight, arm, measure).
        words: what is compared, for the page.
    """

    terms: tuple[tuple[float, str, str], ...]
    words: str


def better(one, other, measure="bleu", words=""):
    """The `Contrast` that is above 0 if `one` is better than `other`.

    Args:
        one, other: names of arms, or (arm, measure) for a measure of its own.
        measure: name of a measure.
        words: see `Contrast`; by default "ONE against OTHER".
    """
    sides = [one if isinstance(one, tuple) else (one, measure) for one in (one, other)]
    sign = 1 if measure_of(sides[0][1]).higher else -1
    terms = ((sign, *sides[0]), (-sign, *sides[1]))
    return Contrast(terms, words or f"{one} against {other}")


@dataclasses.dataclass(frozen=True)
class Estimate:
    """A mean over seeds with its errors.

    Attributes:
        seeds: n.
        mean: d.
        deviation: s, NaN for one seed.
        sentences: w, the variance by the choice of sentences.
        count: N, sentences; 0 where there are none.
    """

    seeds: int
    mean: float
    deviation: float
    sentences: float = 0.0
    count: int = 0

    def error(self):
        """The standard error of d."""
        return math.sqrt(self.deviation**2 / self.seeds + self.sentences)

    def freedom(self):
        """The degrees of freedom of the test."""
        n = self.seeds
        parts = [(self.deviation**2 / n, n - 1), (self.sentences, self.count - 1)]
        parts = [(variance, free) for variance, free in parts if variance > 0]
        if not parts:
            return n - 1
        total = sum(variance for variance, _ in parts)
        return total**2 / sum(variance**2 / free for variance, free in parts)

    @property
    def p(self):
        """Of no difference, two-sided."""
        error = self.error()
        if error == 0:
            return 1.0 if self.mean == 0 else 0.0
        return float(2 * stats.t.sf(abs(self.mean) / error, self.freedom()))

    @property
    def interval(self):
        """The half width of the interval that covers the mean at 1 - `SURE`."""
        return float(stats.t.isf(SURE / 2, self.freedom()) * self.error())

    def detectable(self):
        """The difference that these seeds find with the chance `POWER`."""
        free = self.freedom()
        reach = stats.t.isf(SURE / 2, free) + stats.t.isf(1 - POWER, free)
        return float(reach * self.error())


def over_seeds(values):
    """The `Estimate` of a score's mean over seeds, on the sentences as they are."""
    deviation = float(np.std(values, ddof=1)) if len(values) > 1 else math.nan
    return Estimate(len(values), float(np.mean(values)), deviation)


def estimate(contrast, runs):
    """The `Estimate` of a contrast, from the seeds that all of its arms have.

    Args:
        contrast: a `Contrast`.
        runs: dict of (arm, seed) to a `Result`.

    Returns:
        An `Estimate`; None where there is no such seed.
    """
    terms = contrast.terms
    found = [{s for arm, s in runs if arm == one} for _, one, _ in terms]
    seeds = sorted(set.intersection(*found))
    if not seeds:
        return None
    values = [
        sum(weight * runs[arm, seed].score(name) for weight, arm, name in terms)
        for seed in seeds
    ]
    variance, count = _of_sentences(contrast, runs, seeds)
    return dataclasses.replace(over_seeds(values), sentences=variance, count=count)


def _of_sentences(contrast, runs, seeds):
    """The variance of a contrast by the choice of sentences, and their number."""
    terms = [
        (weight, arm, measure_of(name))
        for weight, arm, name in contrast.terms
        if measure_of(name).counts is not None
    ]
    if not terms:
        return 0.0, 0
    size = len(runs[terms[0][1], seeds[0]].counts(terms[0][2].counts))
    draws = samples(size)
    total = np.zeros(len(draws))
    for weight, arm, measure in terms:
        for seed in seeds:
            parts = measure.parts(runs[arm, seed].counts(measure.counts))
            total += weight / len(seeds) * measure.score(draws @ parts)
    return float(total.var(ddof=1)), size


@functools.cache
def samples(size):
    """How often each of `size` sentences is in each sample: float (`DRAWS`, size)."""
    drawn = np.random.default_rng(1).multinomial(size, [1 / size] * size, DRAWS)
    return drawn.astype("float64")


# === Claims ===

HOLDS, FAILS, UNDECIDED = "holds", "does not hold", "undecided"


def verdict(contrasts, runs):
    """Whether a claim holds: all of its contrasts are above 0, surely.

    Each of several has to be sure by itself (a test of a union: `SURE` is kept). That
    one is surely below 0 contradicts the claim; of k of them, each is asked at
    `SURE`/k.

    Args:
        contrasts: sequence of `Contrast`.
        runs: see `estimate`.

    Returns:
        One of the three verdicts, and the estimates, None for contrasts without a seed.
    """
    found = [estimate(contrast, runs) for contrast in contrasts]
    known = [one for one in found if one is not None and one.seeds >= LEAST]
    if any(one.mean < 0 and one.p < SURE / len(found) for one in known):
        return FAILS, found
    if len(known) == len(found) and all(e.mean > 0 and e.p < SURE for e in known):
        return HOLDS, found
    return UNDECIDED, found
