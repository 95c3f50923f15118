import json
import re
from pathlib import Path

import pytest

from tools import ROOT
from tools.site.pages import TABLES, rewrite_links, write_cards, write_tables

pytestmark = pytest.mark.backend_free


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("[a](docs/papers.md#b)", "[a](papers.md#b)"),
        ("[`a`](savedmodels/lstm), [b](CHANGELOG.md)", None),
        ("![a](docs/multi30k/b.svg)", "![a](multi30k/b.svg)"),
        ("see [the examples](deploy).", "see the examples."),
        ("[a](https://b.org/c.md) [d](#e)", "[a](https://b.org/c.md) [d](#e)"),
        ("`[a](deploy)`", "`[a](deploy)`"),
        ("```\n[a](deploy)\n```\n[a](deploy)", "```\n[a](deploy)\n```\na"),
        ("x\n\n    [a](deploy)\n", "x\n\n    [a](deploy)\n"),
    ],
)
def test_links_of_the_readme(given, wanted):
    wanted = wanted or "[`a`](generated/cards/lstm.md), [b](changes.md)"
    assert rewrite_links(given, "README.md", "index.md") == wanted


def test_links_from_and_to_folders_of_docs():
    text = "[a](../papers.md) [b](../../README.md) [c](../../savedmodels/lstm)"
    wanted = "[a](../papers.md) [b](../index.md) [c](../generated/cards/lstm.md)"
    assert rewrite_links(text, "docs/lessons/x.md", "lessons/x.md") == wanted


def test_cards_are_written_anew_and_without_front_matter(tmp_path):
    stale = tmp_path / "generated/cards/gone.md"
    stale.parent.mkdir(parents=True)
    stale.write_text("stale", "utf-8")
    write_cards(ROOT, tmp_path)
    presets = {
        path.parent.name for path in Path(ROOT, "savedmodels").glob("*/card.json")
    }
    assert {path.stem for path in stale.parent.iterdir()} == presets
    text = (stale.parent / "luong_local.md").read_text("utf-8")
    card = json.loads(
        Path(ROOT, "savedmodels/luong_local/card.json").read_text("utf-8")
    )
    assert text.lstrip().startswith(f"# luong_local\n\n*{card['title']}*\n")
    assert card["scores"][0]["command"] in text


def test_each_paper_has_a_table_of_its_presets_whose_links_lead_to_cards(tmp_path):
    write_tables(ROOT, tmp_path)
    [text] = [path.read_text("utf-8") for path in tmp_path.glob(f"{TABLES}/cho-et*")]
    linked = rewrite_links(text, f"docs/{TABLES}/cho.md", f"{TABLES}/cho.md")
    assert "[`gru`](../cards/gru.md)" in linked
    assert "[`rnn_encoder_decoder`](../cards/rnn_encoder_decoder.md)" in linked
    assert len(linked.splitlines()) == 4
    tables = {path.stem for path in Path(tmp_path, TABLES).iterdir()}
    pages = Path(ROOT, "docs/papers").glob("*.md")
    included = re.findall(r"presets/(.*)\.md", "".join(p.read_text() for p in pages))
    assert sorted(included) == sorted(tables)
