"""The test over seeds and sentences: against scipy, closed forms and simulations."""

import numpy as np
import pytest
from scipy import stats

from tools.papers.counts import pack
from tools.papers.significance import (
    FAILS,
    HOLDS,
    UNDECIDED,
    Contrast,
    Estimate,
    better,
    estimate,
    samples,
    verdict,
)
from tools.papers.study_table import Result

pytestmark = pytest.mark.backend_free


def errors(**arms):
    """Runs that have an error and no sentences."""
    return {
        (arm, seed): Result({"arm": arm, "seed": seed, "scores": {"e": value}})
        for arm, values in arms.items()
        for seed, value in enumerate(values, start=1)
    }


def links(**arms):
    """Runs with the share of words on their place: (on, words) of each sentence."""
    found = {}
    for arm, tables in arms.items():
        for seed, pairs in enumerate(tables, start=1):
            table = np.zeros((len(pairs), 10), int)
            table[:, [7, 9]] = pairs
            row = {"arm": arm, "seed": seed, "counts": {"links": pack(table)}}
            found[arm, seed] = Result(row)
    return found


def test_without_sentences_it_is_the_paired_t_test():
    some, others = [4.1, 3.7, 4.4, 3.9, 4.0], [4.6, 4.0, 4.3, 4.4, 4.9]
    one = estimate(better("a", "b", "e"), errors(a=some, b=others))
    expected = stats.ttest_rel(others, some)  # a has less, which is better
    assert one.mean == pytest.approx(np.mean(others) - np.mean(some))
    assert one.p == pytest.approx(expected.pvalue)
    low, high = expected.confidence_interval()
    assert one.interval == pytest.approx((high - low) / 2)
    assert (one.seeds, one.count, one.sentences) == (5, 0, 0.0)


def test_only_seeds_that_all_arms_have_count():
    runs = errors(a=[1.0, 2.0, 4.0], b=[3.0, 3.0, 3.0, 99.0])
    del runs["a", 2]
    one = estimate(better("a", "b", "e"), runs)
    assert one.seeds == 2 and one.mean == pytest.approx(0.5)
    assert estimate(better("a", "c", "e"), runs) is None


def test_weights_make_differences_of_differences():
    runs = errors(a=[5.0, 6.0], b=[2.0, 4.0], c=[4.0, 5.0], d=[4.0, 4.5])
    terms = ((1, "a", "e"), (-1, "b", "e"), (-1, "c", "e"), (1, "d", "e"))
    one = estimate(Contrast(terms, "warm-up"), runs)
    assert one.mean == pytest.approx(np.mean([3.0, 1.5]))
    assert one.deviation == pytest.approx(np.std([3.0, 1.5], ddof=1))


def test_the_variance_of_sentences_is_that_of_a_mean():
    """With as many words in each sentence, a share is a mean of N numbers, and the
    difference of shares one of N differences."""
    draw, size = np.random.default_rng(2), 400
    some, others = draw.integers(0, 11, size), draw.integers(0, 9, size)
    tables = {
        name: [np.stack([values, np.full(size, 10)], axis=1)] * 3
        for name, values in (("a", some), ("b", others))
    }
    one = estimate(better("a", "b", "on"), links(**tables))
    difference = (some - others) / 10
    assert one.mean == pytest.approx(difference.mean())
    assert one.deviation == 0.0
    expected = difference.var(ddof=0) / size
    assert one.sentences == pytest.approx(expected, rel=0.15)  # 1,000 draws: ± 4.5%
    assert one.count == size and one.freedom() == pytest.approx(size - 1)
    # The same sentences in both arms: what they share is no error.
    same = estimate(better("a", "a2", "on"), links(a=tables["a"], a2=tables["a"]))
    assert same.sentences == pytest.approx(0, abs=1e-20) and same.p == 1.0


def test_both_variances_add_up_with_satterthwaites_freedom():
    one = Estimate(4, 1.0, 0.6, 0.04, 1000)
    parts = 0.09, 0.04
    assert one.error() == pytest.approx(0.13**0.5)
    free = 0.13**2 / (parts[0] ** 2 / 3 + parts[1] ** 2 / 999)
    assert one.freedom() == pytest.approx(free)
    assert one.p == pytest.approx(2 * stats.t.sf(1 / 0.13**0.5, free))


def test_the_power_is_that_of_the_noncentral_t():
    for seeds, deviation in ((5, 0.8), (12, 1.5)):
        one = Estimate(seeds, 0.1, deviation)
        reach = one.detectable()
        free, far = seeds - 1, reach / (deviation / seeds**0.5)
        critical = stats.t.isf(0.025, free)
        power = stats.nct.sf(critical, free, far) + stats.nct.cdf(-critical, free, far)
        assert power == pytest.approx(0.8, abs=0.03)


def test_arms_without_a_difference_are_seldom_told_apart():
    """Seeds, sentences and their interaction drawn at random: p is below 0.05 in no
    more than 5% (and the interaction, counted twice, in less)."""
    draw, size, seeds, wrong, rounds = np.random.default_rng(7), 60, 4, 0, 300
    for _ in range(rounds):
        hard = draw.normal(0, 0.2, size)  # what all find hard
        tables = {}
        for arm in ("a", "b"):
            own = draw.normal(0, 0.05, size)  # what the arm finds hard
            tables[arm] = []
            for _ in range(seeds):
                share = 0.5 + hard + own + draw.normal(0, 0.02)
                share += draw.normal(0, 0.05, size)
                on = draw.binomial(100, np.clip(share, 0, 1))
                tables[arm].append(np.stack([on, np.full(size, 100)], axis=1))
        wrong += estimate(better("a", "b", "on"), links(**tables)).p < 0.05
    # Of 300 trials at 5%, more than 26 come about in 0.3%.
    assert 1 <= wrong <= 26


def test_samples_are_the_same_each_time_and_have_all_sentences_alike():
    drawn = samples(50)
    assert drawn is samples(50)
    assert drawn.shape == (1000, 50) and set(drawn.sum(axis=1)) == {50.0}
    np.testing.assert_allclose(drawn.mean(axis=0), 1, atol=0.15)


SURELY, BARELY = [1.0, 1.1, 0.9, 1.05, 1.0], [2.0, 0.4, 1.1, 3.0, 0.3]
MORE = [2.0, 2.2, 1.9, 2.1, 2.0]


def test_a_claim_holds_if_it_surely_does():
    runs = errors(a=SURELY, b=MORE, c=BARELY)
    assert verdict([better("a", "b", "e")], runs)[0] == HOLDS
    assert verdict([better("b", "a", "e")], runs)[0] == FAILS
    assert verdict([better("a", "c", "e")], runs)[0] == UNDECIDED
    # All of several have to; one surely contradicts.
    several = [better("a", "b", "e"), better("a", "c", "e")]
    assert verdict(several, runs)[0] == UNDECIDED
    assert verdict([better("a", "b", "e"), better("b", "a", "e")], runs)[0] == FAILS
    missing = [better("a", "b", "e"), better("a", "d", "e")]
    assert verdict(missing, runs)[0] == UNDECIDED
    assert verdict([better("d", "a", "e")], runs) == (UNDECIDED, [None])


@pytest.mark.parametrize("seeds", [1, 2])
def test_one_or_two_seeds_tell_nothing(seeds):
    runs = errors(a=[1.0, 1.0][:seeds], b=[5.0, 5.0][:seeds])
    told, [one] = verdict([better("a", "b", "e")], runs)
    assert told == UNDECIDED and one.seeds == seeds
