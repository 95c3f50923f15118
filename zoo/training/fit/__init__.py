"""Parts of `fit`: batches, the loop, checkpoints, validation, interrupts."""
