"""Writes the card of a preset, its README.md and the table of docs/presets.md.

    python -m tools.presets.card savedmodels/NAME --facts facts.json
    python -m tools.presets.card savedmodels/NAME     # measure the files again

`facts.json` holds one entry per attribute of `zoo.presets.card.Card` except "files".
The tests fail where one of the three is stale.
"""

import argparse
import json
import sys
from pathlib import Path

from tools import ROOT, markdown
from zoo.presets.card import (
    PresetError,
    format_bytes,
    format_task,
    list_files,
    read_card,
    short_paper,
)
from zoo.presets.pages import README_FILE, format_speed, readme, write_card

PRESETS_PAGE = "docs/presets.md"
TABLE_START = "<!-- presets:start -->"
TABLE_END = "<!-- presets:end -->"


def main(argv=None, root=ROOT):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="the preset's folder")
    parser.add_argument("--facts", type=Path, help="default: those of its card.json")
    arguments = parser.parse_args(argv)
    folder, file = arguments.folder, arguments.facts
    try:
        if file is None:
            facts = read_card(folder).to_dict()
        else:
            facts = json.loads(file.read_text(encoding="utf-8"))
        write(folder, facts, root)
    except (PresetError, OSError) as error:
        print(f"card: error: {error}", file=sys.stderr)
        return 1
    return 0


def write(folder, facts, root):
    """Writes the card and README.md of a preset, and the table of presets."""
    card = write_card(folder, {k: v for k, v in facts.items() if k != "files"})
    print(f"{folder}: {len(card.files)} files, {card.bytes:,} bytes")
    page = root / PRESETS_PAGE
    page.write_text(presets_page(root), encoding="utf-8", newline="\n")


def check(root):
    """Returns what is stale: a list of descriptions, empty if all is up to date."""
    stale = []
    for card in cards(root):
        folder = root / "savedmodels" / card.name
        if not folder.is_dir():
            stale.append(f"the name {card.name!r}, which is not that of its folder")
            continue
        if card.files != list_files(folder):
            stale.append(f"the list of files in {folder / 'card.json'}")
        page = folder / README_FILE
        if not page.is_file() or page.read_text(encoding="utf-8") != readme(card):
            stale.append(str(page))
    page = root / PRESETS_PAGE
    if page.read_text(encoding="utf-8") != presets_page(root):
        stale.append(f"the table of presets in {page}")
    return stale


def presets_page(root):
    """Returns docs/presets.md with the table for the presets there are."""
    text = (root / PRESETS_PAGE).read_text(encoding="utf-8")
    return replace_table(text, cards(root))


def cards(root):
    """Returns the cards of the presets in `root/savedmodels`, sorted by folder."""
    folders = sorted((root / "savedmodels").glob("*/card.json"))
    return [read_card(path.parent) for path in folders]


def presets_table(cards, root=".."):
    """Returns a table of presets as Markdown.

    Args:
        cards: the presets.
        root: relative path of the repository from the page's folder, for its links.
    """
    heads = "preset|paper|task|size|licence|scores|CPU speed".split("|")
    rows = [
        (
            f"[`{card.name}`]({root}/savedmodels/{card.name})",
            f"[{short_paper(card)}]({card.paper['url']})",
            format_task(card),
            format_bytes(card.bytes),
            card.license,
            _scores(card),
            format_speed(card),
        )
        for card in cards
    ]
    return markdown.table(heads, rows, numbers_from=None)


def _scores(card):
    """Formats the first score on each test set: "BLEU 38.1 (multi30k)"."""
    scores = (score for score in reversed(card.scores) if score["split"] != "valid")
    first = {score["data"]: score for score in scores}
    return ", ".join(
        f"{score['metric']} {score['value']:.1f} ({data})"
        for data, score in reversed(first.items())
    )


def replace_table(text, cards):
    """Replaces the table of presets between the markers of a page in docs/."""
    before, _, rest = text.partition(TABLE_START)
    _, end, after = rest.partition(TABLE_END)
    if not end:
        raise ValueError(f"the page needs {TABLE_START} and {TABLE_END}")
    return f"{before}{TABLE_START}\n{presets_table(cards)}\n{TABLE_END}{after}"


if __name__ == "__main__":
    sys.exit(main())
