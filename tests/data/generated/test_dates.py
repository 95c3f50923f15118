import collections
import datetime
import sys

import pytest

from zoo.data.generated.dates import PATTERNS, date_pairs, write_date

pytest.importorskip("babel")  # of the extra `train`

pytestmark = pytest.mark.backend_free


@pytest.mark.parametrize(
    ("day", "pattern", "language", "text"),
    [
        ("1999-05-03", "'the' d{th} 'of' MMMM y", "en-GB", "the 3rd of May 1999"),
        ("1999-05-11", "MMMM d{th}, y", "en-US", "May 11th, 1999"),
        ("1999-05-22", "d{th} MMM y", "en-GB", "22nd May 1999"),
        ("1999-05-03", "EEEE, d. MMMM y", "de", "Montag, 3. Mai 1999"),
        ("1999-05-03", "d.M.yy", "de", "3.5.99"),
        ("1949-05-03", "d.M.yy", "de", "3.5.1949"),
        ("2069-05-03", "dd.MM.yy", "de", "03.05.2069"),
        ("2068-05-03", "dd.MM.yy", "de", "03.05.68"),
        ("1914-08-01", "d{th} MMMM y", "fr", "1er août 1914"),
        ("1914-08-02", "d{th} MMMM y", "fr", "2 août 1914"),
        ("1999-05-03", "d 'de' MMMM 'de' y", "es", "3 de mayo de 1999"),
    ],
)
def test_each_language_has_its_forms(day, pattern, language, text):
    assert pattern in PATTERNS[language]
    assert write_date(datetime.date.fromisoformat(day), pattern, language) == text


def test_no_day_is_in_two_splits():
    days = {split: set(date_pairs(split=split).targets) for split in SPLITS}
    assert len(days["test"]) == len(days["valid"]) == 600
    assert sum(map(len, days.values())) == len(set().union(*days.values()))
    for split, dates in days.items():
        assert min(dates)[:4] == "1900" and max(dates)[:4] == "2099", split


SPLITS = ("train", "valid", "test")


def test_no_text_is_two_dates():
    """Whatever its language and its case: no form is ambiguous."""
    meant = collections.defaultdict(set)
    for split in SPLITS:
        for text, day in date_pairs(split=split):
            meant[text.lower()].add(day)
    assert len(meant) > 25_000
    assert not {text: days for text, days in meant.items() if len(days) > 1}


def test_the_languages_are_parts_of_all():
    everything = date_pairs(split="test")
    parts = [date_pairs(language, split="test") for language in PATTERNS]
    assert sum(map(len, parts)) == len(everything) == 3000
    assert {pair for part in parts for pair in part} == set(everything)
    assert all(set(part.targets) == set(everything.targets) for part in parts)
    assert parts[0].source_language == "en-GB"


def test_all_forms_and_cases_come():
    sources = date_pairs().sources
    upper = sum(text.isupper() for text in sources)
    assert 0.1 < upper / len(sources) < 0.25
    for part in ("der ", "DEN ", "sept.", " of ", "1er ", "del ", "miércoles", "/"):
        assert any(part in text for text in sources), part


def test_it_is_repeatable():
    assert date_pairs(split="valid").sources == date_pairs(split="valid").sources


@pytest.mark.parametrize("wrong", [{"source": "it"}, {"target": "en"}, {"split": "x"}])
def test_others_are_refused(wrong):
    with pytest.raises(ValueError, match=f"`{[*wrong][0]}` must be one of"):
        date_pairs(**wrong)


def test_without_babel(monkeypatch):
    monkeypatch.setitem(sys.modules, "babel", None)
    with pytest.raises(ImportError, match=r"attention-zoo\[train\]"):
        date_pairs()
