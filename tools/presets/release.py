"""Makes the archives of the presets that a wheel lacks, and the manifest of these.

    python -m tools.presets.release            # writes zoo/presets/release.json
    python -m tools.presets.release --check    # fail if it is stale
    python -m tools.presets.release --address URL --output dist/presets    # a release

A wheel has the presets whose weights pyproject.toml names as package data. Each of the
others is an archive `NAME.zip` at the release's address; the same files give the same
bytes on any machine. The address is kept as long as version and archives are the same.
"""

import argparse
import hashlib
import io
import json
import sys
import tomllib
import zipfile
from pathlib import Path

import zoo
from tools import ROOT
from zoo.files import write_bytes
from zoo.presets.card import CARD_FILE, WEIGHTS_FILES, read_card
from zoo.presets.pages import README_FILE

MANIFEST = "zoo/presets/release.json"
PACKAGE = "zoo._presets"
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the first that a zip archive can state


def main(argv=None, root=ROOT):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--address", metavar="URL", help="where the archives will be")
    parser.add_argument("--output", type=Path, metavar="FOLDER", help="write them")
    parser.add_argument("--check", action="store_true", help="write nothing")
    arguments = parser.parse_args(argv)
    address = arguments.address
    if address and not address.startswith(("http://", "https://")):
        parser.error(f"an address begins with http:// or https://, received {address}")
    path = root / MANIFEST
    text = manifest(root, address, arguments.output)
    if arguments.check:
        stale = not path.is_file() or path.read_text(encoding="utf-8") != text
        if stale:
            print(f"stale: {MANIFEST}", file=sys.stderr)
        return int(stale)
    path.write_text(text, encoding="utf-8", newline="\n")
    print(text, end="")
    return 0


def manifest(root, address=None, output=None):
    """Returns the manifest's text; writes the archives into a folder, if given."""
    presets = {}
    for folder in released(root):
        data = archive(folder)
        digest = hashlib.sha256(data).hexdigest()
        presets[folder.name] = {"bytes": len(data), "sha256": digest}
        if output:
            output.mkdir(parents=True, exist_ok=True)
            write_bytes(output / f"{folder.name}.zip", data)
    content = {"version": zoo.__version__, "address": address, "presets": presets}
    path = root / MANIFEST
    if not address and path.is_file():
        old = json.loads(path.read_text(encoding="utf-8"))
        if old | {"address": None} == content:
            content = old
    return json.dumps(content, indent=2) + "\n"


def in_wheel(root):
    """Returns the names of the presets that a wheel has with their weights."""
    text = (root / "pyproject.toml").read_text(encoding="utf-8")
    patterns = tomllib.loads(text)["tool"]["setuptools"]["package-data"][PACKAGE]
    paths = [path for pattern in patterns for path in _folder(root).glob(pattern)]
    return sorted({path.parent.name for path in paths if path.name in WEIGHTS_FILES})


def released(root):
    """Returns the folders of the presets that a wheel lacks, sorted."""
    here = in_wheel(root)
    folders = [path.parent for path in _folder(root).glob(f"*/{CARD_FILE}")]
    return sorted(folder for folder in folders if folder.name not in here)


def _folder(root):
    return root / "savedmodels"


def archive(folder):
    """Returns a preset's files as an uncompressed zip archive, always the same."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as content:
        for name in sorted([*read_card(folder).files, CARD_FILE, README_FILE]):
            member = zipfile.ZipInfo(name, _EPOCH)
            member.create_system, member.external_attr = 3, 0o644 << 16  # as on Unix
            content.writestr(member, (folder / name).read_bytes())
    return buffer.getvalue()


if __name__ == "__main__":
    sys.exit(main())
