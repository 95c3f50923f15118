import copy
import json

import pytest

from tests.presets_for_tests import FACTS, make_preset
from zoo.presets.card import PresetError, format_bytes, read_card, short_paper
from zoo.presets.pages import readme, replace_table, write_card

pytestmark = pytest.mark.backend_free


def change(folder, **facts):
    path = folder / "card.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **facts}))


def test_card_is_read_as_it_was_written(tmp_path):
    written = make_preset(tmp_path)
    card = read_card(tmp_path)
    assert card == written
    assert {key: getattr(card, key) for key in FACTS} == FACTS


def test_files_are_what_loading_reads(tmp_path):
    make_preset(tmp_path)
    (tmp_path / "1" / "variables").mkdir(parents=True)
    (tmp_path / "1" / "saved_model.pb").write_bytes(b"an export")
    (tmp_path / "notes.txt").write_text("mine")
    card = write_card(tmp_path, FACTS)
    assert sorted(card.files) == [
        "assets/tokenizer/vocabulary.spm",
        "config.json",
        "model.weights.h5",
        "task.json",
    ]
    assert card.files["assets/tokenizer/vocabulary.spm"] == {
        "bytes": 6,
        # printf pieces | sha256sum
        "sha256": "b6aa423de4f79355751cdf73a26b069d5da4c248288cb8bdafc8f552f0adfc44",
    }
    assert card.bytes == sum(entry["bytes"] for entry in card.files.values()) > 2048


def without(field, key):
    """The record of a field, or a list of one, without a key."""
    record = copy.deepcopy(FACTS[field])
    del (record[0] if isinstance(record, list) else record)[key]
    return {field: record}


@pytest.mark.parametrize(
    "facts, message",
    [
        *(({field: None}, field) for field in FACTS),
        (without("paper", "url"), "paper.*url"),
        (without("sizes", "parameters"), "sizes.*parameters"),
        (without("scores", "signature"), "scores.*signature"),
        (without("speed", "unit"), "speed.*unit"),
        ({"scores": [12.5]}, "scores"),
        ({"paper": {}}, "'paper' should have title"),
        *(({"name": name}, "should be letters") for name in ("../x", "/etc", ".x", "")),
    ],
)
def test_what_is_missing_or_out_of_place_is_refused(tmp_path, facts, message):
    make_preset(tmp_path)
    change(tmp_path, **facts)
    with pytest.raises(PresetError, match=message):
        read_card(tmp_path)


def test_cards_of_other_versions_are_read(tmp_path):
    make_preset(tmp_path)
    path = tmp_path / "card.json"
    facts = json.loads(path.read_text())
    for field in ("equations", "configuration", "examples", "speed"):
        del facts[field]
    path.write_text(json.dumps({**facts, "colour": "blue"}))
    card = read_card(tmp_path)
    assert (card.equations, card.configuration) == ("", {})
    assert (card.examples, card.speed) == ([], {})
    text = readme(card)
    for heading in ("Equations", "Bad output", "```json", "Speed"):
        assert heading not in text
    with pytest.raises(PresetError, match="wekanesses"):
        write_card(tmp_path, {**FACTS, "wekanesses": []})


@pytest.mark.parametrize("content", ["", "{", "[]", "3", "{}"])
def test_what_is_no_card_is_refused_by_name(tmp_path, content):
    (tmp_path / "card.json").write_text(content)
    with pytest.raises(PresetError, match="card.json"):
        read_card(tmp_path)


def test_control_characters_reach_no_terminal(tmp_path):
    """Those of a user's text must not end a run after its training, either."""
    example = {"source": "it\x92s \udcff", "reference": "\t", "output": "\x1b[2J"}
    card = make_preset(tmp_path, examples=[example], title="\x1b]0;mine\x07")
    assert read_card(tmp_path).title == "\x1b]0;mine\x07"
    assert not {*"\x1b\x07\x92\udcff"} & {*readme(card)}


# === Pages ===


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


def test_page_of_a_hub_has_the_scores_and_its_own_handle(tmp_path):
    score = FACTS["scores"][0]
    card = make_preset(tmp_path, languages=["mul", "zxx"])  # the example is a date
    front, body = front_and_body(readme(card, "hf://ada/tiny"))
    how = {key: score[key] for key in ("signature", "command")}
    metric = {"type": "bleu", "name": "BLEU", "value": 12.345, "args": how}
    data = {"type": "multi30k", "name": "multi30k test_2016_flickr"}
    data["split"] = "test_2016_flickr"
    task = {"type": "translation", "name": "translate mul-zxx"}
    result = {"task": task, "dataset": data, "metrics": [metric]}
    assert front["model-index"] == [{"name": "tiny", "results": [result]}]
    assert 'zoo.load("hf://ada/tiny")' in body
    assert 'print(model.translate("Monday, 3 May 1999"))' in body
    assert body.replace("hf://ada/tiny", "tiny") == front_and_body(readme(card))[1]


def test_table_is_put_between_the_markers(tmp_path):
    chrf = {**FACTS["scores"][0], "metric": "chrF", "value": 40.0}
    valid = {**chrf, "split": "valid"}
    card = make_preset(tmp_path, scores=[*FACTS["scores"], chrf, valid])
    page = "before\n<!-- presets:start -->\nold\n<!-- presets:end -->\nafter\n"
    new = replace_table(page, [card])
    assert new.startswith("before\n<!-- presets:start -->\n| preset |")
    assert new.endswith(" |\n<!-- presets:end -->\nafter\n") and "old" not in new
    scores = "BLEU 12.3, chrF 40.0 (multi30k test_2016_flickr); chrF 40.0 (multi30k "
    for part in ("Lovelace & Turing 2015", "1.2 M", f"{scores}valid)"):
        assert part in new
    assert replace_table(new, [card]) == new
    with pytest.raises(ValueError, match="presets:start"):
        replace_table("no markers", [])


def test_formats(tmp_path):
    counts = {0: "0 B", 999: "999 B", 1000: "1.0 kB", 7_712_000: "7.7 MB"}
    assert [format_bytes(count) for count in counts] == list(counts.values())
    for authors, text in {
        "Ada Lovelace, Alan Turing, Grace Hopper": "Lovelace et al. 2015",
        "Ada Lovelace": "Lovelace 2015",
    }.items():
        paper = {**FACTS["paper"], "authors": authors}
        assert short_paper(make_preset(tmp_path / authors, paper=paper)) == text
