"""The documentation site: what `docs/conf.py` adds to Sphinx."""
