"""Fast time loops, which run the steps that the layers and models have.

Products whose factors are known are computed before a loop. `tests/layers/fast_loops`
compares each loop with its step scanned over time, in values and gradients, under every
backend. docs/performance.md says why they are fast.
"""
