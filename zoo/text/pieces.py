"""From SentencePiece's pieces to words and to labels for a reader."""

import itertools
import re
import unicodedata

# Thai, Lao, Burmese, Khmer, Chinese, Japanese.
UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u312f\u31a0-\u9fff"
    "\uf900-\ufaff\uff65-\uff9f\U00020000-\U0003ffff]"
)


def words_of(tokens):
    """The words that pieces make, and the places of the pieces that begin one."""
    if not any(token.startswith("▁") for token in tokens):
        return list(tokens), list(range(len(tokens)))
    texts = [token.replace("▁", " ").strip() for token in tokens]
    spaced = [i for i in range(len(tokens)) if _begins(tokens, texts, i)]
    starts = set()
    for first, end in itertools.pairwise([*spaced, len(tokens)]):
        inner = [i for i in range(first, end) if not _is_punctuation(texts[i])]
        starts.add(first)
        if inner:
            before = "".join(texts[first : inner[0]])
            starts.update([inner[0]] if before else [], {inner[-1] + 1} - {end})
    starts = sorted(starts)
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


def labels(tokens):
    """Tokens for a reader: without "▁", with "-" where a piece goes on with a word."""
    pieces = any(token.startswith("▁") for token in tokens)
    found = []
    for token in tokens:
        text = token.replace("▁", " ").strip() or "␣"
        goes_on = pieces and not token.startswith("▁") and text[0].isalnum()
        found.append(f"-{text}" if goes_on and not UNSPACED.match(text) else text)
    return found
