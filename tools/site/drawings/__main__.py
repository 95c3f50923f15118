"""Writes every drawing into docs/drawings."""

from pathlib import Path

from tools import ROOT
from tools.site.drawings import attention, recurrent  # noqa: F401 (registers drawings)
from tools.site.drawings.pen import DRAWINGS

FOLDER = ROOT / "docs" / "drawings"


def main(folder: Path = FOLDER) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, picture in DRAWINGS.items():
        (folder / f"{name}.drawing.svg").write_text(picture.svg(), encoding="utf-8")


if __name__ == "__main__":
    main()
