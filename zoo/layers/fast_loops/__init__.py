"""Fast versions of the cells' time loops.

The equations are in `zoo.layers`: cells, then attention, stand below this folder, the
layers over sequences above it. Each loop equals the cell's plain step scanned over
time, in values and gradients: `tests/layers/fast_loops` compares the two under every
backend. docs/performance.md says why it is fast.
"""
