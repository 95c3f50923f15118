"""Cards and figures of presets, each a command: `python -m tools.presets.card`."""
