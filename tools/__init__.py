"""What maintains the project; `python -m tools.bench.train`, from its root."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
