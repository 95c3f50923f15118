"""Starting from a preset: its weights, pieces it doesn't know, its old tests."""

import collections
from collections.abc import Callable, Sequence
from typing import Any

from zoo import data
from zoo.presets.card import CARD_FILE, read_card
from zoo.presets.registry import find
from zoo.run.config import ConfigurationError
from zoo.run.parallel import Sets, as_set

UNKNOWN_SHARE = 0.01  # of a text's pieces; above, a warning
OLD_SENTENCES = 500  # of each old test set


def copy_weights(old: Any, new: Any) -> None:
    """Copies the weights of a backbone into another one.

    Raises:
        ConfigurationError: if they differ in their shapes.
    """
    try:
        new.set_weights(old.get_weights())
    except ValueError as error:
        raise ConfigurationError(
            "--set model: the weights of --from don't fit a model that is changed so: "
            f"{error}"
        ) from error


def unknown_pieces(tokenizer: Any, texts: Sequence[str]) -> tuple[float, list[str]]:
    """Returns the share of a text's pieces that a tokenizer doesn't know.

    Args:
        tokenizer: a `zoo.text.Tokenizer`.
        texts: sentences.

    Returns:
        The share, and the unknown pieces, the most frequent first.
    """
    total, unknown = 0, collections.Counter[str]()
    rows = zip(tokenizer.surfaces(texts), tokenizer.tokenize(list(texts)), strict=True)
    for pieces, ids in rows:
        total += len(pieces)
        unknown.update(
            piece
            for piece, number in zip(pieces, ids, strict=True)
            if number == tokenizer.unk_token_id
        )
    pieces = [piece for piece, _ in unknown.most_common()]
    return unknown.total() / max(total, 1), pieces


def warn_of_unknown_pieces(
    tokenizer: Any, text: Any, say: Callable[[str], None]
) -> None:
    """Warns if a tokenizer doesn't know more than `UNKNOWN_SHARE` of a text's pieces.

    Args:
        tokenizer: a `zoo.text.Tokenizer`.
        text: a `UserPairs` of `zoo.run.parallel`.
        say: function that shows a text.
    """
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


def warn_of_languages(
    preset: str, languages: Sequence[str], say: Callable[[str], None]
) -> None:
    """Warns if a preset translates between other languages than those of a text.

    Args:
        preset: what `zoo.load` takes.
        languages: codes of source and target.
        say: function that shows a text.
    """
    folder = find(preset)
    if not (folder / CARD_FILE).is_file() or "und" in languages:
        return
    known = read_card(folder).languages
    if list(languages) != known:
        say(
            f"{preset} translates {'-'.join(known)}, the text is "
            f"{'-'.join(languages)}: expect to need more text and epochs"
        )


def old_tests(preset: str, say: Callable[[str], None]) -> Sets:
    """Returns the test sets of a preset's own corpora, as far as they are at hand.

    Args:
        preset: what `zoo.load` takes.
        say: function that shows a text, for those that are not.
    """
    sets: Sets = {}
    folder = find(preset)
    if not (folder / CARD_FILE).is_file():
        return sets
    card, corpora = read_card(folder), data.list_corpora()
    source, target = card.languages
    for name in [c["name"] for c in card.data if c["name"] in corpora]:
        try:
            test = data.load(name, source, target, corpora[name].test_split)
        except (OSError, ValueError) as error:
            say(f"what {preset} forgets of {name} is not measured: {error}")
        else:
            sets[name] = as_set(test, OLD_SENTENCES)
    return sets
