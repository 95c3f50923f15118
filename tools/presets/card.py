"""Writes the card of a preset, its README.md and the table of docs/presets.md.

    python -m tools.presets.card savedmodels/NAME --facts facts.json
    python -m tools.presets.card savedmodels/NAME     # measure the files again
    python -m tools.presets.card --check              # fail if anything is stale

`facts.json` holds one entry per attribute of `zoo.presets.card.Card` except "files".
"""

import argparse
import json
import sys
from pathlib import Path

from tools import ROOT
from zoo.presets.card import PresetError, list_files, read_card
from zoo.presets.pages import README_FILE, readme, replace_table, write_card

PRESETS_PAGE = "docs/presets.md"


def main(argv=None, root=ROOT):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, help="the preset's folder")
    parser.add_argument("--facts", type=Path, help="default: those of its card.json")
    parser.add_argument("--check", action="store_true", help="write nothing")
    arguments = parser.parse_args(argv)
    if (arguments.folder is None) != arguments.check:
        parser.error("give a preset's folder, or --check alone")
    try:
        if arguments.check:
            stale = check(root)
            for what in stale:
                print(f"stale: {what}", file=sys.stderr)
            return 1 if stale else 0
        write(arguments.folder, arguments.facts, root)
    except (PresetError, OSError) as error:
        print(f"card: error: {error}", file=sys.stderr)
        return 1
    return 0


def write(folder, facts, root):
    """Writes a preset's card and README.md, then the table of presets."""
    if facts:
        content = json.loads(facts.read_text(encoding="utf-8"))
    else:
        content = read_card(folder).to_dict()
    write_facts(folder, content, root)


def write_facts(folder, facts, root):
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


if __name__ == "__main__":
    sys.exit(main())
