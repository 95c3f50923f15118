"""Turns of phrase that `tools.site.style` finds in documents."""

import pytest

from tools.site.style import TICS, documents, find, main

pytestmark = pytest.mark.backend_free


def test_the_documents_are_found():
    assert len(documents()) > 40  # `make lint` checks them


@pytest.mark.parametrize(
    "text",
    [
        "It can't be told.",
        "Who needs the same sends that size.",
        "The runs lie far apart.",
        "That is mended.",
        "Aimed at were 1.2 ×.",
        "It tells the same of 994.",
        "luong has 41.0 BLEU.",
    ],
)
def test_a_tic_is_found(text, tmp_path, capsys):
    [(number, phrase, better), *_] = find(f"x\n{text}")
    assert number == 2 and phrase in text and better in TICS.values()
    path = tmp_path / "page.md"
    path.write_text(text)
    assert main([path]) == 1
    assert f"{path}:1: " in capsys.readouterr().out
