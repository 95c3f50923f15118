"""The cells' time loops, made fast; no equation is told here.

Each loop equals the cell's plain step, scanned over time, in values and gradients:
`tests/layers/fast_loops` compares the two under every backend. What is gained is in
docs/performance.md.
"""
