"""Normalisation rules of SentencePiece models, and what a rule changes in a text."""

import collections
import functools
import itertools
import tempfile
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from zoo.strings import composed, counted
from zoo.text import unigram

# The zoo's own rule, which keeps every character, and SentencePiece's.
NORMALIZATIONS = ("nfc", "nfkc", "nfkc_cf", "nmt_nfkc", "nmt_nfkc_cf", "identity")

_RESERVED = "\x1f▁▅"  # SentencePiece marks boundaries, spaces and the unknown by them
_NONCHARACTERS = [chr(point) for point in range(0xFDD0, 0xFDF0)]
_SPACES = [c for c in map(chr, range(0x3001)) if c.isspace() and c != " "]
_SPACES += ["\u200b", "\ufeff"]  # of width zero
_SPECIAL = set("<pad><unk><s></s>")  # training removes these names from the texts
# Names the rule in a model, and removes the paths of its files.
_NAME = b"\x1a\x07\x0a\x03nfc\x32\x00" + b"\x2a\x02\x32\x00"


def train_nfc(texts: Sequence[str], required_chars: str = "", **settings: Any) -> bytes:
    """Trains a model with the rule "nfc", compiled into it.

    Combining sequences are composed (NFC), and spaces stay. White space that the texts
    don't have, such as a tab, is read as a space. Noncharacters (U+FDD0 …) stand for
    the characters that SentencePiece reserves; decoding puts those back.

    The characters of `required_chars` become pieces, too. A "char" model that is too
    small is a RuntimeError of SentencePiece's wording.
    """
    texts = [composed(text) for text in texts]
    seen = set().union(*texts)
    known = seen.union(composed(required_chars)) - {"\0"}
    required = known - seen | known & _SPECIAL
    least = len(known - {" "}) + 5  # with the special pieces and "▁"
    whole = settings["model_type"] == "char" and settings["character_coverage"] == 1
    if whole and settings["vocab_size"] < least:
        raise RuntimeError(f"smaller than required_chars. 0 vs {least}")
    spare = (c for c in _NONCHARACTERS if c not in known)
    escapes = dict(zip(_RESERVED, spare, strict=False))
    rules = _compositions() | escapes
    marks = filter(unicodedata.combining, known)
    pairs = map("".join, itertools.permutations(marks, 2))
    rules |= {pair: composed(pair) for pair in pairs if composed(pair) != pair}
    unseen = (c for c in _SPACES if not known & {c, composed(c)})
    rules |= dict.fromkeys(unseen, " ")
    table = str.maketrans(escapes)
    with tempfile.TemporaryDirectory() as folder:
        proto = unigram.train(
            [text.translate(table) for text in texts],
            normalization_rule_tsv=_write(folder, "in", rules),
            denormalization_rule_tsv=_write(
                folder, "out", {v: k for k, v in escapes.items()}
            ),
            remove_extra_whitespaces=False,
            required_chars="".join(sorted(required - {" "})).translate(table),
            **settings,
        )
    return _processor(proto + _NAME).serialized_model_proto()


def rewritten(proto: bytes, texts: Sequence[str]) -> list[str]:
    """Says what a model's rule makes of a text's characters.

    There is a line for each that is changed (or two spaces), the most frequent first;
    after ten, one that counts the others.
    """
    model = _processor(proto)
    counts = collections.Counter(itertools.chain.from_iterable(map(set, texts)))
    counts["  "] = sum("  " in text for text in texts)
    lines = []
    for before, count in counts.most_common():
        after = model.normalize(f"|{before}|").replace("▁", " ").strip(" ")[1:-1]
        if count and before not in (after, model.decode(model.encode(before))):
            where = counted(count, "line")
            lines.append(f"`{_shown(before)}` → `{_shown(after)}` in {where}")
    more = [counted(len(lines) - 10, "other character")] if len(lines) > 10 else []
    return lines[:10] + more


def _processor(proto):
    import sentencepiece  # recipes, which are light, import this file

    return sentencepiece.SentencePieceProcessor(model_proto=proto)


def _shown(text):
    """A text, or the code points of one that can't be seen."""
    seen = text.isprintable() and text == text.strip()
    return text if seen else " ".join(f"U+{ord(c):04X}" for c in text)


def _write(folder, name, rules):
    """Writes rules as SentencePiece reads them; returns the file's path."""
    path = Path(folder, f"{name}.tsv")
    lines = (
        "\t".join(" ".join(f"{ord(c):X}" for c in side) for side in rule)
        for rule in sorted(rules.items())
    )
    path.write_text("".join(f"{line}\n" for line in lines), encoding="ascii")
    return str(path)


@functools.cache
def _compositions():
    """Each sequence that composes to one or two characters, and these."""
    rules = {}
    for whole in map(chr, range(0x30000)):
        marks = unicodedata.normalize("NFD", whole)
        if marks == whole:
            continue
        result = composed(whole)
        for rest in itertools.permutations(marks[1:]):
            # Marks in any order, the first of them composed already or not.
            for count in range(len(marks)):
                parts = "".join((marks[0], *rest))
                start = composed(parts[: count + 1])
                sequence = start + parts[count + 1 :]
                if composed(sequence) == result != sequence:
                    rules[sequence] = result
        if whole != result:
            rules[whole] = result
    return rules
