"""Names of languages, by their codes."""

import re


def language_name(code: str) -> str:
    """Returns the English name of a language, by Babel (extra `train`).

    Without Babel, or for a code of BCP 47 that it doesn't know, it is the code.
    """
    try:
        from babel import Locale, UnknownLocaleError
    except ImportError:
        return code
    try:
        name = Locale.parse(code.replace("-", "_")).english_name
    except (UnknownLocaleError, ValueError):  # a language without formats of its own
        name = Locale("en").languages.get(code)
    return name or code


def is_language(code: str) -> bool:
    """Returns whether a code begins with one of ISO 639, as far as Babel knows.

    Without Babel (extra `train`), every code of two letters does.

    """
    primary = re.split("[-_]", code)[0]
    try:
        from babel import Locale
        from babel.core import get_global
    except ImportError:
        return re.fullmatch("[a-z]{2}", primary) is not None
    return primary in Locale("en").languages or primary in get_global(
        "language_aliases"
    )


def direction_name(source: str, target: str) -> str:
    """Returns a direction in words: "English to German".

    It is "" if a code stands for no single language: "mul", "zxx" (none) or "und".
    """
    if {source, target} & {"mul", "zxx", "und"}:
        return ""
    return f"{language_name(source)} to {language_name(target)}"
