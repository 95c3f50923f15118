"""The README's Python examples run as they stand."""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.once

README = Path(__file__).resolve().parent.parent / "README.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", README.read_text("utf-8"), re.DOTALL)


def test_there_are_examples():
    assert len(EXAMPLES) >= 5


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_example(number, capsys):
    exec(compile(EXAMPLES[number], f"README example {number + 1}", "exec"), {})
    # What an example says that it prints, it prints.
    printed = capsys.readouterr().out
    for wanted in re.findall(r"print\(.*\)  # (.*)", EXAMPLES[number]):
        assert wanted in printed
