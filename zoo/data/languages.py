"""Names of languages, by their codes."""


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


def direction_name(source: str, target: str) -> str:
    """Returns a direction in words: "English to German".

    It is "" if a code stands for no single language: "mul", "zxx" (none) or "und".
    """
    if {source, target} & {"mul", "zxx", "und"}:
        return ""
    return f"{language_name(source)} to {language_name(target)}"
