import hashlib
import itertools
import os
import random
import zipfile
from pathlib import Path

import pytest

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


def archive(path, text, about=None, name="deu.txt"):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(name, text)
        if about:
            file.writestr("_about.txt", about)
    return path


def test_held_out_sentences_have_their_references_in_order():
    files = split(["Stop!", "Hi."])
    assert files["valid.en"] == b"Stop!\n"
    assert files["valid.de"] == b"Halt!\n"
    assert files["test.en"] == b"Hi.\n"
    assert files["test.de"].decode() == "Hallo!\tGrüß Gott!\n"


def test_train_holds_no_held_out_sentence_of_either_language():
    files = split(["Stop!", "Hi."])
    rows = [("Go.", "Geh."), ("Run!", "Lauf!"), ("Run!", "Renn!")]
    random.Random(0).shuffle(rows)
    assert files["train.en"].decode().split("\n")[:-1] == [row[0] for row in rows]
    assert files["train.de"].decode().split("\n")[:-1] == [row[1] for row in rows]


def test_a_held_out_sentence_that_is_gone_leaves_out_its_line():
    files = split(["Gone.", "Stop!", "Go.", "Gone too."])
    assert files["valid.en"] == b"Stop!\n"
    assert files["test.de"] == b"Geh.\n"


def test_the_held_out_list_is_2000_different_keys():
    keys = tatoeba.held_out_sentences()
    assert len(keys) == len(set(keys)) == 2000
    assert all(len(key) == 12 and int(key, 16) >= 0 for key in keys)


def test_unpack_reads_two_columns_and_the_date(tmp_path):
    text = "".join(f"{en}\t{de}\tCC-BY 2.0 #1\r\n" for en, de in ROWS) + "\n"
    path = archive(tmp_path / "a.zip", text, "Date of this file:\n  2031-02-03\n")
    files, found = tatoeba.unpack(path)
    assert found.startswith("an archive of 2031-02-03 with 7 pairs and 1 of the 2000")
    train = files["train.de"].decode().split()
    assert sorted(train) == ["Geh.", "Halt!", "Lauf!", "Renn!"]
    assert files["test.en"] + files["valid.en"] == b"Hi.\n"


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("x", "fra.txt", "a.zip should hold deu.txt, received fra.txt"),
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


@pytest.mark.parametrize("damage", ["cut", "flipped", "page"])
def test_a_broken_archive_is_refused(tmp_path, damage):
    path = archive(tmp_path / "a.zip", "Go.\tGeh.\n" * 50)
    data, middle = path.read_bytes(), 45  # inside the compressed text
    changed = {
        "cut": data[: len(data) // 2],
        "flipped": data[:middle] + bytes([data[middle] ^ 255]) + data[middle + 1 :],
        "page": b"<html>Not here</html>",
    }
    path.write_bytes(changed[damage])
    with pytest.raises(CorpusError, match="whole archive.*received one that starts"):
        tatoeba.unpack(path)


def test_a_listing_of_what_is_there_is_short(tmp_path):
    path = tmp_path / "deu-eng.zip.part"
    with zipfile.ZipFile(path, "w") as file:
        for number in range(99):
            file.writestr(f"{number}.txt", "")
    with pytest.raises(CorpusError, match="deu-eng.zip .* 0.txt.* 11.txt and 87 more"):
        tatoeba.unpack(path)


def test_text_and_lines_beyond_their_limits_are_refused(tmp_path, monkeypatch):
    path = archive(tmp_path / "a.zip", "Go.\tGeh.\n" * 3 + "\n" * 20)
    tatoeba.unpack(path, limit=47)
    with pytest.raises(
        CorpusError, match="deu.txt of a.zip should have at most 46 bytes"
    ):
        tatoeba.unpack(path, limit=46)
    monkeypatch.setattr(tatoeba, "LINE_LIMIT", 22)
    with pytest.raises(CorpusError, match="deu.txt should have at most 22 lines"):
        tatoeba.unpack(path)


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
