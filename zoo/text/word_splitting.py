"""Text to words, and SentencePiece's pieces to words and readable labels."""

import itertools
import re
import string
import unicodedata
from collections.abc import Sequence

import regex

from zoo.strings import composed

# Character sets in a notation that TensorFlow's RE2 reads too; this is `str.split`'s
# white space.
SPACE = "\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
LETTER = r"\p{L}\p{N}_"  # a word begins with one
INNER = LETTER + "\\p{M}\u200c\u200d"  # and accents, vowel signs and joiners
_MARK = "[\\p{M}\u200c\u200d]*"
_REPEATED = "|".join(f"{regex.escape(x)}+" for x in string.punctuation if x not in "'_")


def word_pattern(end: str, negation: str = "", inside: str = "", own: str = "") -> str:
    """Returns the pattern of a word, also for RE2, which has no lookaround.

    Args:
        end: pattern of the end of a run of word characters.
        negation: that of the place before an "n't".
        inside: that of a place before a word's character which is in no "n't".
        own: characters that the patterns above have put into the text.
    """
    return (
        rf"(?:(?i:https?){end}://|(?i:www){end}\.)[^{SPACE}]*[{LETTER}]{_MARK}{end}"
        rf"|[{INNER}.+\-{own}]+@[{INNER}\-{own}]+(?:\.[{INNER}\-{own}]+)+"
        rf"|(?:[\p{{L}}\p{{Nl}}\p{{No}}]{end}\.){{2,}}"  # U.S.
        rf"|\p{{Nd}}+(?:{end}[.,:]\p{{Nd}}+)+{end}"  # 3.50, 10:30
        rf"|{negation}[nN]{end}['’][tT]{end}"  # do n't
        rf"|['’](?i:s|m|d|re|ve|ll){end}"  # it 's
        rf"|[{LETTER}](?:{inside}[{INNER}])*(?:{end}|)"
        rf"|'+|’+|(?:{_REPEATED}|[^{SPACE}'’{own}]){_MARK}"
    )


_END = f"(?![{INNER}])"
_WORD = regex.compile(word_pattern(_END, inside=f"(?![nN]['’][tT]{_END})"))


def split_words(text: str) -> list[str]:
    """Splits a text into words, approximately like the English treebanks.

    Words are runs of letters and digits, with the marks on them. Separate words are:
    "n't", "'s", "'m", "'d", "'re", "'ve" and "'ll"; signs ("..." is one). Numbers like
    3.50 and 10:30, abbreviations like U.S., and addresses stay whole.

    Returns:
        The words; joined, they are the NFC-normalized text without white space.

    Example:
        >>> split_words("I don't know, it's 3.50...")
        ['I', 'do', "n't", 'know', ',', 'it', "'s", '3.50', '...']
    """
    return _WORD.findall(composed(text))


# === Pieces ===

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
