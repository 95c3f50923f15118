"""The Python examples of the README and of the pages run as they stand."""

import re
from pathlib import Path

import keras_hub
import pytest

pytestmark = pytest.mark.once

ROOT = Path(__file__).resolve().parent.parent


def examples(page):
    text = (ROOT / page).read_text("utf-8")
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


PAGES = ("README.md", "docs/translate.md", "docs/building_blocks.md")
EXAMPLES = [
    pytest.param(text, id=f"{Path(page).stem}-{number}")
    for page in PAGES
    for number, text in enumerate(examples(page), start=1)
]


@pytest.mark.parametrize("text", EXAMPLES)
def test_example(text, capsys):
    exec(compile(text, "example", "exec"), {})
    # What an example says that it prints, it prints.
    printed = capsys.readouterr().out
    for wanted in re.findall(r"print\(.*\)  # (.*)", text):
        assert wanted in printed


@pytest.mark.parametrize("page", PAGES)
def test_there_are_examples(page):
    assert len(examples(page)) >= 3


def test_the_examples_of_own_data_run_one_after_the_other(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    published = []
    monkeypatch.setattr(
        keras_hub, "upload_preset", lambda *given: published.append(given)
    )
    scope = {}
    for text in examples("docs/own_data.md"):
        exec(compile(text, "docs/own_data.md", "exec"), scope)
    assert published == [("hf://you/formal", "formal")]
    assert (tmp_path / "formal" / "task.json").is_file()
    assert (tmp_path / "formal.lora.h5").is_file()
