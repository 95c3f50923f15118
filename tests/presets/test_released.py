import io
import json
import shutil
import socket
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import pytest

from tests.presets_for_tests import Wheel
from tools.presets.release import archive
from zoo import presets
from zoo.presets import PresetError, find, list_presets, locate, pending, released
from zoo.presets.download import DownloadError

pytestmark = pytest.mark.backend_free

FILES = [
    "README.md",
    "card.json",
    "config.json",
    "model.weights.h5",
    "task.json",
    "vocabulary.spm",
]


@pytest.fixture
def wheel(tmp_path, monkeypatch, server):
    return Wheel(tmp_path, monkeypatch, server)


# === Downloads ===


def test_a_preset_is_downloaded_when_it_is_first_used(wheel, capsys):
    assert [card.name for card in list_presets()] == ["small", "tiny"]
    assert pending("tiny").name == "tiny" and pending("small") is None
    assert wheel.server.ranges == []
    folder = locate("tiny")
    assert "tiny.zip \u2501" in capsys.readouterr().err
    assert wheel.cached() == FILES and folder.name == "tiny"
    for path in (wheel.manifest.parent / "tree/tiny").rglob("*.*"):
        copy = folder / path.relative_to(wheel.manifest.parent / "tree/tiny")
        assert copy.read_bytes() == path.read_bytes()
    assert pending("tiny") is None
    assert locate("tiny") == find("tiny") == folder
    assert wheel.server.ranges == [None]


def test_what_is_in_the_package_needs_no_manifest(wheel):
    wheel.manifest.unlink()
    assert locate("small") == wheel.folder / "small"


@pytest.mark.parametrize("name", ["tree/tiny", "hf://ada/tiny", "unknown"])
def test_paths_handles_and_unknown_names_are_not_pending(wheel, monkeypatch, name):
    monkeypatch.chdir(wheel.manifest.parent)
    assert pending(name) is None


def test_a_folder_of_that_name_comes_first(wheel, monkeypatch):
    monkeypatch.chdir(wheel.manifest.parent / "tree")
    assert pending("tiny") is None and find("tiny") == Path("tiny")


def test_the_next_call_goes_on_as_well(wheel):
    wheel.server.faults = [("cut", 100), ("cut", 20), ("cut", 3)]
    with pytest.raises(DownloadError, match="123 bytes are kept in .*tiny.zip.part"):
        find("tiny")
    assert pending("tiny")
    locate("tiny")
    assert wheel.server.ranges[3:] == ["bytes=123-"] and wheel.cached() == FILES


@pytest.mark.parametrize(
    "change, error, message",
    [
        (lambda data: data[:1000] + b"!" + data[1001:], PresetError, None),  # altered
        (lambda data: data[:-1], PresetError, None),
        (lambda data: b"<html>", PresetError, None),
        (lambda data: data + b"x", DownloadError, "which should be at most"),
    ],
)
def test_another_content_is_refused_and_removed(wheel, change, error, message):
    wheel.server.files["/v1/tiny.zip"] = change(wheel.archive)
    entry = json.loads(wheel.manifest.read_text())["presets"]["tiny"]
    message = message or f"is not the archive.*sha256 {entry['sha256']}.*received"
    with pytest.raises(error, match=message):
        find("tiny")
    assert wheel.cached() == []
    wheel.server.files["/v1/tiny.zip"] = wheel.archive
    locate("tiny")


def test_a_part_of_another_file_is_fetched_anew(wheel):
    folder = released._cached(wheel.folder / "tiny").parent
    folder.mkdir(parents=True)
    (folder / "tiny.zip.part").write_bytes(b"x" * 1000)
    locate("tiny")
    assert wheel.server.ranges == ["bytes=1000-", None]


def refuse_connections(wheel):
    with socket.socket() as taken:  # nobody listens there
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"
    content = json.loads(wheel.manifest.read_text()) | {"address": address}
    wheel.manifest.write_text(json.dumps(content))


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda wheel: wheel.server.files.clear(), "/v1/tiny.zip, received HTTP .*404"),
        (refuse_connections, "127.0.0.1:[0-9]*/tiny.zip, .*refused"),
        (lambda wheel: wheel.publish(wheel.archive, None), "zoo 1.2 names no address"),
    ],
)
def test_where_nothing_can_be_downloaded_the_error_says_what_to_do(
    wheel, monkeypatch, change, message
):
    change(wheel)
    with pytest.raises(DownloadError, match=message) as error:
        find("tiny")
    for part in (
        f"put tiny.zip at {wheel.cache}/presets/tiny.zip",
        "ZOO_CACHE_DIR",
        "ZOO_PRESETS_URL",
        "Presets that need no network: small",
        *["A checkout"] * ("names no address" in message),
    ):
        assert part in str(error.value)
    assert wheel.cached() == []
    wheel.server.files["/mirror/tiny.zip"] = wheel.archive
    monkeypatch.setenv("ZOO_PRESETS_URL", wheel.server.url("/mirror"))
    locate("tiny")  # the variable's address comes first


def test_an_archive_in_the_cache_folder_needs_no_network(wheel):
    given = wheel.cache / "presets/tiny.zip"
    given.parent.mkdir(parents=True)
    given.write_bytes(wheel.archive[:-1])
    with pytest.raises(PresetError, match=f"{given} is not the archive"):
        find("tiny")
    given.write_bytes(wheel.archive)
    locate("tiny")
    assert wheel.server.ranges == [] and given.read_bytes() == wheel.archive


def test_processes_that_need_it_at_once(wheel):
    script = f"""
import pathlib
from zoo.presets import locate, registry, released
registry._bundled_folder = lambda: pathlib.Path({str(wheel.folder)!r})
released.MANIFEST = pathlib.Path({str(wheel.manifest)!r})
print(locate("tiny"))
"""
    command = [sys.executable, "-c", script]
    root = Path(__file__).parents[2]
    running = [
        subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE) for _ in range(3)
    ]
    told = {process.communicate(timeout=60)[0] for process in running}
    assert [process.returncode for process in running] == [0, 0, 0]
    assert len(told) == 1 and wheel.server.ranges == [None] and wheel.cached() == FILES


def test_a_folder_that_cannot_be_written(wheel):
    wheel.cache.write_text("a file")
    with pytest.raises(DownloadError, match="cannot write to .*ZOO_CACHE_DIR"):
        find("tiny")


# === The cache ===


def test_a_damaged_file_in_the_cache_is_refused(wheel):
    weights = locate("tiny") / "model.weights.h5"
    weights.write_bytes(weights.read_bytes()[:-1] + b"!")
    with pytest.raises(PresetError, match="model.weights.h5 in .* is altered") as e:
        locate("tiny")
    assert str(e.value).endswith(f". Remove {weights.parent} to download it again")
    shutil.rmtree(weights.parent)
    locate("tiny")


def test_a_preset_with_another_card_in_the_cache_is_fetched_again(wheel):
    """Its card and weights could fit each other, and be somebody else's."""
    folder = locate("tiny")
    (folder / "card.json").write_text("{}")
    (folder / "left.json").write_text("{}")
    assert pending("tiny")
    assert locate("tiny") == folder and wheel.cached() == FILES


def test_another_version_stands_elsewhere(wheel):
    first = locate("tiny")
    shutil.copytree(wheel.folder / "small", wheel.manifest.parent / "new/tiny")
    card = (wheel.manifest.parent / "tree/tiny/card.json").read_text()
    card = card.replace('"seed": 7', '"seed": 8')
    for place in (wheel.manifest.parent / "new", wheel.folder):
        (place / "tiny/card.json").write_text(card)
    wheel.publish(archive(wheel.manifest.parent / "new/tiny"))
    assert pending("tiny").seed == 8
    second = locate("tiny")
    assert presets.verify(second).seed == 8 and presets.verify(first).seed == 7


# === Archives that are not as they should be ===


def packed(change, how=zipfile.ZIP_STORED):
    """The archive of `tiny` with its members (name -> content) changed."""

    def make(data):
        with zipfile.ZipFile(io.BytesIO(data)) as old:
            members = {name: old.read(name) for name in old.namelist()}
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", how) as new:
            for name, content in change(members).items():
                new.writestr(name, content)
        return buffer.getvalue()

    return make


def with_link(members):
    link = zipfile.ZipInfo("task.json")
    link.create_system, link.external_attr = 3, 0o120777 << 16
    return {name: c for name, c in members.items() if name != "task.json"} | {
        link: "/etc/passwd"
    }


OUTSIDE = Path(tempfile.gettempdir(), "zoo-outside")
HOSTILE = {
    "above": packed(lambda m: m | {"../../../outside": b"x"}),
    "absolute": packed(lambda m: m | {str(OUTSIDE): b"x"}),
    "inside and out": packed(lambda m: m | {"assets/../../outside": b"x"}),
    "backslashes": packed(lambda m: m | {"..\\outside": b"x"}),
    "one more": packed(lambda m: m | {"task.weights.h5": b"x"}),
    "one less": packed(lambda m: {n: c for n, c in m.items() if n != "task.json"}),
    "link": packed(with_link),
    "bomb": packed(
        lambda m: m | {"README.md": bytes(10_000_000)}, zipfile.ZIP_DEFLATED
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_archive_is_refused(wheel, name):
    """Although the manifest has its sha256."""
    wheel.publish(HOSTILE[name](wheel.archive))
    before = sorted(wheel.manifest.parent.iterdir())
    with pytest.raises(PresetError, match="should hold README.md, assets/"):
        find("tiny")
    assert wheel.cached() == [] and pending("tiny")
    after = sorted(wheel.manifest.parent.iterdir())
    assert set(after) - set(before) <= {wheel.cache}
    assert not OUTSIDE.exists()


def test_an_archive_with_another_card_is_refused(wheel):
    wheel.publish(packed(lambda m: m | {"card.json": b"{}"})(wheel.archive))
    with pytest.raises(PresetError, match="another card.json than the package"):
        find("tiny")
    assert wheel.cached() == []
