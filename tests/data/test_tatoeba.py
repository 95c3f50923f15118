import hashlib
import itertools
import os
import random
import zipfile
from pathlib import Path

import pytest

from tests.data.conftest import peak
from zoo.data import CorpusError, list_corpora, tatoeba

pytestmark = pytest.mark.backend_free

ROWS = [
    ("Go.", "Geh."),
    ("Hi.", "Hallo!"),
    ("Hi.", "Grüß Gott!"),
    ("Run!", "Lauf!"),
    ("Hello!", "Hallo!"),
    ("Run!", "Renn!"),
    ("Stop!", "Halt!"),
]


def split(held_out):
    return tatoeba.split(ROWS, [tatoeba.sentence_key(text) for text in held_out])


def archive(path, text, name="deu.txt"):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(name, text)
    return path


def test_held_out_sentences_have_their_references_in_order():
    files = split(["Stop!", "Hi."])
    assert files["valid.en"] == b"Stop!\n"
    assert files["valid.de"] == b"Halt!\n"
    assert files["test.en"] == b"Hi.\n"
    assert files["test.de"].decode() == "Hallo!\tGrüß Gott!\n"
    # Train holds no held-out sentence of either language.
    rows = [("Go.", "Geh."), ("Run!", "Lauf!"), ("Run!", "Renn!")]
    random.Random(0).shuffle(rows)
    assert files["train.en"].decode().split("\n")[:-1] == [row[0] for row in rows]
    assert files["train.de"].decode().split("\n")[:-1] == [row[1] for row in rows]


def test_a_held_out_sentence_that_is_gone_leaves_out_its_line():
    files = split(["Gone.", "Stop!", "Go.", "Gone too."])
    assert files["valid.en"] == b"Stop!\n"
    assert files["test.de"] == b"Geh.\n"


def test_unpack_reads_two_columns(tmp_path):
    text = "".join(f"{en}\t{de}\tCC-BY 2.0 #1\r\n" for en, de in ROWS) + "\n"
    files = tatoeba.unpack(archive(tmp_path / "a.zip", text))
    assert len(set(tatoeba.held_out_sentences())) == 2000
    train = files["train.de"].decode().split()
    assert sorted(train) == ["Geh.", "Halt!", "Lauf!", "Renn!"]
    assert files["test.en"] + files["valid.en"] == b"Hi.\n"


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("x", "fra.txt", "a.zip should be a whole archive .*deu.txt"),
        (b"Go.\tGeh.\nHi.\tGr\xfc\xdf dich.\n", "deu.txt", "UTF-8 .*0xfc.*Try again"),
        ("Go.\tGeh.\nno tab\n", "deu.txt", "line 2 of deu.txt.*no tab"),
        ("Go.\tGeh.\n\tno English\n", "deu.txt", "line 2 of deu.txt.*no English"),
        ("Go.\tGeh.\nno German\t\n", "deu.txt", "line 2 of deu.txt.*no German"),
    ],
)
def test_other_content_is_refused(tmp_path, text, name, message):
    path = archive(tmp_path / "a.zip", text, name=name)
    with pytest.raises(CorpusError, match=message):
        tatoeba.unpack(path)


def test_an_archive_broken_anywhere(tmp_path):
    """Cut or altered at any byte it is read as it was, or refused."""
    path = archive(tmp_path / "a.zip", "Go.\tGeh.\n" * 50)
    expected, whole = tatoeba.unpack(path), path.read_bytes()
    refused = 0
    for place in range(len(whole)):
        altered = whole[:place] + bytes([whole[place] ^ 255]) + whole[place + 1 :]
        for data in (whole[:place], altered):
            path.write_bytes(data)
            try:
                files = tatoeba.unpack(path)
            except CorpusError:
                refused += 1
            else:
                assert files == expected
    assert refused > len(whole)


def patch(path, offset, data):
    """Overwrites a field of the first entry of the table of contents."""
    content = bytearray(path.read_bytes())
    start = content.index(b"PK\x01\x02") + offset
    content[start : start + len(data)] = data
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("offset", "value", "message"),
    [
        (8, 1, "a.zip should be .* encrypted.*ZOO_DATA_DIR"),
        (8, 0x20, "a.zip should be .*ZOO_DATA_DIR"),  # patched data
        (8, 0x40, "a.zip should be .*ZOO_DATA_DIR"),  # strong encryption
        # Those that Python knows have no bound on what a piece unfolds to.
        *((10, n, "stored or deflated.*Try") for n in (1, 9, 12, 14, 93)),
    ],
)
def test_members_that_are_not_unpacked(tmp_path, offset, value, message):
    path = archive(tmp_path / "a.zip", "Go.\tGeh.\n")
    with pytest.raises(CorpusError, match=message):
        tatoeba.unpack(patch(path, offset, bytes([value, 0])))


def test_text_beyond_its_limit_is_refused(tmp_path, monkeypatch):
    path = archive(tmp_path / "a.zip", "Go.\tGeh.\n" * 3 + "\n" * 20)
    monkeypatch.setattr(tatoeba, "TEXT_LIMIT", 47)
    tatoeba.unpack(path)
    monkeypatch.setattr(tatoeba, "TEXT_LIMIT", 46)
    with pytest.raises(CorpusError, match="deu.txt should have at most 46 bytes"):
        tatoeba.unpack(path)


@pytest.mark.parametrize("stated", [100_000_000, 1_000_000])
def test_a_zip_bomb(tmp_path, monkeypatch, stated):
    path = archive(tmp_path / "a.zip", bytes(100_000_000))
    patch(path, 24, stated.to_bytes(4, "little"))
    monkeypatch.setattr(tatoeba, "TEXT_LIMIT", 1_000_000)
    assert peak(tatoeba.unpack, path) < 8_000_000


@pytest.mark.skipif(
    not os.environ.get("ZOO_DATA_DIR"), reason="needs the corpus, at ZOO_DATA_DIR"
)
def test_the_real_files_are_made_from_rows_in_the_archives_order():
    """Puts a deu.txt together from the six files, and splits it into them again."""
    folder = Path(os.environ["ZOO_DATA_DIR"]) / "tatoeba"

    def lines(name):
        return (folder / name).read_text(encoding="utf-8").split("\n")[:-1]

    shuffled = list(zip(lines("train.en"), lines("train.de"), strict=True))
    order = list(range(len(shuffled)))
    random.Random(0).shuffle(order)
    rows = sorted(zip(order, shuffled, strict=True))
    # The archive goes by the length of the English sentence, give or take
    # punctuation, and so does what the shuffle, undone, leaves; the rows of a
    # sentence stand together.
    english = [row[0] for _, row in rows]
    steps = zip(english, english[1:], strict=False)
    assert sum(len(now) > len(following) for now, following in steps) < 100
    groups = [text for text, _ in itertools.groupby(english)]
    assert len(groups) == len(set(groups))

    # The held-out rows among them, and with each one of another English sentence
    # that has the same German one, which train may not hold.
    place = random.Random(1)
    for part in ("test", "valid"):
        sides = zip(lines(f"{part}.en"), lines(f"{part}.de"), strict=True)
        for text, references in sides:
            between = place.randrange(len(order)) + 0.5
            several = references.split("\t")
            rows += [(between, (text, german)) for german in several]
            rows.append((between, (f"Another: {text}", several[-1])))
    rows.sort(key=lambda row: row[0])
    files = tatoeba.split([row for _, row in rows], tatoeba.held_out_sentences())
    sha256 = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    known = list_corpora()["tatoeba"].files
    assert sha256 == {name: file.sha256 for name, file in known.items()}
