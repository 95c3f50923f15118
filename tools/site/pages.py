"""Pages of the site that the repository keeps elsewhere, and the links between them.

The repository's documents link to files, as a forge shows them. `rewrite_links` turns
such a link into one to the site's page of that file.
"""

import posixpath
import re
import shutil
from pathlib import Path

from tools.presets.card import cards, presets_table
from zoo.presets.card import short_paper
from zoo.presets.pages import readme

# Where the site has files that are not in docs/, relative to docs/.
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changes.md",
}
CARDS = "generated/cards"
TABLES = "generated/presets"

_LINK_OR_CODE = re.compile(
    r"(?P<image>!?)\[(?P<label>[^\]\n]*)\]\((?P<target>[^)\s]+)\)"
    r"|^```.*?^```|^    [^\n]*|`[^`\n]+`",
    re.DOTALL | re.MULTILINE,
)


def write_cards(root, docs):
    """Writes a page for each preset's card into `docs/generated/cards`.

    They are the preset folders' README.md, made from card.json, without the front
    matter that is for Hugging Face.
    """
    folder = _empty(Path(docs, CARDS))
    for card in cards(root):
        _, _, text = readme(card).split("---\n", 2)
        # The name is how a reader knows the preset; its title is a sentence.
        text = text.replace(f"# {card.title}", f"# {card.name}\n\n*{card.title}*", 1)
        Path(folder, f"{card.name}.md").write_text(text, encoding="utf-8")


def write_tables(root, docs):
    """Writes the table of each paper's presets into `docs/generated/presets`.

    The page of the paper includes it: bahdanau-et-al-2015.md and so on.
    """
    folder, papers = _empty(Path(docs, TABLES)), {}
    for card in cards(root):
        papers.setdefault(short_paper(card), []).append(card)
    for paper, several in papers.items():
        slug = re.sub(r"\W+", "-", paper).strip("-").lower()
        text = presets_table(several, posixpath.relpath(".", f"docs/{TABLES}"))
        Path(folder, f"{slug}.md").write_text(f"{text}\n", encoding="utf-8")


def _empty(folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def rewrite_links(text, file, page):
    """Returns Markdown with its links to the repository's files led to pages.

    Args:
        text: the Markdown.
        file: the file that it stands in, relative to the repository's root.
        page: the page of docs/ that shows it.

    A link to what the site doesn't have, as a folder of code, becomes its text.

    Example:
        >>> rewrite_links("[Luong](savedmodels/luong_dot)", "README.md", "index.md")
        '[Luong](generated/cards/luong_dot.md)'
        >>> rewrite_links("[examples](deploy)", "README.md", "index.md")
        'examples'
    """

    def rewrite(match):
        image, label, target = match.group("image", "label", "target")
        if target is None or re.match(r"\w+:|#", target):
            return match[0]
        path, hash_sign, anchor = target.partition("#")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(file), path))
        found = _page(path)
        if found is None:
            return label
        found = posixpath.relpath(found, posixpath.dirname(page) or ".")
        return f"{image}[{label}]({found}{hash_sign}{anchor})"

    return _LINK_OR_CODE.sub(rewrite, text)


def _page(path):
    """Returns the path, relative to docs/, of a file's page; None if it has none."""
    if path in PAGES:
        return PAGES[path]
    folder, _, name = path.partition("/")
    if folder == "savedmodels" and name:
        return f"{CARDS}/{name}.md"
    if folder == "docs":
        if not posixpath.splitext(name)[1]:
            raise ValueError(f"a link must lead to a page of docs/. Received: {path}")
        return name
    return None
