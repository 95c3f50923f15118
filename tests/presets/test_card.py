import copy
import json

import pytest

from tests.presets_for_tests import FACTS, make_preset
from zoo.presets.card import (
    MAY_BE_MISSING,
    PresetError,
    format_bytes,
    format_scores,
    format_speed,
    read_card,
    short_paper,
)
from zoo.presets.pages import presets_table, readme, replace_table, write_card

pytestmark = pytest.mark.backend_free


def change(folder, **facts):
    path = folder / "card.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **facts}))


def refused(folder, match, **facts):
    """A card with these facts is refused with a message."""
    make_preset(folder)
    change(folder, **facts)
    with pytest.raises(PresetError, match=match):
        read_card(folder)


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
        (without("examples", "output"), "examples.*output"),
        (without("speed", "unit"), "speed.*unit"),
        ({"scores": [12.5]}, "scores"),
        ({"paper": {}}, "'paper' should have title"),
        *(
            ({"name": name}, "'name' should be letters")
            for name in ("../../escaped", "/etc", "a/b", "..", ".x", "a b", "")
        ),
    ],
)
def test_what_is_missing_or_out_of_place_is_refused(tmp_path, facts, message):
    refused(tmp_path, message, **facts)


def test_card_of_an_earlier_version_is_read(tmp_path):
    """Before 2026-11-22 cards had neither examples nor a speed."""
    make_preset(tmp_path)
    path = tmp_path / "card.json"
    facts = json.loads(path.read_text())
    for field in MAY_BE_MISSING:
        del facts[field]
    path.write_text(json.dumps(facts))
    card = read_card(tmp_path)
    assert (card.equations, card.configuration) == ("", {})
    assert (card.examples, card.speed, format_speed(card)) == ([], {}, "-")
    text = readme(card)
    for heading in ("Equations", "Bad output", "```json", "Speed"):
        assert heading not in text


def test_card_of_a_newer_version_is_read(tmp_path):
    make_preset(tmp_path)
    change(tmp_path, colour="blue")
    assert read_card(tmp_path).name == "tiny"


def test_unknown_fact_is_refused_when_writing(tmp_path):
    with pytest.raises(PresetError, match="wekanesses"):
        write_card(tmp_path, {**FACTS, "wekanesses": []})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("title", "\x1b]0;mine\x07"),
        ("weaknesses", ["none", "a\rb"]),
        ("paper", {**FACTS["paper"], "authors": "\x9b31m"}),
        ("examples", [{"source": "\0", "reference": "", "output": ""}]),
        ("configuration", {"\x1b[2J": 1}),
    ],
)
def test_control_characters_reach_no_terminal(tmp_path, field, value):
    refused(tmp_path, f"'{field}' should hold no control char", **{field: value})


@pytest.mark.parametrize("character", "\0\x0b\x0c\r\x1b\x7f\x85\x92\x93\udcff")
def test_written_cards_spell_out_control_characters(tmp_path, character):
    """Those of a user's text or file names must not end a run after its training."""
    example = {"source": f"it{character}s", "reference": "\t", "output": "\n"}
    data = [{"name": f"my{character}.en", "terms": "none"}]
    make_preset(tmp_path, examples=[example], data=data)
    card = read_card(tmp_path)
    spelled = character.encode("unicode_escape").decode()
    assert card.examples == [{**example, "source": f"it{spelled}s"}]
    assert card.data[0]["name"] == f"my{spelled}.en"


@pytest.mark.parametrize("content", ["", "{", "[]", "3"])
def test_what_is_no_card_is_refused_by_name(tmp_path, content):
    (tmp_path / "card.json").write_text(content)
    with pytest.raises(PresetError, match="card.json"):
        read_card(tmp_path)


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
    metrics = {"exact": "exact_match", "exact de": "exact_match", "true x": "accuracy"}
    parts = [{**score, "data": "dates", "metric": metric} for metric in metrics]
    languages = ["mul", "zxx"]  # the example is a date
    card = make_preset(tmp_path, scores=[score, *parts], languages=languages)
    front, body = front_and_body(readme(card, "hf://ada/tiny"))
    assert front["datasets"] == ["bentrevett/multi30k"]
    assert front["metrics"] == ["accuracy", "bleu", "exact_match"]
    how = {key: score[key] for key in ("signature", "command")}
    flickr, dates = front["model-index"][0].pop("results")
    assert front["model-index"] == [{"name": "tiny"}]
    assert flickr == {
        "task": {"type": "translation", "name": "translate mul-zxx"},
        "dataset": {
            "type": "bentrevett/multi30k",
            "name": "multi30k test_2016_flickr",
            "split": "test_2016_flickr",
        },
        "metrics": [{"type": "bleu", "name": "BLEU", "value": 12.345, "args": how}],
    }
    assert {m["name"]: m["type"] for m in dates["metrics"]} == metrics
    assert 'zoo.load("hf://ada/tiny")' in body
    assert 'print(model.translate("Monday, 3 May 1999"))' in body
    assert body.replace("hf://ada/tiny", "tiny") == front_and_body(readme(card))[1]


@pytest.mark.parametrize("old", ["\nold\n", "old", "\r\nold\r\n", ""])
def test_table_is_put_between_the_markers(tmp_path, old):
    card = make_preset(tmp_path)
    page = f"before\n<!-- presets:start -->{old}<!-- presets:end -->\nafter\n"
    new = replace_table(page, [card])
    assert new.startswith("before\n<!-- presets:start -->\n| preset |")
    assert new.endswith(" |\n<!-- presets:end -->\nafter\n")
    assert "old" not in new
    assert "Lovelace & Turing 2015" in new and "1.2 M" in new
    assert replace_table(new, [card]) == new
    assert presets_table([card, card]).count("savedmodels/tiny") == 2


def test_table_needs_its_markers():
    with pytest.raises(ValueError, match="presets:start"):
        replace_table("no markers", [])


@pytest.mark.parametrize(
    "count, text",
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (7_712_000, "7.7 MB")],
)
def test_format_bytes(count, text):
    assert format_bytes(count) == text


def test_scores_and_paper_on_one_line(tmp_path):
    chrf = {**FACTS["scores"][0], "metric": "chrF", "value": 40.0}
    valid = {**chrf, "split": "valid"}
    card = make_preset(tmp_path, scores=[*FACTS["scores"], chrf, valid])
    assert format_scores(card) == (
        "BLEU 12.3, chrF 40.0 (multi30k test_2016_flickr); chrF 40.0 (multi30k valid)"
    )
    assert short_paper(card) == "Lovelace & Turing 2015"
    several = {**card.paper, "authors": "Ada Lovelace, Alan Turing, Grace Hopper"}
    assert short_paper(make_preset(tmp_path / "b", paper=several)) == (
        "Lovelace et al. 2015"
    )
    alone = {**card.paper, "authors": "Ada Lovelace"}
    assert short_paper(make_preset(tmp_path / "c", paper=alone)) == "Lovelace 2015"
