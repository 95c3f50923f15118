"""The attention explorer: a page in which models show what they look at.

`zoo explore` serves it, and `zoo explore --export FOLDER` writes it as plain files
whose models run in the browser. The page's sources are in explorer/ of the repository;
`static/` is what is built of them.
"""

from pathlib import Path

STATIC = Path(__file__).resolve().parent / "static"
