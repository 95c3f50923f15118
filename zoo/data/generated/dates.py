"""Dates as people write them, in several languages, and in ISO 8601: generated.

Names of months and weekdays are those of Unicode's CLDR, by Babel (extra `train`). Only
forms that can be read without knowing the language are generated:

- A numeric date with dots has the day first, one with hyphens or slashes the year.
  Slashes with the year last are left out: 5/3/1999 is in March for the British and in
  May for Americans.
- A year of two digits is that of POSIX's `%y`: 69 to 99 are in the 20th century, 00 to
  68 in the 21st.
"""

import datetime
import functools
import json
import random
from collections.abc import Iterator
from pathlib import Path

from zoo.checks import need_packages, one_of
from zoo.data.generated.scenes import SPLITS
from zoo.data.text_sets import Pairs

FIRST, LAST = datetime.date(1900, 1, 1), datetime.date(2099, 12, 31)
TARGET, ALL = "zxx", "mul"  # ISO 639's "no linguistic content", "multiple languages"
# Language -> patterns of CLDR (unicode.org/reports/tr35), each as likely as the others.
# {th} is an ordinal's ending; what stands in single quotes is literal.
PATTERNS: dict[str, list[str]] = json.loads(
    Path(__file__).with_name("date_patterns.json").read_text(encoding="utf-8")
)
HELD_OUT = 600  # days each of valid and test, written in each language
TRAINING_PAIRS = 24_000
_CASES = (str, str, str, str, str.upper, str.lower)  # of six dates, one in each case


def date_pairs(source: str = ALL, target: str = TARGET, split: str = "train") -> Pairs:
    """Generates dates of one language, or of all, and the same in ISO 8601.

    The days are those of the years 1900 to 2099. No day of valid or test is in another
    split. These have each of 600 days in each language; train has 24,000 dates of all
    languages, or as many of them as are in the one asked for. One version of Babel
    gives the same dates again.

    Args:
        source: "mul" for all languages, or one of `PATTERNS`.
        target: "zxx", which stands for ISO 8601.
        split: "train", "valid" or "test".

    Returns:
        The dates.

    Raises:
        ValueError: for another language or split.
        ImportError: without Babel (extra `train`).

    Example:
        >>> pairs = date_pairs("fr", split="test")
        >>> len(pairs), pairs.targets[0]
        (600, '1960-12-21')
    """
    one_of("source", source, (ALL, *PATTERNS))
    one_of("target", target, (TARGET,))
    one_of("split", split, SPLITS)
    pairs = [
        (text, day.isoformat())
        for language, day, text in _generate(split)
        if source in (ALL, language)
    ]
    sources, targets = map(list, zip(*pairs, strict=True))
    return Pairs("dates", split, source, target, sources, targets)


def _generate(split: str) -> Iterator[tuple[str, datetime.date, str]]:
    """Yields the language, the day and the text of each date of a split."""
    rng = random.Random(f"dates {split}")
    days, languages = _days(split), list(PATTERNS)
    if split == "train":
        draw = range(TRAINING_PAIRS)
        dates = [(rng.choice(languages), rng.choice(days)) for _ in draw]
    else:
        dates = [(language, day) for day in days for language in languages]
    for language, day in dates:
        pattern = rng.choice(PATTERNS[language])
        yield language, day, rng.choice(_CASES)(write_date(day, pattern, language))


@functools.cache
def _days(split):
    days = [FIRST + datetime.timedelta(n) for n in range((LAST - FIRST).days + 1)]
    random.Random("days").shuffle(days)
    ends = {"test": (0, HELD_OUT), "valid": (HELD_OUT, 2 * HELD_OUT)}
    return days[slice(*ends.get(split, (2 * HELD_OUT, None)))]


def write_date(day: datetime.date, pattern: str, language: str) -> str:
    """Writes a date by a pattern of `PATTERNS`.

    A year that two digits would place in another century is written with four.

    Raises:
        ImportError: without Babel (extra `train`).

    Example:
        >>> write_date(datetime.date(1999, 5, 3), "EEEE d{th} MMMM y", "en-GB")
        'Monday 3rd May 1999'
    """
    need_packages("Writing dates", "train", "babel")
    from babel.dates import format_date

    if not 1969 <= day.year <= 2068:
        pattern = pattern.replace("yy", "y")
    ending = _ending(day.day, language)
    pattern = pattern.replace("{th}", f"'{ending}'" if ending else "")
    return format_date(day, pattern, locale=language.replace("-", "_"))


def _ending(day, language):
    """The ending of a day's ordinal: "rd" of 3rd; "" where it has none."""
    if language == "fr":
        return "er" if day == 1 else ""
    if day in (11, 12, 13):
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
