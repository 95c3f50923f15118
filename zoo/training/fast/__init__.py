"""Fast training: compiled and traced steps, losses without logits."""
