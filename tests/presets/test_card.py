import copy
import json

import pytest

from tests.presets_for_tests import FACTS, make_preset
from zoo.presets.card import PresetError, format_bytes, read_card, short_paper
from zoo.presets.pages import readme, write_card

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


def test_formats(tmp_path):
    counts = {0: "0 B", 999: "999 B", 1000: "1.0 kB", 7_712_000: "7.7 MB"}
    assert [format_bytes(count) for count in counts] == list(counts.values())
    for authors, text in {
        "Ada Lovelace, Alan Turing, Grace Hopper": "Lovelace et al. 2015",
        "Ada Lovelace": "Lovelace 2015",
    }.items():
        paper = {**FACTS["paper"], "authors": authors}
        assert short_paper(make_preset(tmp_path / authors, paper=paper)) == text
