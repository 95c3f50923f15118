import sys

import pytest

from zoo.data.languages import direction_name, is_language, language_name

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


@pytest.mark.parametrize(
    ("code", "known"),
    [
        ("de", True),
        ("pt_BR", True),
        ("yue-Hant", True),
        ("deu", True),
        ("dog", False),
        ("xx", False),
        ("", False),
    ],
)
def test_codes_that_are_known(code, known):
    pytest.importorskip("babel")
    assert is_language(code) == known


def test_without_babel_two_letters_are_a_code(monkeypatch):
    monkeypatch.setitem(sys.modules, "babel", None)
    codes = ("de", "pt_BR", "dog", "DE", "")
    assert [*map(is_language, codes)] == [True, True, False, False, False]


def test_a_direction_has_two_single_languages():
    pytest.importorskip("babel")
    assert direction_name("ja", "hi") == "Japanese to Hindi"
    assert direction_name("mul", "zxx") == direction_name("und", "en") == ""
