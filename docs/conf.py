"""The documentation site: `make docs` builds it into build/docs, offline."""

import importlib.metadata
import sys
from pathlib import Path

DOCS = Path(__file__).parent
ROOT = DOCS.parent
sys.path.insert(0, str(ROOT))

import zoo  # noqa: E402
from tools.site import code_links, docstrings, live, notebooks, pages  # noqa: E402

project = "attention-zoo"
author = "The zoo authors"
copyright = "The zoo authors"
version = release = zoo.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
]

# === Pages ===
exclude_patterns = [f"{pages.TABLES}/*"]  # included by the papers' pages
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
highlight_language = "none"  # an indented block is a terminal, a table or a drawing
nb_execution_mode = "cache"
nb_execution_cache_path = str(ROOT / "build" / "lessons")
nb_execution_timeout = 600
nb_execution_raise_on_error = True
nb_output_stderr = "remove"  # progress and start-up messages

# === The Chinese edition, in build/docs/zh ===
# Its catalogues are in docs/zh_CN. A paragraph whose English has changed since it was
# translated appears in English.
locale_dirs = ["."]
gettext_location = gettext_uuid = False

# === API reference ===
autodoc_default_options = {"members": True, "show-inheritance": True}
autodoc_member_order = "bysource"
autodoc_inherit_docstrings = False  # Keras documents Keras's methods
autodoc_preserve_defaults = True
autodoc_typehints_format = "short"
maximum_signature_line_length = 72
autosummary_generate = False
napoleon_numpy_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
napoleon_custom_sections = [("Call arguments", "params_style")]

# === Look ===
html_theme = "sphinx_book_theme"
html_title = "attention-zoo"
html_theme_options = {
    "home_page_in_toc": True,
    "navbar_persistent": [],  # the sidebar has the search
    "article_header_end": ["language.html", "article-header-buttons.html"],
    "show_toc_level": 2,
}
toc_object_entries_show_parents = "hide"
# One file, which draws formulas as SVG and needs no fonts: nothing is fetched.
templates_path = ["_templates"]
html_static_path = [
    str(file.locate())
    for file in importlib.metadata.files("sphinx-mathjax-offline")
    if file.name == "tex-svg.js"
]
html_static_path.append("site.css")
html_css_files = ["site.css"]
mathjax_path = "tex-svg.js"
mathjax3_config = {"options": {"enableMenu": False}}


def setup(app) -> None:
    """Connects what the site adds to Sphinx."""
    pages.write_cards(ROOT, DOCS)
    pages.write_tables(ROOT, DOCS)
    app.add_directive("summary", docstrings.Summary)
    app.connect("autodoc-process-docstring", docstrings.process, priority=400)
    app.connect("autodoc-process-signature", docstrings.sign)
    app.connect("doctree-resolved", code_links.link_code)
    app.connect("html-page-context", notebooks.offer)
    app.connect("html-page-context", live.embed)
    app.connect("viewcode-follow-imported", _drop_source_links)
    app.connect("source-read", _lead_links)
    app.connect("include-read", _lead_links_of_included)


def _drop_source_links(app, module, name):
    """Drops a source link whose back link would lead to another page.

    viewcode leads back to one page of a file, the first that shows something of it.
    """
    shown_elsewhere = {("zoo.serving.runtime", "load")}
    return module if module == "zoo" or (module, name) in shown_elsewhere else None


def _lead_links(app, name, source):
    card = name.removeprefix(f"{pages.CARDS}/")
    file = f"savedmodels/{card}/README.md" if card != name else f"docs/{name}.md"
    source[0] = pages.rewrite_links(source[0], file, f"{name}.md")


def _lead_links_of_included(app, path, _, source):
    name = app.env.current_document.docname  # MyST gives no folder
    file = Path(DOCS, path).resolve().relative_to(ROOT).as_posix()
    source[0] = pages.rewrite_links(source[0], file, f"{name}.md")
