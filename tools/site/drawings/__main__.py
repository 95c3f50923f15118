"""Writes every drawing into docs/drawings."""

import inspect
import sys
from pathlib import Path

from tools import ROOT
from tools.site.drawings import attention, recurrent

FOLDER = ROOT / "docs" / "drawings"
DRAWINGS = {
    name: thing
    for module in (recurrent, attention)
    for name, thing in vars(module).items()
    if inspect.isfunction(thing)
}


def main(folder: Path = FOLDER) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in DRAWINGS.items():
        (folder / f"{name}.drawing.svg").write_text(draw().svg(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
