"""One run's training: its loop, checkpoints, progress and validation."""
