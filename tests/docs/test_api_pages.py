"""The API pages list every public name, under its module, as what it is."""

import importlib
import inspect
import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.backend_free

PAGES = Path(__file__).resolve().parents[2] / "docs" / "api"
MODULES = sorted(page.stem for page in PAGES.glob("zoo*.md"))
ENTRY = re.compile(r"^\.\. auto(class|exception|function):: (\w+)$", re.MULTILINE)
SUMMARY = re.compile(r"^   (\w+)$", re.MULTILINE)


def public_names(name):
    module = importlib.import_module(name)
    if hasattr(module, "__all__"):
        names = set(module.__all__)
    else:
        members = inspect.getmembers(module, callable)
        names = {n for n, member in members if member.__module__.startswith(name)}
    return {n for n in names if not n.startswith("_") and callable(getattr(module, n))}


def kind(thing):
    if not inspect.isclass(thing):
        return "function"
    return "exception" if issubclass(thing, Exception) else "class"


def test_every_public_module_has_a_page():
    import zoo

    modules = {f"zoo.{n}" for n in zoo.__all__ if inspect.ismodule(getattr(zoo, n))}
    assert modules | {"zoo"} <= set(MODULES)
    index = (PAGES / "index.md").read_text("utf-8").split("{toctree}")[1]
    assert set(re.findall(r"^(zoo[\w.]*)$", index, re.MULTILINE)) == set(MODULES)


@pytest.mark.parametrize("name", MODULES)
def test_a_page_has_every_public_name(name):
    text = (PAGES / f"{name}.md").read_text("utf-8")
    entries = {entry: auto for auto, entry in ENTRY.findall(text)}
    module = importlib.import_module(name)
    assert set(entries) == public_names(name)
    assert sorted(SUMMARY.findall(text)) == sorted(entries)
    for entry, auto in entries.items():
        thing = getattr(module, entry)
        assert auto == kind(thing), entry
        assert inspect.getdoc(thing), entry
