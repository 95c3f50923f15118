"""Each lesson becomes an .ipynb file with the cells of its Markdown."""

import importlib.metadata
import os
import re

import nbformat
import pytest
from IPython.core.inputtransformer2 import TransformerManager

from tools import ROOT
from tools.site.notebooks import INSTALL, convert

pytestmark = pytest.mark.backend_free

LESSONS = sorted((ROOT / "docs" / "lessons").glob("[0-9]*.md"))
# Markdown, then perhaps a code cell, until the end of the text.
PART = re.compile(
    r"(.*?)(?:^```\{code-cell\} ipython3\n(?::tags: \[(.*?)\]\n\n?)?(.*?)^```$|\Z)",
    re.DOTALL | re.MULTILINE,
)


def cells(text):
    """The cells of a lesson by a reading of its own: kind, source, tags."""
    _, _, body = text.split("---\n", 2)
    for markdown, tags, code in PART.findall(body):
        if markdown.strip():
            yield "markdown", markdown.strip(), []
        if code:
            yield "code", code.strip(), tags.split(", ") if tags else []


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_the_cells_are_those_of_the_lesson(path):
    text = path.read_text("utf-8")
    # As a program reads the file.
    notebook = nbformat.reads(nbformat.writes(convert(text)), as_version=4)
    nbformat.validate(notebook)
    install, *others = notebook.cells
    assert install.source == INSTALL
    found = [(c.cell_type, c.source, c.metadata.get("tags", [])) for c in others]
    assert found == list(cells(text))
    assert len(found) > 10
    assert notebook.metadata.kernelspec.name == "python3"
    assert convert(text) == convert(text)


def test_answers_are_folded():
    text = LESSONS[0].read_text("utf-8")
    folded = [
        cell.metadata.get("jupyter", {}).get("source_hidden", False)
        for cell in convert(text).cells[1:]
    ]
    assert folded == [bool(tags) for _, _, tags in cells(text)]
    assert 1 < sum(folded) < len(folded)


@pytest.mark.parametrize("installed", [True, False])
@pytest.mark.parametrize("chosen", [None, "tensorflow"])
def test_the_package_is_installed_where_it_is_missing(installed, chosen, monkeypatch):
    def version(name):
        assert name == "attention-zoo"
        if not installed:
            raise importlib.metadata.PackageNotFoundError(name)

    class Shell:
        def run_line_magic(self, name, line):
            called.append((name, line.format(**scope)))  # as IPython fills braces

    called, scope = [], {"get_ipython": Shell}
    monkeypatch.setattr(importlib.metadata, "version", version)
    monkeypatch.delenv("KERAS_BACKEND", raising=False)
    if chosen:
        monkeypatch.setenv("KERAS_BACKEND", chosen)
    exec(TransformerManager().transform_cell(INSTALL), scope)
    command = ("pip", 'install --quiet "attention-zoo[train,plot,jax]"')
    assert called == ([] if installed else [command])
    assert os.environ["KERAS_BACKEND"] == (chosen or "jax")
