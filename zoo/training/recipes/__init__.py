"""What a recipe is made of: its choices and command line, and a run for each task."""
