"""What makes training fast: compiled and recorded steps, losses without logits."""
