"""The papers' claims, judged with several seeds: `python -m tools.papers.study`."""
