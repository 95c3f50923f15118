import gzip
import io
import random
import tracemalloc
import zipfile

import pytest

from zoo.data import CorpusError
from zoo.data.archives import gunzip, read_plain, refusing, unzip

pytestmark = pytest.mark.backend_free

TEXT = b"Go.\tGeh.\n" * 50
BOMB = 100_000_000


def pack(path, method=zipfile.ZIP_DEFLATED, **members):
    with zipfile.ZipFile(path, "w", method) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return path


def patch(path, offset, data, of=b"PK\x01\x02"):
    """Overwrites a field of the first entry of the table of contents."""
    content = bytearray(path.read_bytes())
    start = content.index(of) + offset
    content[start : start + len(data)] = data
    path.write_bytes(content)
    return path


def peak(function, *args):
    """The most bytes that a call had, which has to be refused."""
    tracemalloc.start()
    try:
        with pytest.raises(CorpusError, match="at most|whole"):
            function(*args)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


# === Zip ===


def unzip_or_refuse(path, limits):
    with refusing(path, "a.zip should be a whole archive"):
        return unzip(path, limits)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_members_are_read_up_to_their_limits(tmp_path, method):
    path = pack(tmp_path / "a.zip", method, text=TEXT, about=b"2018", more=b"x" * 99)
    files, names = unzip(path, {"text": 450, "about": 4, "missing": 9})
    assert files == {"text": TEXT, "about": b"2018"}
    assert names == ["text", "about", "more"]
    with pytest.raises(
        CorpusError, match="text of a.zip should have at most 449 bytes.* 450"
    ):
        unzip(path, {"text": 449})


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_large_member_that_does_not_compress(tmp_path, method):
    """It is packed in more bytes than a table of contents may have."""
    data = random.Random(0).randbytes(3_000_000)
    path = pack(tmp_path / "a.zip", method, text=data)
    assert unzip(path, {"text": len(data)})[0] == {"text": data}


@pytest.mark.parametrize(
    ("offset", "value", "message"),
    [
        (8, [1], "text of a.zip should be .* an encrypted file. Try"),
        (8, [0x20], "a.zip should be .*ZOO_DATA_DIR"),  # patched data
        (8, [0x40], "a.zip should be .*ZOO_DATA_DIR"),  # strong encryption
        # Those that Python knows have no bound on what a piece unfolds to.
        *(
            (10, [method, 0], f"received compression method {method}. Try")
            for method in (1, 9, 12, 14, 93, 99)
        ),
    ],
)
def test_members_that_are_not_unpacked(tmp_path, offset, value, message):
    path = patch(pack(tmp_path / "a.zip", text=TEXT), offset, bytes(value))
    with pytest.raises(CorpusError, match=message):
        unzip_or_refuse(path, {"text": 450})


def test_an_archive_broken_anywhere(tmp_path):
    """Cut or altered at any byte it is read as it was, or refused."""
    whole = pack(tmp_path / "a.zip", text=TEXT).read_bytes()
    path = tmp_path / "b.zip"
    refused = 0
    for place in range(len(whole)):
        altered = whole[:place] + bytes([whole[place] ^ 255]) + whole[place + 1 :]
        for data in (whole[:place], altered):
            path.write_bytes(data)
            try:
                files, _ = unzip_or_refuse(path, {"text": 450})
            except CorpusError:
                refused += 1
            else:
                assert files in ({"text": TEXT}, {})
    assert refused > len(whole)


@pytest.fixture(scope="module")
def bomb():
    """100 MB of zeros as a zip file of 0.1 MB."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        with file.open("text", "w") as member:
            for _ in range(BOMB // 1_000_000):
                member.write(bytes(1_000_000))
    return buffer.getvalue()


@pytest.mark.parametrize("stated", [BOMB, 1_000_000])
def test_a_zip_bomb(tmp_path, bomb, stated):
    path = tmp_path / "a.zip"
    path.write_bytes(bomb)
    patch(path, 24, stated.to_bytes(4, "little"))
    assert len(bomb) < 1_000_000
    assert peak(unzip_or_refuse, path, {"text": 1_000_000}) < 8_000_000


def test_a_table_of_contents_beyond_the_bound(tmp_path):
    path = pack(tmp_path / "a.zip", text=TEXT)
    contents = path.read_bytes()
    start, end = contents.index(b"PK\x01\x02"), contents.index(b"PK\x05\x06")
    table = contents[start:end] * 40_000
    directory = bytearray(contents[end:])
    directory[12:16] = len(table).to_bytes(4, "little")
    path.write_bytes(contents[:start] + table + directory)
    assert peak(unzip_or_refuse, path, {"text": 450}) < 1_000_000


# === Gzip and plain ===


@pytest.mark.parametrize(
    ("read", "packed"), [(gunzip, gzip.compress(TEXT, mtime=0)), (read_plain, TEXT)]
)
def test_a_file_is_read_up_to_its_limit(tmp_path, read, packed):
    path = tmp_path / "a.part"
    path.write_bytes(packed)
    assert read(path, "a", len(TEXT)) == ({"a": TEXT}, "450 bytes")
    with pytest.raises(CorpusError, match="a should have at most 449 bytes.*more. Try"):
        read(path, "a", len(TEXT) - 1)


def test_a_gzip_file_broken_anywhere(tmp_path):
    whole = gzip.compress(TEXT)
    path = tmp_path / "a.gz.part"
    for place in range(len(whole)):
        path.write_bytes(whole[:place])
        if place:
            with pytest.raises(CorpusError, match="a.gz should be a whole gzip file"):
                gunzip(path, "a", len(TEXT))


def test_a_gzip_bomb(tmp_path):
    path = tmp_path / "a.gz.part"
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(BOMB // 1_000_000):
            file.write(bytes(1_000_000))
    assert peak(gunzip, path, "a", 1_000_000) < 8_000_000
