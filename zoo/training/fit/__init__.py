"""What `fit` needs: batches, the loop, checkpoints, validation, interrupts."""
