"""SentencePiece's training, with normalisation rules."""

import functools
import io
import itertools
import tempfile
import threading
import unicodedata
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from zoo.strings import composed

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
        proto = train_pieces(
            [text.translate(table) for text in texts],
            normalization_rule_tsv=_write(folder, "in", rules),
            denormalization_rule_tsv=_write(
                folder, "out", {v: k for k, v in escapes.items()}
            ),
            remove_extra_whitespaces=False,
            required_chars="".join(sorted(required - {" "})).translate(table),
            **settings,
        )
    import sentencepiece  # recipes, which are light, import this file

    model = sentencepiece.SentencePieceProcessor(model_proto=proto + _NAME)
    return model.serialized_model_proto()


def _write(folder, name, rules):
    """Writes rules as SentencePiece reads them; returns the file's path."""
    path = Path(folder, f"{name}.tsv")
    lines = (
        "\t".join(" ".join(f"{ord(c):X}" for c in side) for side in rule)
        for rule in sorted(rules.items())
    )
    path.write_text("".join(f"{line}\n" for line in lines), encoding="ascii")
    return str(path)


def train_pieces(texts: Sequence[str], **settings: Any) -> bytes:
    """Trains a model, with arguments of `sentencepiece.SentencePieceTrainer.train`.

    Nothing interrupts its C++ code, so it runs in a thread that ends with the process.

    Raises:
        RuntimeError: from SentencePiece.
    """
    # SentencePiece leaves out longer texts, by default those over 4192 bytes. The model
    # contains the number, so it must depend on the texts alone.
    longest = max(10, max(len(text.encode()) for text in texts))
    settings = {"max_sentence_length": longest, **settings}
    trained: Future[bytes] = Future()

    def work():
        try:
            trained.set_result(_train(texts, settings))
        except Exception as error:
            trained.set_exception(error)

    threading.Thread(target=work, daemon=True).start()
    return trained.result()


def _train(texts, settings):
    import sentencepiece  # recipes, which are light, import this file

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts), model_writer=model, **settings
    )
    return model.getvalue()


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
