"""Presets of a release: a wheel has only their cards and downloads the rest.

`release.json` holds the address of the archives and the size and sha256 of each;
`python -m tools.presets.release` makes the archives and writes it. Its address is null
until something is published.
"""

import functools
import json
import os
import shutil
import stat
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from zoo.files import cache_folder, name_file_in_errors, sha256
from zoo.presets.card import CARD_FILE, CONFIG_FILE, PresetError, read_card
from zoo.presets.pages import README_FILE

MANIFEST = Path(__file__).with_name("release.json")
MIRROR = "ZOO_PRESETS_URL"  # environment variable: another address of the archives


def whole(folder: Path) -> Path | None:
    """Returns the folder with all files of one of the package's presets.

    It is the package's own or that in the cache; None if it has to be downloaded.
    """
    if (folder / CONFIG_FILE).is_file() or folder.name not in _release()["presets"]:
        return folder
    cached = _cached(folder)
    return cached if _has_card_of(cached, folder) else None


def obtain(folder: Path, here: Sequence[str] = ()) -> Path:
    """Downloads a preset of the release, or unpacks the archive in the cache folder.

    If several processes need it at once, only one downloads it.

    Args:
        folder: the package's folder for the preset, with its card alone.
        here: names of the presets that need no download, for errors.
    """
    # Not at the top: it imports rich.
    from zoo.presets.download import DownloadError, exclusive, fetch

    name, release = folder.name, _release()
    entry, cached = release["presets"][name], _cached(folder)
    given = cache_folder() / "presets" / _file(name)
    unpack = functools.partial(_unpack, folder, cached, entry)
    with exclusive(cached.parent):
        if _has_card_of(cached, folder):  # another process has downloaded it
            return cached
        if given.is_file():
            unpack(given)
            return cached
        missing = f"{name} is not part of this installation"
        advice = (
            f"Without a network, put {_file(name)} at {given} (ZOO_CACHE_DIR sets the "
            f"folder for downloads). {MIRROR} sets another address. Presets that need "
            f"no network: {', '.join(here) or 'none'}"
        )
        address = os.environ.get(MIRROR) or release["address"]
        if not address:
            raise DownloadError(
                f"{missing}, and zoo {release['version']} names no address to download "
                "it from. A checkout, installed with pip's --editable, has them all. "
                f"{advice}"
            )
        url = f"{address.rstrip('/')}/{_file(name)}"
        hint = f"{missing}. {advice}"
        fetch(url, cached.parent, unpack, limit=entry["bytes"], hint=hint)
    return cached


def is_download(folder: Path) -> bool:
    """Returns whether a folder is where `obtain` puts a preset."""
    return _root() in folder.parents


def _root():
    return cache_folder() / "released"


def _release():
    return json.loads(MANIFEST.read_text(encoding="utf-8"))


def _file(name):
    return f"{name}.zip"


def _cached(folder):
    """Returns the preset's folder in the cache, which depends on the archive."""
    digest = _release()["presets"][folder.name]["sha256"]
    return _root() / digest[:16] / folder.name


def _has_card_of(cached, folder):
    """Returns whether the cache has the preset, with the same card as the package's."""
    path = cached / CARD_FILE
    return path.is_file() and path.read_bytes() == (folder / CARD_FILE).read_bytes()


def _unpack(folder, cached, entry, archive):
    """Unpacks a verified archive beside its place, then renames it."""
    _verify(archive, entry)
    aside = cached.with_name(f"{cached.name}.part")
    shutil.rmtree(aside, ignore_errors=True)
    with zipfile.ZipFile(archive) as content:
        _check_members(archive, content.infolist(), read_card(folder), entry)
        with name_file_in_errors(cached):
            for name in content.namelist():
                path = aside / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content.read(name))
    if not _has_card_of(aside, folder):
        shutil.rmtree(aside)
        raise PresetError(f"{archive} holds another {CARD_FILE} than the package")
    shutil.rmtree(cached, ignore_errors=True)
    aside.replace(cached)


def _verify(archive: Path, entry: dict[str, Any]) -> None:
    size, digest = archive.stat().st_size, sha256(archive)
    if (size, digest) != (entry["bytes"], entry["sha256"]):
        raise PresetError(
            f"{archive} is not the archive that this version of zoo needs: "
            f"{entry['bytes']} bytes with sha256 {entry['sha256']} are expected, "
            f"received {size} bytes with {digest}"
        )


def _check_members(archive, members, card, entry):
    """Refuses files that are not the preset's, links, and content that is too large."""
    expected = sorted([*card.files, CARD_FILE, README_FILE])
    names = sorted(member.filename for member in members)
    links = [m.filename for m in members if stat.S_ISLNK(m.external_attr >> 16)]
    # Archives are not compressed.
    large = sum(member.file_size for member in members) > entry["bytes"]
    if names != expected or links or large:
        raise PresetError(
            f"{archive} should hold {', '.join(expected)}, without links and in at "
            f"most {entry['bytes']} bytes, received {', '.join(names)}"
        )
