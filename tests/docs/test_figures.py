"""Figures with an error that pages quote stand in docs/reproduction.md."""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.backend_free

DOCS = Path(__file__).resolve().parents[2] / "docs"
FIGURE = re.compile(r"([+-]?\d+\.\d+) ± (\d+\.\d+)( %)?")
PAGES = sorted({*DOCS.glob("lessons/*.md"), *DOCS.glob("papers/*.md")})


def quoted():
    for page in PAGES:
        for mean, error, percent in FIGURE.findall(page.read_text("utf-8")):
            yield page.name, mean, error, bool(percent)


def found(mean, error, percent, table):
    """Whether the study's table has it, as it is, unsigned, as a share or rounded."""
    for given, spread in table:
        if (given.lstrip("+-"), spread) == (mean.lstrip("+-"), error):
            return True
        scale, digits = 100 if percent else 1, len(mean.split(".")[1])
        numbers = (abs(float(given)) * scale, float(spread) * scale)
        if [f"{n:.{digits}f}" for n in numbers] == [mean.lstrip("+-"), error]:
            return True
    return False


def test_figures_are_those_of_the_study():
    text = (DOCS / "reproduction.md").read_text("utf-8")
    table = [match[:2] for match in FIGURE.findall(text)]
    figures = list(quoted())
    assert len(figures) > 10
    assert not [figure for figure in figures if not found(*figure[1:], table)]
