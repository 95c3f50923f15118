"""From SentencePiece's pieces to words and readable labels."""

import itertools
import re
import unicodedata
from collections.abc import Sequence

# Thai, Lao, Burmese, Khmer, Chinese, Japanese.
UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u312f\u31a0-\u9fff"
    "\uf900-\ufaff\uff65-\uff9f\U00020000-\U0003ffff]"
)


def words_of(tokens: Sequence[str]) -> tuple[list[str], list[int]]:
    """Merges pieces into words; returns these and the index of their first pieces."""
    if not any(token.startswith("▁") for token in tokens):
        return list(tokens), list(range(len(tokens)))
    texts = [token.replace("▁", " ").strip() for token in tokens]
    spaced = [i for i in range(len(tokens)) if _begins(tokens, texts, i)]
    begins: set[int] = set()
    for first, end in itertools.pairwise([*spaced, len(tokens)]):
        inner = [i for i in range(first, end) if not _is_punctuation(texts[i])]
        begins.add(first)
        if inner:
            before = "".join(texts[first : inner[0]])
            begins.update([inner[0]] if before else [], {inner[-1] + 1} - {end})
    starts = sorted(begins)
    spans = itertools.pairwise([*starts, len(tokens)])
    return ["".join(texts[first:end]) or "␣" for first, end in spans], starts


def _begins(tokens, texts, i):
    """Whether a word begins at piece i, punctuation aside."""
    if i == 0 or tokens[i].startswith("▁") or tokens[i] == "</s>":
        return True
    return bool(texts[i - 1]) and any(
        map(UNSPACED.match, (texts[i - 1][-1:], texts[i][:1]))
    )


def _is_punctuation(text):
    return all(unicodedata.category(character)[0] in "PS" for character in text)


def are_characters(tokens: Sequence[str]) -> bool:
    """Returns whether tokens are single characters, as those of a "char" model."""
    return all(len(token) == 1 for token in tokens)


def right_to_left(text: str) -> bool:
    """Returns whether text has letters that are written from right to left."""
    return any(unicodedata.bidirectional(c) in ("R", "AL") for c in text)


def labels(tokens: Sequence[str]) -> list[str]:
    """Makes tokens readable: no "▁", and "-" before a piece that continues a word.

    Single characters have no "-".
    """
    pieces = any(token.startswith("▁") for token in tokens)
    pieces = pieces and not are_characters(tokens)
    texts = []
    for token in tokens:
        text = token.replace("▁", " ").strip() or "␣"
        continues = pieces and not token.startswith("▁") and text[0].isalnum()
        texts.append(f"-{text}" if continues and not UNSPACED.match(text) else text)
    return texts
