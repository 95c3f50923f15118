"""docs/multi30k.md has the scores of the translations in docs/multi30k."""

import json
import os
from pathlib import Path

import pytest

import zoo
from zoo.analysis.evaluation import corpus_scores

pytestmark = pytest.mark.backend_free

DOCS = Path(__file__).parents[2] / "docs"
RECORDS = sorted((DOCS / "multi30k").glob("*.json"))


@pytest.mark.skipif(not os.environ.get("ZOO_DATA_DIR"), reason="no real corpora here")
@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_the_page_has_the_scores_of_the_kept_translations(path):
    told = json.loads(path.read_text("utf-8"))
    source, target = told["direction"].split("-")
    data = zoo.data.load("multi30k", source, target, split="test_2016_flickr")
    texts = path.with_suffix(".txt").read_text("utf-8").split("\n")[:-1]
    references = [several[:1] for several in data.references]
    lower = [[one.lower() for one in several] for several in references]
    scores = [
        corpus_scores(*pair)["bleu"]["score"]
        for pair in ((texts, references), ([text.lower() for text in texts], lower))
    ]
    page = (DOCS / "multi30k.md").read_text("utf-8")
    part = page.split(f"\n## {told['direction']}\n")[1].split("\n## ")[0]
    line = f"| `{told['name']}` | {told['parameters']:,} |"
    assert f"{line} {scores[0]:.2f} | {scores[1]:.2f} |" in part
