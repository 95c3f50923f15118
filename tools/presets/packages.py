"""Builds the packages that bring zoo's presets to an ordinary `pip install`.

    python -m tools.presets.packages dist

Writes a wheel for each of `zoo.presets.registry.PACKAGES` into a folder. Any package
with the entry point below has its presets found by name.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import zoo
from tools import ROOT
from zoo.presets.card import read_card
from zoo.presets.registry import ENTRY_POINTS, PACKAGES

PROJECT = """\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "{name}"
version = "{version}"
description = "Presets of attention-zoo: {presets}"
license = "{license}"

[project.entry-points."{group}"]
{name} = "{package}"

[tool.setuptools]
packages = ["{package}"]

[tool.setuptools.package-data]
"{package}" = ["**/*"]
"""


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path, help="folder for the wheels")
    output = parser.parse_args(argv).output
    for name, presets in PACKAGES.items():
        with tempfile.TemporaryDirectory() as folder:
            write_project(Path(folder), name, presets.split())
            command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
            subprocess.run([*command, "--wheel-dir", output, folder], check=True)


def write_project(folder, name, presets):
    """Writes the project of a package: presets in a Python package without code."""
    package = folder / name.replace("-", "_")
    package.mkdir()
    (package / "__init__.py").touch()
    for preset in presets:
        shutil.copytree(ROOT / "savedmodels" / preset, package / preset)
    # As SPDX spells licences; a preset's own is in its card.
    licences = {read_card(package / preset).license for preset in presets}
    text = PROJECT.format(
        name=name,
        version=zoo.__version__,
        presets=", ".join(presets),
        license=" AND ".join(sorted(licences)),
        group=ENTRY_POINTS,
        package=package.name,
    )
    (folder / "pyproject.toml").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
