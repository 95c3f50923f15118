import json
from pathlib import Path

import pytest

from tools import ROOT
from tools.site.pages import rewrite_links, write_cards

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
