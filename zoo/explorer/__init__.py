"""The attention explorer: a page in which models show what they look at.

It is a folder of plain files, whose models run in the browser: `zoo explore` serves it,
`zoo explore --export FOLDER` writes it. `static/` is built of the sources in explorer/
of the repository.
"""

from pathlib import Path

STATIC = Path(__file__).resolve().parent / "static"
