import json

import pytest

from tests.presets_for_tests import FACTS, make_preset
from tools import ROOT
from tools.presets import card

pytestmark = pytest.mark.backend_free


@pytest.fixture
def project(tmp_path):
    """A project with one preset whose card is up to date."""
    make_preset(tmp_path / "savedmodels" / "tiny")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/presets.md").write_text(
        "# Presets\n<!-- presets:start -->\n<!-- presets:end -->\n"
    )
    assert card.main([str(tmp_path / "savedmodels/tiny")], tmp_path) == 0
    return tmp_path


def test_this_project_is_up_to_date():
    assert card.check(ROOT) == []


def test_written_card_is_up_to_date(project):
    assert card.check(project) == []
    assert "savedmodels/tiny" in (project / "docs/presets.md").read_text()


@pytest.mark.parametrize(
    "path, what",
    [
        ("docs/presets.md", "table of presets"),
        ("savedmodels/tiny/README.md", "savedmodels/tiny/README.md"),
        ("savedmodels/tiny/model.weights.h5", "list of files"),
    ],
)
def test_what_is_stale_is_written_again(project, path, what):
    content = (project / path).read_bytes()
    altered = (
        content + b"\x00" if path.endswith(".h5") else content.replace(b"tiny", b"")
    )
    (project / path).write_bytes(altered)
    [stale] = card.check(project)
    assert what in stale
    assert card.main([str(project / "savedmodels/tiny")], project) == 0
    assert card.check(project) == []


def test_another_preset_or_name_makes_the_project_stale(project):
    make_preset(project / "savedmodels" / "other", name="other")
    [stale] = card.check(project)
    assert "table of presets" in stale
    (project / "savedmodels/tiny").rename(project / "savedmodels/small")
    assert "'tiny'" in card.check(project)[0]


def test_facts_replace_the_card(project, tmp_path):
    facts = tmp_path / "facts.json"
    facts.write_text(json.dumps({**FACTS, "seed": 99}))
    arguments = [str(project / "savedmodels/tiny"), "--facts", str(facts)]
    assert card.main(arguments, project) == 0
    assert json.loads((project / "savedmodels/tiny/card.json").read_text())["seed"] == (
        99
    )


def test_table_is_put_between_the_markers(tmp_path):
    chrf = {**FACTS["scores"][0], "metric": "chrF", "value": 40.0}
    valid = {**chrf, "split": "valid"}
    tiny = make_preset(tmp_path, scores=[*FACTS["scores"], chrf, valid])
    page = "before\n<!-- presets:start -->\nold\n<!-- presets:end -->\nafter\n"
    new = card.replace_table(page, [tiny])
    assert new.startswith("before\n<!-- presets:start -->\n| preset |")
    assert new.endswith(" |\n<!-- presets:end -->\nafter\n") and "old" not in new
    for part in ("Lovelace & Turing 2015", "| BLEU 12.3 (multi30k) |"):
        assert part in new
    assert card.replace_table(new, [tiny]) == new
    with pytest.raises(ValueError, match="presets:start"):
        card.replace_table("no markers", [])
