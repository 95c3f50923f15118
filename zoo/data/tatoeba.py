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

The evidence: undoing that shuffle on the files of zoo's figures gives rows in the order
of `deu.txt` (by the length of the English sentence, with each one's rows together), and
rows so ordered give the six files back byte for byte; a test does both. The archive of
2018-05-13 itself was not available, so it may contain further rows, dropped by some
other rule; if so, the sha256 of the files will not match and they are rejected.
"""

import hashlib
import io
import random
import re
import zipfile
from collections.abc import Sequence
from pathlib import Path

from zoo.data.errors import HINT, CorpusError
from zoo.files import StrPath

# Limits for an archive of unknown, growing size. In 2018 its text had some 12 MB in
# 200,000 lines; since then each line has an attribution of some 80 bytes. The limits
# allow for three times as many lines.
ARCHIVE_LIMIT = 30_000_000
TEXT_LIMIT = 90_000_000
_ABOUT_LIMIT = 100_000
_HELD_OUT_FILE = Path(__file__).with_name("tatoeba_held_out.txt")
_TEXT, _ABOUT = "deu.txt", "_about.txt"


def unpack(
    archive: StrPath, name: str | None = None, limit: int = TEXT_LIMIT
) -> tuple[dict[str, bytes], str]:
    """Makes the six files of the corpus from a `deu-eng.zip`; a `Corpus.unpack`.

    `limit` is that of `deu.txt`; the name is unused.
    """
    rows, date = _read(archive, limit)
    held_out = held_out_sentences()
    files = split(rows, held_out)
    kept = files["valid.en"].count(b"\n") + files["test.en"].count(b"\n")
    return files, (
        f"an archive of {date} with {len(rows)} pairs and {kept} of the "
        f"{len(held_out)} sentences of valid and test"
    )


def split(rows: Sequence[tuple[str, str]], held_out: Sequence[str]) -> dict[str, bytes]:
    """Returns the files of train, valid and test, of rows in the order of `deu.txt`.

    The first half of the `held_out` keys is valid's; one without a row is skipped.
    """
    position = {key: index for index, key in enumerate(held_out)}
    held_rows: list[list[tuple[str, str]]] = [[] for _ in held_out]
    remaining = []
    for english, german in dict.fromkeys(rows):
        index = position.get(sentence_key(english))
        if index is None:
            remaining.append((english, german))
        else:
            held_rows[index].append((english, german))
    held_german = {german for pairs in held_rows for _, german in pairs}
    train = [row for row in remaining if row[1] not in held_german]
    random.Random(0).shuffle(train)

    joined = [
        (pairs[0][0], "\t".join(german for _, german in pairs)) if pairs else None
        for pairs in held_rows
    ]
    half = len(held_out) // 2
    parts = {
        "train": train,
        "valid": [row for row in joined[:half] if row],
        "test": [row for row in joined[half:] if row],
    }
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


def _read(archive, limit):
    """Returns the rows of `deu.txt`, and the archive's date."""
    label = Path(archive).name.removesuffix(".part")
    try:
        with zipfile.ZipFile(archive) as contents:
            rows = _rows(_member(contents, _TEXT, limit))
            has_about = _ABOUT in contents.namelist()
            about = _member(contents, _ABOUT, _ABOUT_LIMIT) if has_about else b""
            date = re.search(r"Date of this file:\s*(\S+)", about.decode())
    except CorpusError:
        raise
    except Exception as error:  # of zipfile or the text, of many classes
        raise CorpusError(
            f"{label} should be a whole archive of UTF-8 text with {_TEXT}: {error}. "
            f"{HINT}"
        ) from None
    return rows, date[1] if date else "(no date given)"


def _member(contents, name, limit):
    """Reads a member of an archive in bounded memory, whatever size it declares."""
    info = contents.getinfo(name)
    # Of other methods a few bytes may unfold to any number.
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise CorpusError(
            f"{name} should be stored or deflated, received compression method "
            f"{info.compress_type}. {HINT}"
        )
    with contents.open(info) as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise CorpusError(f"{name} should have at most {limit} bytes. {HINT}")
    return data


def _rows(data):
    rows = []
    lines = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline="\n")
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        columns = [column.strip() for column in line.split("\t", 2)[:2]]
        if len(columns) < 2 or not all(columns):
            raise CorpusError(
                f"line {number} of {_TEXT} should be English, tab, German, received "
                f"{line[:80]!r}"
            )
        rows.append((columns[0], columns[1]))
    return rows
