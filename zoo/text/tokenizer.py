"""The SentencePiece model shared by source and target: its training and use."""

import re
import reprlib
from collections.abc import Callable, Iterable
from typing import Any

import keras
import keras_hub
import sentencepiece

from zoo.checks import integer, one_of
from zoo.ids import END_ID, PAD_ID, START_ID, UNKNOWN_ID
from zoo.strings import check_texts, replace_surrogates, warn_caller
from zoo.text.normalization import NORMALIZATIONS, train_nfc, train_pieces
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
_SPECIAL: dict[str, Any] = {
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
        return train(short, vocab_size=vocabulary_size, **_SPECIAL, **settings)
    except RuntimeError as error:
        message = _explain(str(error), vocabulary_size, short)
        raise ValueError(message) from error


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
        if isinstance(inputs, str):
            inputs = replace_surrogates(inputs)
        elif isinstance(inputs, (list, tuple)) and all(
            isinstance(x, str) for x in inputs
        ):
            inputs = [replace_surrogates(text) for text in inputs]
        return super().tokenize(inputs)

    def surfaces(self, texts: Iterable[str]) -> list[list[str]]:
        """Returns the pieces of each text, as `tokenize` splits it.

        An unknown piece is the text's own, not `<unk>`.
        """
        model = sentencepiece.SentencePieceProcessor(model_proto=self.proto)
        texts = [replace_surrogates(text) for text in texts]
        return model.encode(texts, out_type=str)


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
