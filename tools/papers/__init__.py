"""What of the papers the presets reproduce: `python -m tools.papers.reproduce`."""
