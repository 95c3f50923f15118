"""Ids that have a meaning of their own, in every vocabulary of the zoo."""

PAD_ID, UNKNOWN_ID, START_ID, END_ID = 0, 1, 2, 3
