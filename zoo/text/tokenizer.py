"""The SentencePiece model shared by source and target: its training and use."""

import functools
import io
import itertools
import re
import reprlib
import tempfile
import threading
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import keras
import keras_hub
import sentencepiece

from zoo.checks import integer, one_of
from zoo.ids import END_ID, PAD_ID, START_ID, UNKNOWN_ID
from zoo.strings import (
    NORMALIZATIONS,
    SURROGATE,
    check_texts,
    composed,
    replace_surrogates,
    warn_caller,
)
from zoo.text.vocabulary import SpecialIds

LONGEST_LINE = 16_384  # bytes; SentencePiece's training time is quadratic in it
_SETTINGS: dict[str, Any] = {
    "model_type": "unigram",
    "character_coverage": 1.0,
    # With a piece "00", "000" is two pieces in either order at the same score, and
    # tensorflow-text's SentencePiece chooses the other order.
    "split_digits": True,
    # Sums depend on the number of threads, so it must not be the machine's.
    "num_threads": 16,
    "minloglevel": 2,
}
_SPECIAL_PIECES: dict[str, Any] = {
    **{"pad_id": PAD_ID, "unk_id": UNKNOWN_ID, "bos_id": START_ID, "eos_id": END_ID},
    **{"pad_piece": "<pad>", "unk_piece": "<unk>"},
    **{"bos_piece": "<s>", "eos_piece": "</s>"},
}


def train_tokenizer(
    texts: Iterable[str],
    vocabulary_size: int = 5000,
    normalization: str = "nfc",
    **options: Any,
) -> bytes:
    """Trains a SentencePiece unigram model for `Tokenizer`.

    Pieces 0 to 3 are `<pad>`, `<unk>`, `<s>` and `</s>`. Every character of `texts`
    becomes a piece, and digits are never joined. With one version of SentencePiece and
    of Python, equal arguments give equal bytes. Texts of more than 16,384 bytes are
    left out, with a warning. Nothing is printed, and Ctrl-C ends it.

    Any script will do, with spaces between words or without. The rule "nfc" keeps every
    character but NUL: `detokenize(tokenize(text))` is the text if it is in Unicode's
    composed form (NFC) and `texts` have its characters. Decomposed text is composed,
    except for rare stacks of marks. White space that `texts` don't have, such as a tab
    or the end of a line, is read as a space. SentencePiece's rules rewrite characters
    ("™" becomes "TM") and join adjacent spaces.

    Args:
        texts: sentences of both languages.
        vocabulary_size: number of pieces, the four special ones included.
        normalization: "nfc", or a rule of SentencePiece's: "nmt_nfkc", "nfkc",
            "nmt_nfkc_cf", "nfkc_cf" (both in lower case) or "identity". The model
            contains the rule.
        **options: further options of `sentencepiece.SentencePieceTrainer.train`, such
            as `model_type="word"` for a vocabulary of the most frequent words, or
            `model_type="char"` for one of characters, at most `vocabulary_size`.
            `input_sentence_size` samples texts by a seed that cannot be set; pass fewer
            texts instead.

    Returns:
        The model, ready for `Tokenizer(proto=...)`.

    Raises:
        TypeError: for texts that are not strings.
        ValueError: if all texts are blank, or if `vocabulary_size` is too large or too
            small for them. The message gives the limit.

    Example:
        >>> from zoo.text import Tokenizer, train_tokenizer
        >>> texts = ["a dog runs", "ein hund rennt", "a cat sleeps"]
        >>> tokenizer = Tokenizer(proto=train_tokenizer(texts, vocabulary_size=22))
        >>> tokenizer.detokenize(tokenizer.tokenize("a dog sleeps"))
        'a dog sleeps'
    """
    # SentencePiece's own name for it.
    normalization = options.pop("normalization_rule_name", normalization)
    one_of("normalization", normalization, NORMALIZATIONS)
    integer("vocabulary_size", vocabulary_size, END_ID + 1)
    short, long = _by_length([replace_surrogates(text) for text in check_texts(texts)])
    settings = {**_SETTINGS, **options}
    train: Callable[..., bytes] = train_pieces
    if normalization == "nfc":
        train = train_nfc
        settings["required_chars"] = "".join([options.get("required_chars", ""), *long])
    else:
        settings["normalization_rule_name"] = normalization
    try:
        return train(short, vocab_size=vocabulary_size, **_SPECIAL_PIECES, **settings)
    except RuntimeError as error:
        raise ValueError(_explain(str(error), vocabulary_size, short)) from error


def _by_length(texts):
    """The texts that the training reads, and those that are too long."""
    short = [text for text in texts if len(text.encode()) <= LONGEST_LINE]
    long = [text for text in texts if len(text.encode()) > LONGEST_LINE]
    if long:
        warn_caller(
            f"{len(long)} of {len(texts)} texts have more than {LONGEST_LINE:,} bytes "
            "and are left out of the tokenizer's training: split them into sentences"
        )
    if not any(text.strip() for text in short):
        raise ValueError(
            "texts must hold at least one text that isn't blank, of "
            f"{LONGEST_LINE:,} bytes at most. Received: {len(texts)} texts, no such one"
        )
    return short, long


@keras.saving.register_keras_serializable(package="zoo")
class Tokenizer(SpecialIds, keras_hub.tokenizers.SentencePieceTokenizer):
    """Converts strings to ids and back, with a SentencePiece model.

    It is a `keras_hub.tokenizers.SentencePieceTokenizer` with the special ids of the
    whole zoo: 0 `pad_token_id`, 1 `unk_token_id`, 2 `start_token_id`, 3 `end_token_id`.
    It accepts any str, lone surrogates included.

    TensorFlow frees the copy that graphs use when it clears its caches, as
    `keras.utils.set_random_seed` makes it do; `set_proto` makes a new one.

    Args:
        proto: bytes of a model, as from `train_tokenizer`, or the path of its file;
            None if a preset provides it later.
        **kwargs: arguments of `keras_hub.tokenizers.SentencePieceTokenizer`.

    Raises:
        ValueError: if `proto` is not a model, or has other special ids.

    Example:
        >>> from zoo.text import Tokenizer, train_tokenizer
        >>> texts = ["a dog runs", "ein hund rennt", "a cat sleeps", "die katze"]
        >>> tokenizer = Tokenizer(proto=train_tokenizer(texts, vocabulary_size=26))
        >>> ids = tokenizer(["a dog", "die katze"])  # a list of lists of int
        >>> tokenizer.detokenize(ids)
        ['a dog', 'die katze']
    """

    def __init__(self, proto: bytes | str | None = None, **kwargs: Any) -> None:
        super().__init__(proto=proto, **kwargs)
        self.built = True  # there are no weights; quantization asks for it

    @property
    def empty(self) -> bool:
        """Whether it has no model yet, as before a preset's files are read."""
        return self.proto is None

    def set_proto(self, proto: bytes | str | None) -> None:
        """Sets the model, from bytes or a path, if its special ids are the zoo's."""
        try:
            super().set_proto(proto)
        except (ImportError, OSError):
            raise
        # ValueError, RuntimeError, or one of TensorFlow's errors.
        except Exception as error:
            name = reprlib.repr(proto) if isinstance(proto, str) else "proto"
            reason = " ".join(str(error).split())
            raise ValueError(
                f"{name} is not a SentencePiece model: {reason}"
            ) from error
        if self.proto is None:
            return
        model = sentencepiece.SentencePieceProcessor(model_proto=self.proto)
        ids = model.pad_id(), model.unk_id(), model.bos_id(), model.eos_id()
        if ids != self.special_token_ids:
            raise ValueError(
                "The SentencePiece model must have the ids 0, 1, 2, 3 of padding, the "
                "unknown, start and end (-1 means none), as `zoo.text.train_tokenizer` "
                f"makes it. Received: {ids}"
            )

    def tokenize(self, inputs: Any) -> Any:
        """Returns the ids of a str, or a list of those of each str of a list."""
        texts = [inputs] if isinstance(inputs, str) else inputs
        listed = isinstance(texts, (list, tuple))
        if listed and any(isinstance(x, str) and SURROGATE.search(x) for x in texts):
            texts = list(map(replace_surrogates, texts))  # UTF-8 cannot encode them
            inputs = texts[0] if isinstance(inputs, str) else texts
        return super().tokenize(inputs)

    def surfaces(self, texts: Iterable[str]) -> list[list[str]]:
        """Returns the pieces of each text, as `tokenize` splits it.

        An unknown piece is the text's own, not `<unk>`.
        """
        model = sentencepiece.SentencePieceProcessor(model_proto=self.proto)
        texts = [replace_surrogates(text) for text in texts]
        return model.encode(texts, out_type=str)


# === SentencePiece's training ===
_RESERVED = "\x1f▁▅"  # SentencePiece marks boundaries, spaces and the unknown by them
_NONCHARACTERS = [chr(point) for point in range(0xFDD0, 0xFDF0)]
_SPACES = [c for c in map(chr, range(0x3001)) if c.isspace() and c != " "]
_SPACES += ["\u200b", "\ufeff"]  # of width zero
_SPECIAL = set("<pad><unk><s></s>")  # training removes these names from the texts
# Names the rule in a model, and removes the paths of its files.
_NAME = b"\x1a\x07\x0a\x03nfc\x32\x00" + b"\x2a\x02\x32\x00"


def _explain(message, vocabulary_size, texts):
    """Restates SentencePiece's training error in terms of our arguments."""
    most = re.search(r"set it to a value <= (\d+)", message)
    least = re.search(r"smaller than required_chars. -?\d+ vs (\d+)", message)
    if most:
        rule = f"vocabulary_size must be at most {most[1]} for these {len(texts)} texts"
    elif least:
        rule = (
            f"vocabulary_size must be at least {least[1]} for these {len(texts)} "
            "texts: 4 special pieces and one for each of their characters"
        )
    else:
        rule = f"SentencePiece cannot train on these {len(texts)} texts: {message}"
    return f"{rule}. Received: vocabulary_size={vocabulary_size!r}"


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
    table, back = str.maketrans(escapes), {v: k for k, v in escapes.items()}
    with tempfile.TemporaryDirectory() as folder:
        proto = train_pieces(
            [text.translate(table) for text in texts],
            normalization_rule_tsv=_write(folder, "in", rules),
            denormalization_rule_tsv=_write(folder, "out", back),
            remove_extra_whitespaces=False,
            required_chars="".join(sorted(required - {" "})).translate(table),
            **settings,
        )
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
            model = io.BytesIO()
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(texts), model_writer=model, **settings
            )
            trained.set_result(model.getvalue())
        except Exception as error:
            trained.set_exception(error)

    threading.Thread(target=work, daemon=True).start()
    return trained.result()


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
