"""Packages of presets; building wheels needs an index, and is not tried here."""

import tomllib

import pytest

from tools import ROOT
from tools.presets.packages import write_project
from zoo.presets.registry import PACKAGES

pytestmark = pytest.mark.backend_free


def test_each_preset_is_in_a_wheel_or_in_one_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    patterns = project["tool"]["setuptools"]["package-data"]["zoo._presets"]
    names = [name for presets in PACKAGES.values() for name in presets.split()]
    names += {pattern.partition("/")[0] for pattern in patterns}
    folders = [card.parent.name for card in ROOT.glob("savedmodels/*/card.json")]
    assert sorted(names) == sorted(folders)
    assert project["project"]["optional-dependencies"]["presets"] == sorted(PACKAGES)


def test_a_package_is_its_presets_and_an_entry_point(tmp_path):
    write_project(tmp_path, "some-presets", ["dates", "birnn"])
    project = tomllib.loads((tmp_path / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["license"] == "apache-2.0 AND cc-by-sa-4.0"
    assert project["entry-points"]["zoo.presets"] == {"some-presets": "some_presets"}
    for preset in ("dates", "birnn"):
        folders = tmp_path / "some_presets" / preset, ROOT / "savedmodels" / preset
        found, wanted = (sorted(x.name for x in path.rglob("*")) for path in folders)
        assert found == wanted
