"""Pages made from cards, and uploads with them."""

import dataclasses
import json
import types
from pathlib import Path

import huggingface_hub
import pytest

from tests.presets_for_tests import make_preset
from zoo.presets import upload
from zoo.presets.card import read_card
from zoo.presets.pages import readme

pytestmark = pytest.mark.backend_free


def test_control_characters_reach_no_terminal(tmp_path):
    """Those of a user's text must not end a run after its training, either."""
    example = {"source": "it\x92s \udcff", "reference": "\t", "output": "\x1b[2J"}
    card = make_preset(tmp_path, examples=[example], title="\x1b]0;mine\x07")
    assert read_card(tmp_path).title == "\x1b]0;mine\x07"
    assert not {*"\x1b\x07\x92\udcff"} & {*readme(card)}


def front_and_body(text):
    _, front, body = text.split("---\n", 2)
    fields = dict(line.split(": ", 1) for line in front.splitlines())
    return {key: json.loads(value) for key, value in fields.items()}, body


def test_readme_has_front_matter_and_what_the_card_says(tmp_path):
    text = readme(make_preset(tmp_path))
    assert (tmp_path / "README.md").read_text() == text
    front, body = front_and_body(text)
    assert front == {
        "library_name": "keras-hub",
        "license": "apache-2.0",
        "language": ["en", "de"],
        "pipeline_tag": "translation",
        "tags": ["keras", "attention", "seq2seq", "translation"],
        "datasets": ["multi30k"],
        "metrics": ["bleu"],
    }
    for part in (
        "# Tiny translator, English to German",
        "[On Tiny Translators](https://example.org/tiny)",
        'zoo.load("tiny")',
        "- Has no weights.",
        "- multi30k: research use",
        "zoo train tiny --scale tiny",
        "Equations: Equation 1.",
        "| A dog \\| runs | Ein Hund | &lt;unk> |",
        '"hidden_dim": 8',
        "Speed: 52 sentences/s, 2 CPU cores: `python -m tools.presets.measure tiny`",
        "| 12.35 | `nrefs:1\\|case:mixed",
    ):
        assert part in body


def test_page_of_a_hub_has_its_own_handle(tmp_path):
    card = make_preset(tmp_path, languages=["mul", "zxx"])  # the example is a date
    text = readme(card, "hf://ada/tiny")
    assert 'zoo.load("hf://ada/tiny")' in text
    assert 'print(model.translate("Monday, 3 May 1999"))' in text
    assert text.replace("hf://ada/tiny", "tiny") == readme(card)


@pytest.mark.parametrize(
    "languages, example", [([], "A dog runs."), (["de", "en"], "Ein Hund rennt.")]
)
def test_the_example_is_in_the_language_of_the_source(tmp_path, languages, example):
    card = make_preset(tmp_path, languages=languages)
    assert f'"{example}"' in readme(card)
    assert example not in readme(dataclasses.replace(card, task="generate"))


def test_malformed_handles_get_no_upload(tmp_path):
    make_preset(tmp_path / "tiny")
    for handle in ("hf://ada", "ada/tiny", "kaggle://a/b/keras/c"):
        with pytest.raises(ValueError, match="must be hf://user/name, received"):
            upload(tmp_path / "tiny", handle)


def test_a_preset_and_its_page_are_one_commit(tmp_path, monkeypatch):
    card = make_preset(tmp_path / "tiny")
    (tmp_path / "tiny" / "notes.txt").write_text("mine")
    calls = []

    class Api:
        def create_repo(self, name, private, exist_ok):
            calls.append((name, private))

        def upload_folder(self, repo_id, folder_path, **options):
            files = [p for p in Path(folder_path).rglob("*") if p.is_file()]
            content = {
                p.relative_to(folder_path).as_posix(): p.read_bytes() for p in files
            }
            calls.append((repo_id, content, options))
            return types.SimpleNamespace(commit_url="address")

    monkeypatch.setattr(huggingface_hub, "HfApi", Api)
    assert upload(tmp_path / "tiny", "hf://ada/tiny", private=True) == "address"
    created, (name, files, options) = calls
    assert created == ("ada/tiny", True) and name == "ada/tiny"
    assert 'zoo.load("hf://ada/tiny")' in files.pop("README.md").decode()
    names = ["card.json", *card.files]
    assert files == {name: (tmp_path / "tiny" / name).read_bytes() for name in names}
    # What an earlier version had beside them is deleted.
    assert options["delete_patterns"] == ["*.json", "*.h5", "assets/*"]
