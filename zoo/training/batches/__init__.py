"""Batches of few shapes in a reproducible order, and changes of them in training."""
