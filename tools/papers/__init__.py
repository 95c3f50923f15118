"""The papers' findings, checked on the presets: `python -m tools.papers.reproduce`."""
