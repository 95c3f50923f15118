import sys

import pytest

from zoo.data.languages import direction_name, language_name

pytestmark = pytest.mark.backend_free


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("en", "English"),
        ("ar", "Arabic"),
        ("pt-BR", "Portuguese (Brazil)"),
        ("tlh", "Klingon"),  # without formats of its own
        ("xx", "xx"),
        ("my own", "my own"),
        ("", ""),
    ],
)
def test_names(code, name):
    pytest.importorskip("babel")
    assert language_name(code) == name


def test_without_babel_a_code_stays(monkeypatch):
    monkeypatch.setitem(sys.modules, "babel", None)
    assert language_name("de") == "de"


def test_a_direction_has_two_single_languages():
    pytest.importorskip("babel")
    assert direction_name("ja", "hi") == "Japanese to Hindi"
    assert direction_name("mul", "zxx") == direction_name("und", "en") == ""
