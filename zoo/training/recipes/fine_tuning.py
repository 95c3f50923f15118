"""A translator that starts from a preset: pieces it doesn't know, its old tests."""

import collections
from collections.abc import Callable, Sequence
from typing import Any

from zoo import data
from zoo.presets.card import Card
from zoo.training.recipes.translation_data import Sets, as_set

UNKNOWN_SHARE = 0.01  # of a text's pieces; above, a warning
OLD_SENTENCES = 500  # of each old test set


def unknown_pieces(tokenizer: Any, texts: Sequence[str]) -> tuple[float, list[str]]:
    """Returns the share of pieces that a tokenizer doesn't know, and these pieces.

    The most frequent come first.
    """
    rows = zip(tokenizer.surfaces(texts), tokenizer.tokenize(list(texts)), strict=True)
    pairs = [pair for row in rows for pair in zip(*row, strict=True)]
    unknown = collections.Counter(
        piece for piece, number in pairs if number == tokenizer.unk_token_id
    )
    pieces = [piece for piece, _ in unknown.most_common()]
    return unknown.total() / max(len(pairs), 1), pieces


def warn(
    card: Card | None, tokenizer: Any, text: Any, say: Callable[[str], None]
) -> None:
    """Warns of other languages than a preset's, and of many pieces it doesn't know.

    Args:
        card: of the preset; None if it has none.
        tokenizer: the preset's.
        text: the `UserPairs`.
        say: function that shows a text.
    """
    languages = list(text.languages)
    if card and "und" not in languages and languages != card.languages:
        say(
            f"{card.name} translates {'-'.join(card.languages)}, the text is "
            f"{'-'.join(languages)}: expect to need more text and epochs"
        )
    sources, references = text.validation["valid"]
    sides = {"sources": sources, "targets": [first for first, *_ in references]}
    for side, texts in sides.items():
        share, pieces = unknown_pieces(tokenizer, texts)
        if share > UNKNOWN_SHARE:
            say(
                f"{share:.1%} of the {side}' pieces are unknown to the preset, which "
                f"can't read or write them: {' '.join(pieces[:5])} … A new model "
                "(without --from) makes its own vocabulary"
            )


def old_tests(card: Card | None, say: Callable[[str], None]) -> Sets:
    """Returns the test sets of a preset's corpora, and tells of those not at hand."""
    sets: Sets = {}
    if card is None:
        return sets
    corpora = data.list_corpora()
    for name in [c["name"] for c in card.data if c["name"] in corpora]:
        try:
            source, target = card.languages
            test = data.load(name, source, target, corpora[name].test_split)
        except (OSError, ValueError) as error:
            say(f"what {card.name} forgets of {name} is not measured: {error}")
        else:
            sets[name] = as_set(test, OLD_SENTENCES)
    return sets
