"""docs/papers quotes lines that stand in the files that it names."""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.backend_free

ROOT = Path(__file__).parents[1]
PAGES = sorted(Path(ROOT, "docs", "papers").glob("*.md"))
PAGE = "\n".join(path.read_text(encoding="utf-8") for path in PAGES)
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for section in re.findall(r"## Equations and code\n(.*?)\n## ", PAGE, re.DOTALL)
    for line in section.splitlines()
    if line.startswith("| ") and not line.startswith(("| ---", "| equation"))
]


def squeezed(text):
    return re.sub(r"\s+|,(?=\s*[)\]}])", "", text)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_every_quoted_line_stands_in_its_file(row):
    assert len(row) == 3, "a cell with a bar in it"
    _, quoted, place = row
    lines = re.findall(r"`([^`]+)`", quoted)
    file = squeezed((ROOT / place.strip("`")).read_text(encoding="utf-8"))
    assert lines
    for line in lines:
        assert squeezed(line) in file, line


def test_every_model_and_recipe_has_its_section():
    from zoo.cli.train import recipes

    named = set(re.findall(r"`(\w+)`", PAGE))
    assert set(recipes()) <= named
