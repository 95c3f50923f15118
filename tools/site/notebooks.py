"""The lessons as .ipynb files, which the site's download button offers."""

from pathlib import Path

import nbformat
from myst_nb.core.read import is_myst_markdown_notebook, read_myst_markdown_notebook

INSTALL = """\
# Installs attention-zoo if it isn't installed (as on Colab).
SOURCE = "attention-zoo[train,plot,jax]"  # or "… @ git+https://…", or a wheel's path

import importlib.metadata
import os

os.environ.setdefault("KERAS_BACKEND", "jax")
try:
    importlib.metadata.version("attention-zoo")
except importlib.metadata.PackageNotFoundError:
    %pip install --quiet "{SOURCE}"\
"""


def convert(text):
    """Returns a MyST notebook as an `nbformat` notebook without outputs.

    Its first cell installs the package; the others are those of the text. What the
    site folds or leaves out, as the answers, is folded in Jupyter.
    """
    notebook = read_myst_markdown_notebook(text)
    del notebook.metadata["jupytext"]  # that of the text
    for cell in notebook.cells:
        if {"hide-cell", "remove-cell"} & set(cell.metadata.get("tags", ())):
            cell.metadata["jupyter"] = {"source_hidden": True}
    notebook.cells.insert(0, nbformat.v4.new_code_cell(INSTALL))
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number}"  # the same in every build
    nbformat.validate(notebook)
    return notebook


def offer(app, pagename, templatename, context, doctree):
    """Writes a lesson's notebook beside its source, where the theme links to it."""
    if doctree is None or not pagename.startswith("lessons/"):
        return
    text = Path(app.env.doc2path(pagename)).read_text("utf-8")
    if is_myst_markdown_notebook(text):
        context["ipynb_source"] = f"{pagename}.ipynb"
        path = Path(app.outdir, "_sources", context["ipynb_source"])
        path.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(convert(text), path)
