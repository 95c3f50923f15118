"""The description of bundled presets for the page."""

import json

import pytest

from tests.explorer.node import EXPLORER
from zoo.explorer.model_info import model_info
from zoo.presets import find, list_presets

pytestmark = pytest.mark.backend_free

CARDS = list_presets()
NAMES = [card.name for card in CARDS if card.task == "translate"]
# Keys of the equations that explorer/src/equations.ts draws.
EQUATIONS = {
    *("bahdanau", "luong_dot", "luong_general", "luong_concat", "luong_location"),
    *("luong_local_m", "luong_local", "lstmn", "transformer", "seq2seq"),
    *("rnn_encoder_decoder", "show_attend_tell", "show_attend_tell_hard"),
}


@pytest.mark.parametrize("name", NAMES)
def test_a_translator_has_its_paper_lesson_and_equation(name):
    info = model_info(find(name), name, "https://example.org/")
    assert info["name"] == name
    assert info["equation"] in EQUATIONS
    assert info["paper"].startswith("https://arxiv.org/abs/")
    for link, folder in ((info["page"], "papers"), (info["lesson"], "lessons")):
        page = link.removeprefix(f"https://example.org/{folder}/")
        source = EXPLORER.parent / "docs" / folder / page.replace(".html", ".md")
        assert source.is_file(), link
    assert (info["heads"] is not None) == (info["attention"] == "multi_head")
    assert (info["window"] is not None) == (info["attention"] == "local")
    json.dumps(info, allow_nan=False)


@pytest.mark.parametrize(
    ("name", "attention", "window", "heads", "feeding"),
    [
        ("luong_local", "local", 10, None, True),
        ("luong_concat", "global", None, None, True),
        ("transformer", "multi_head", None, [3, 4], False),
        ("seq2seq", "none", None, None, False),
        ("lstmn", "memory", None, None, False),
    ],
)
def test_what_can_be_drawn(name, attention, window, heads, feeding):
    info = model_info(find(name), name)
    names = ("attention", "window", "heads", "inputFeeding")
    assert [info[x] for x in names] == [attention, window, heads, feeding]
    assert (info["page"], info["lesson"]) == ("", None)


def test_of_another_class_nothing_is_known(tmp_path):
    config = {"class_name": "Mine", "config": {"hidden_dim": 4}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    info = model_info(tmp_path, "mine", "https://example.org")
    assert info["attention"] == "none" and info["equation"] == ""
    assert info["title"] == "mine" and info["languages"] is None
