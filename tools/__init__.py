"""Maintenance tools, run from the root: `python -m tools.bench.train`."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
