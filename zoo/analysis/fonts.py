"""Fonts of this machine that have the characters of a picture."""


def find_fonts(characters: set[str]) -> tuple[list[str], set[str]]:
    """Returns names of fonts that together have the characters, and missing ones."""
    from matplotlib import font_manager

    families = ["DejaVu Sans"]  # comes with matplotlib
    known = font_manager.get_font(font_manager.findfont(families[0])).get_charmap()
    missing = {c for c in characters if ord(c) not in known and c.isprintable()}
    # Sans serif first. A font of last resort has a box for every character.
    fonts = [
        font
        for font in font_manager.fontManager.ttflist
        if (font.style, font.weight) == ("normal", 400)
        and "Last Resort" not in font.name
    ]
    for entry in sorted(fonts, key=lambda font: ("Sans" not in font.name, font.name)):
        if not missing:
            break
        font = font_manager.get_font(entry.fname)
        covered = {c for c in missing if ord(c) in font.get_charmap()}
        if covered and font.scalable:  # others, of emoji, cannot be drawn
            families.append(entry.name)
            missing -= covered
    return families, missing


def missing_characters(missing: set[str], most: int = 10) -> str:
    """Returns a warning about characters that no font has, which names some of them.

    Example:
        >>> missing_characters({"犬"})[:30]
        'no font here has 犬, drawn as �'
    """
    more = " …" if len(missing) > most else ""
    return (
        f"no font here has {' '.join(sorted(missing)[:most])}{more}, drawn as \ufffd: "
        "Google's Noto fonts have all scripts (Noto Sans CJK: Chinese, Japanese and "
        "Korean)"
    )
