"""Names of languages, by their codes."""


def language_name(code: str) -> str:
    """Returns the English name of a language, by Babel (extra `train`).

    Args:
        code: a language code of BCP 47, such as "de" or "pt-BR".

    Returns:
        The name; without Babel, or for a code that it doesn't know, the code.

    Example:
        >>> language_name("de"), language_name("pt-BR")
        ('German', 'Portuguese (Brazil)')
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

    Returns:
        The words; "" if a code stands for no single language: "mul" (several), "zxx"
        (none) or "und" (unknown).

    Example:
        >>> direction_name("en", "de")
        'English to German'
    """
    if {source, target} & {"mul", "zxx", "und"}:
        return ""
    return f"{language_name(source)} to {language_name(target)}"
