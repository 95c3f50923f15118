"""Makes the train, valid and test files of `tatoeba` from its public archive.

The archive is manythings.org's `deu-eng.zip`. Each row of its `deu.txt` is a sentence
pair: English, tab, German (and in later years a tab and an attribution). The split is
by English sentence:

- valid and test are the rows of 1,000 English sentences each, identified by the first
  12 hexadecimal digits of their sha256, which are listed in `tatoeba_held_out.txt`,
  valid's first, in the order of the files. An English sentence's German rows are joined
  by tabs, in the order of `deu.txt`;
- train is every other row whose German side is not in valid or test, in the order of
  `deu.txt` shuffled by `random.Random(0)`.

A test puts rows in this order together from the files of zoo's figures, and gets these
back byte for byte. The archive of 2018-05-13 itself was not available, so it may have
further rows; if so, the files' sha256 will not match and they are rejected.
"""

import hashlib
import random
import zipfile
from collections.abc import Sequence
from pathlib import Path

from zoo.data.corpus import HINT
from zoo.data.lines import CorpusError
from zoo.files import StrPath

# In 2018 the text had some 12 MB in 200,000 lines; since then each line has an
# attribution of some 80 bytes. This allows for three times as many lines.
TEXT_LIMIT = 90_000_000
_HELD_OUT_FILE = Path(__file__).with_name("tatoeba_held_out.txt")
_TEXT = "deu.txt"


def unpack(archive: StrPath) -> dict[str, bytes]:
    """Makes the six files of the corpus from a `deu-eng.zip`; a `Corpus.unpack`."""
    try:
        with zipfile.ZipFile(archive) as contents:
            rows = _rows(_read(contents))
    except CorpusError:
        raise
    except Exception as error:  # of zipfile or the text, of many classes
        label = Path(archive).name.removesuffix(".part")
        raise CorpusError(
            f"{label} should be a whole archive of UTF-8 text with {_TEXT}: {error}. "
            f"{HINT}"
        ) from None
    return split(rows, held_out_sentences())


def split(rows: Sequence[tuple[str, str]], held_out: Sequence[str]) -> dict[str, bytes]:
    """Returns the files of train, valid and test, of rows in the order of `deu.txt`.

    The first half of the `held_out` keys is valid's; one without a row is skipped.
    """
    held: dict[str, list[tuple[str, str]]] = {key: [] for key in held_out}
    remaining = list[tuple[str, str]]()
    for row in dict.fromkeys(rows):
        held.get(sentence_key(row[0]), remaining).append(row)
    held_german = {german for pairs in held.values() for _, german in pairs}
    train = [row for row in remaining if row[1] not in held_german]
    random.Random(0).shuffle(train)

    def joined(keys):
        for pairs in filter(None, map(held.get, keys)):
            yield pairs[0][0], "\t".join(german for _, german in pairs)

    half = len(held_out) // 2
    valid, test = list(joined(held_out[:half])), list(joined(held_out[half:]))
    parts = {"train": train, "valid": valid, "test": test}
    return {
        f"{part}.{language}": "".join(f"{row[side]}\n" for row in pairs).encode()
        for part, pairs in parts.items()
        for side, language in enumerate(("en", "de"))
    }


def sentence_key(sentence: str) -> str:
    """Returns the 12 hexadecimal digits that identify a held-out sentence."""
    return hashlib.sha256(sentence.encode()).hexdigest()[:12]


def held_out_sentences() -> list[str]:
    """Returns the 2,000 `sentence_key`s of valid and test, in order."""
    return _HELD_OUT_FILE.read_text(encoding="ascii").split()


def _read(contents):
    """Reads `deu.txt` of an archive in bounded memory, whatever size it declares."""
    info = contents.getinfo(_TEXT)
    # Of other methods a few bytes may unfold to any number.
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise CorpusError(f"{_TEXT} should be stored or deflated. {HINT}")
    with contents.open(info) as file:
        data = file.read(TEXT_LIMIT + 1)
    if len(data) > TEXT_LIMIT:
        raise CorpusError(f"{_TEXT} should have at most {TEXT_LIMIT} bytes. {HINT}")
    return data.decode()


def _rows(text):
    rows = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        english, german = (line.split("\t") + [""])[:2]
        if not (english.strip() and german.strip()):
            raise CorpusError(
                f"line {number} of {_TEXT} should be English, tab, German, received "
                f"{line[:80]!r}"
            )
        rows.append((english.strip(), german.strip()))
    return rows
